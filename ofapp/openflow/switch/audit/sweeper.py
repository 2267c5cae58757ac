"""The learned addresses of a switch beside those that the bridge knows (see `sweep`).

A small table is read in one piece.  A large one is requested by cohorts, a few at a time, each
of which Open vSwitch finds by its index, so that a sweep costs only the flows it reads.  Flows with
none of the serials that the bridge knows would never be found so: each sweep therefore walks
through one part of the whole, too, and in time through all of it.  How much is requested at a time
follows from the flows that the switch says it has, never from what the bridge knows.
"""

import time
from collections.abc import Iterable
from typing import Any

from ofapp.bridge.effects import Effect, InstallDestination
from ofapp.bridge.fdb.fdb import COHORTS
from ofapp.common import hub
from ofapp.openflow.model.cookie import EXACT, Feature, make_cookie
from ofapp.openflow.switch.audit.sweep import HeldHalf, Occasion, Sweep
from ofapp.openflow.switch.connected import ConnectedSwitch
from ofapp.openflow.switch.counters.pace import Pace
from ofapp.openflow.wire.messages.codec import delete_raw
from ofapp.openflow.wire.messages.flow_stats import FlowStats, read_flow_stats, read_half
from ofapp.openflow.wire.questions import KIND_MASK, LARGE, LEARNED, flow_count, flow_request
from ofapp.openflow.wire.requests import bodies, replies
from ofapp.osken import parser

PART = 4096
"""Addresses that a switch walks through all it has for, about."""
SMALL = 4 * PART
"""Flows up to which a table is read in one piece."""
SLICE = 512
"""Addresses of the cohorts that are asked for at a time, about."""

_LEARNED = make_cookie(Feature.LEARNED) >> 32
_STICKY = make_cookie(Feature.STICKY) >> 32


class Sweeper:
    """Sweeps of one switch, for the life of a connection."""

    def __init__(self, switch: ConnectedSwitch) -> None:
        self._channel = switch.channel
        self._bridge = switch.bridge
        self._addresses = switch.bridge.addresses
        self._installed = switch.installed
        self._encoder = switch.encoder
        self._apply = switch.apply
        self._drain = switch.drain
        self._pace = Pace()
        self._number = 0
        self._part = 0

    def sweep(self, occasion: Occasion) -> None:
        """Look at all learned addresses, and mend what differs.

        Raises RequestError and ValueError.
        """
        back = self._addresses.back()
        there = flow_count(self._channel)
        if there > SMALL and occasion is Occasion.ROUTINE:
            self._sweep_cohorts(there // 2)
        else:
            sweep = self._begin(occasion)
            if there > SMALL:
                self._find(sweep, there)
            else:
                self._ask(sweep, [flow_request(self._channel, LEARNED, KIND_MASK)])
            for serial in self._addresses.cohorts():
                self._repair(sweep.finish(time.monotonic(), [serial]))
        self._addresses.taken_back(back)
        if occasion is not Occasion.ROUTINE:
            self._repair(self._addresses.settle_held())
        list(replies(self._channel, parser.OFPBarrierRequest(self._channel)))

    def _sweep_cohorts(self, addresses: int) -> None:
        """Sweep the addresses that the bridge knows, with rests; and one part of all.

        addresses: at least about as many as the switch has flows of, which may be far more than the
        bridge knows: when many have aged together, their deletion takes a while.
        """
        kinds = [_LEARNED, _STICKY] if self._addresses.some_stick() else [_LEARNED]
        self._part += 1
        with self._pace.resting():
            self._ask(self._begin(Occasion.ROUTINE), [self._part_request(addresses)])
        serials = self._addresses.cohorts()
        size = max(SLICE * len(serials) // addresses, 1)
        for at in range(0, len(serials), size):
            some = serials[at : at + size]
            with self._pace.resting():
                sweep = self._begin(Occasion.ROUTINE)
                self._ask(sweep, self._cohort_requests(some, kinds))
                self._repair(sweep.finish(time.monotonic(), some))

    def _find(self, sweep: Sweep, there: int) -> None:
        """All flows, by all possible serials; then in parts should more be left."""
        others = sum(flow.table in LARGE for flow in self._installed.program.flows.values())
        size, shown = max(SLICE * COHORTS * 2 // there, 1), 0
        for kind in (_LEARNED, _STICKY):
            if shown < flow_count(self._channel) - others:
                for first in range(1, COHORTS + 1, size):
                    some = range(first, min(first + size, COHORTS + 1))
                    shown += self._ask(sweep, self._cohort_requests(some, [kind]))
        left = flow_count(self._channel) - others
        if shown < left:
            for _ in range(_parts(left // 2)):
                self._part += 1
                self._ask(sweep, [self._part_request(left // 2)])

    def _begin(self, occasion: Occasion) -> Sweep:
        self._number += 1
        return Sweep(self._bridge, self._number, occasion, time.monotonic())

    def _part_request(self, addresses: int) -> Any:
        """Request the next part of all learned addresses; addresses: about how many there are."""
        parts = _parts(addresses)
        cookie, mask = LEARNED | self._part % parts, KIND_MASK | parts - 1
        return flow_request(self._channel, cookie, mask)

    def _cohort_requests(self, serials: Iterable[int], kinds: Iterable[int]) -> list[Any]:
        return [
            flow_request(self._channel, kind << 32 | serial, EXACT)
            for kind in kinds
            for serial in serials
        ]

    def _ask(self, sweep: Sweep, requests: list[Any]) -> int:
        """Show a sweep the flows that the switch answers with; gives how many.

        Of an address the source half must come first, and both are in the same answers.
        """
        shown = 0
        destinations: list[FlowStats] = []
        for body in bodies(self._channel, *requests):
            sources: list[FlowStats] = []
            for flow in read_flow_stats(body):
                (sources if flow.table == LARGE[0] else destinations).append(flow)
            self._show(sweep, sources)
            shown += len(sources)
        for at in range(0, len(destinations), SLICE):
            self._show(sweep, destinations[at : at + SLICE])
        return shown + len(destinations)

    def _show(self, sweep: Sweep, flows: Iterable[FlowStats]) -> None:
        now = time.monotonic()
        effects: list[Effect] = []
        for flow in flows:
            half = read_half(flow)
            kind = flow.cookie >> 32
            if half is None or kind not in (_LEARNED, _STICKY):
                self._delete(flow)
                continue
            look = sweep.source if flow.table == LARGE[0] else sweep.destination
            serial = flow.cookie & 0xFFFFFFFF
            mac = half.source or half.destination
            sticky = kind == _STICKY
            effects += look(HeldHalf(half.port, half.vid, mac, serial, flow.packets, sticky), now)
            if half.destination and not self._encoder.leads_right(half, flow.instructions):
                effects += sweep.redirected(InstallDestination(half.port, half.vid, mac, serial))
        self._repair(effects)

    def _repair(self, effects: list[Effect]) -> None:
        if effects:
            self._apply(effects)
            self._drain()
        hub.sleep(0)

    def _delete(self, flow: FlowStats) -> None:
        """A learned flow of another generation, or not of our making."""
        self._addresses.count("stale_flows")
        self._channel.send(delete_raw(flow.table, flow.priority, flow.match, flow.cookie))


def _parts(addresses: int) -> int:
    """A power of two of parts, each of PART addresses about."""
    return 1 << max((addresses - 1) // PART, 0).bit_length()
