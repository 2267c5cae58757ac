"""Bringing a switch in line with its bridge, and looking again now and then.

On connection and every so often from then on the switch is asked for all it holds of ours, and
what differs is mended.  It is never wiped, so a controller that restarts costs no frame, and what
somebody deletes by hand comes back.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from os_ken.ofproto import ofproto_v1_3 as ofp
from os_ken.ofproto import ofproto_v1_3_parser as parser

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.desired import Desired
from ofapp.bridge.effects import Effect
from ofapp.bridge.limits import RateWatch
from ofapp.bridge.losing import lose
from ofapp.bridge.multicast import SetGroup, SetUnregistered
from ofapp.bridge.ports import Port
from ofapp.bridge.stp import PortState
from ofapp.bridge.sweep import Occasion
from ofapp.common import hub
from ofapp.openflow.model.cookie import FEATURE_MASK, Feature, make_cookie, parse_cookie
from ofapp.openflow.model.flow import Flow, Group, Meter
from ofapp.openflow.model.rule import TableId
from ofapp.openflow.pipeline import meters as metering
from ofapp.openflow.pipeline.acl import is_rule_meter
from ofapp.openflow.pipeline.chain import parts_of, ports_of
from ofapp.openflow.pipeline.entries import GroupNumbers, Key, desired_entries
from ofapp.openflow.pipeline.flows import entry_flow
from ofapp.openflow.pipeline.group_numbers import is_our_group
from ofapp.openflow.pipeline.meters import Copy
from ofapp.openflow.pipeline.tables import PIPELINE
from ofapp.openflow.switch import reconcile
from ofapp.openflow.switch.acl_counters import AclHits
from ofapp.openflow.switch.port_status import arrive
from ofapp.openflow.switch.program import Program
from ofapp.openflow.switch.sweep import Sweeper
from ofapp.openflow.switch.writer import EffectWriter
from ofapp.openflow.wire import codec
from ofapp.openflow.wire.channel import Channel
from ofapp.openflow.wire.codec import delete_group
from ofapp.openflow.wire.flow_stats import FlowStats, read_entry, read_flow_stats, read_half
from ofapp.openflow.wire.portdesc import ask_ports
from ofapp.openflow.wire.questions import fixed_requests, flow_request
from ofapp.openflow.wire.requests import RequestError, ask, bodies, parsed

LOG = logging.getLogger(__name__)

_STORM = "were above the port's limit and dropped"
AGAIN = (0.02, 0.1, 0.5, 2.0)
"""Seconds until a switch whose bridge has changed meanwhile is looked at once more."""

_OVER_LIMIT = ("full", "full-vlan")  # these tell the controller of what they drop


class OvertakenError(RequestError):
    """What a switch has answered is not so any more."""


class Alignment:
    """One switch's state beside its bridge's.

    apply: carries effects out, as of the moment `writes` is set; ready: waits until the switch
    may be told more; waits: whether effects wait for a barrier.
    writes: the switch holds what effects build on.
    drops: frames the pipeline has dropped, by rule, as of the last look.
    rates: frames for the controller that meters held back, by their kind.
    acl: what the rules of access lists have done.
    """

    def __init__(
        self,
        channel: Channel,
        bridge: Bridge,
        apply: Callable[[list[Effect]], None],
        ready: Callable[[], None],
        waits: Callable[[], bool],
    ) -> None:
        self.writer = EffectWriter(bridge, metered=False)
        self.metered = False
        self.writes = False
        self.drops: Counter[str] = Counter()
        self.rates = {
            Copy.SIGHTING: RateWatch("packet_in", "sightings of unknown sources"),
            Copy.BPDU: RateWatch("bpdu", "BPDUs"),
            Copy.SNOOPED: RateWatch("snoop", "IGMP, MLD and router messages"),
            Copy.BROADCAST: RateWatch("storm.broadcast", "broadcasts", _STORM),
            Copy.MULTICAST: RateWatch("storm.multicast", "multicast frames", _STORM),
            Copy.UNKNOWN_UNICAST: RateWatch(
                "storm.unknown_unicast", "frames to unknown hosts", _STORM
            ),
        }
        self._locked = RateWatch(
            "port.locked", "frames", "were dropped: only its static addresses may send"
        )
        self.acl = AclHits(bridge)
        self._channel = channel
        self._bridge = bridge
        self._apply = apply
        self._waits = waits
        self._sweeper = Sweeper(channel, bridge, apply, ready)

    def prepare(self) -> None:
        """What has to be known of a switch before anything else; RequestError."""
        self.metered = self._has_meters()
        self.writer = EffectWriter(self._bridge, self.metered)

    def mend(self, adopt_static: bool) -> bool:
        """Look at all but the learned addresses, and mend what differs; RequestError, ValueError.

        adopt_static: nobody remembers the bridge's static entries: take the switch's word.
        Gives whether the switch held anything of ours before.

        It is asked once more when it has been told something else meanwhile, or is to be once it
        has answered a barrier: to take what it held then for what it holds would leave ports open
        for good whose closing was under way, and open others before their turn.
        """
        for pause in AGAIN:
            try:
                return self._mend(adopt_static)
            except OvertakenError:
                hub.sleep(pause)
        return self._mend(adopt_static)

    def _mend(self, adopt_static: bool) -> bool:
        """`mend`, once; OvertakenError."""
        tree = None if self.writes else self._bridge.spanning
        believed = {} if tree is None else tree.states()
        self._ask_ports()
        told = self.writer.held.copy()
        requests = fixed_requests(self._channel, thorough=not self.writes)
        answers = bodies(self._channel, *requests)
        flows = (flow for body in answers for flow in read_flow_stats(body))
        held = [flow for flow in flows if flow.table != TableId.OWNER]
        groups, meters = self._groups(), self._meters()
        self._count_drops(held)
        self.acl.see_flows(held, time.time())
        if self.writes and (self._waits() or self.writer.held != told):
            raise OvertakenError("the bridge changes faster than its switch can be looked at")
        if tree is not None and not (tree.settled and believed == _held_states(held, believed)):
            LOG.info("bridge %s: spanning tree begins anew", self._bridge.name)
            now = time.monotonic()
            self._apply(self._bridge.restart_stp(now) if held else lose(self._bridge, now))
        if adopt_static:
            self._adopt_static_entries(held)
        if not self.writes:
            entries = dict(filter(None, map(read_entry, held)))
            self.writer.entries = GroupNumbers(entries)
            self._restore_multicast(entries, ports_of(groups))
        desired = self._bridge.desired()
        wanted = self.writer.wanted(desired)
        superfluous = self._put_groups_and_meters(wanted, groups, meters)
        every_flow = chain(self._entry_flows(desired), wanted.flows.values())
        changes = reconcile.flow_changes(every_flow, held)
        changes += superfluous
        if self.writes:
            self._bridge.learning.counters["mended"] += len(changes)
        self._channel.send(b"".join(changes))
        self.writer.holds(wanted)
        self.writes = True
        return bool(held)

    def sweep(self, occasion: Occasion) -> None:
        """Look at the learned addresses, and mend what differs; RequestError, ValueError."""
        self._sweeper.sweep(occasion, self.writer)

    def _adopt_static_entries(self, held: list[FlowStats]) -> None:
        for flow in held:
            cookie, half = parse_cookie(flow.cookie), read_half(flow)
            if cookie is None or cookie.feature != Feature.STATIC or half is None:
                continue
            port = self._bridge.ports.get(half.port)
            if flow.table == TableId.DESTINATION and port is not None:
                now = time.monotonic()
                mac = half.destination
                self._apply(self._bridge.add_static(half.vid, mac, port.name, now))

    def _entry_flows(self, desired: Desired) -> Iterator[Flow]:
        for key in desired_entries(desired.entries):
            yield entry_flow(key, self.writer.entries.of(key))

    def _restore_multicast(
        self, entries: Mapping[Key, int], ports: Mapping[int, frozenset[int]]
    ) -> None:
        """What a switch holds is what was known before this controller started."""
        snooper = self._bridge.multicasting
        if snooper is None or not snooper.fresh:
            return
        groups, unregistered = [], []
        for key, number in entries.items():
            there = ports.get(number, frozenset())
            if key.group is not None:
                groups.append(SetGroup(key.vid, key.group, key.source, there))
            elif key.family is not None:
                unregistered.append(SetUnregistered(key.vid, key.family, there))
        now = time.monotonic()
        self._apply(self._bridge.restore_multicast(groups, unregistered, now))

    def _groups(self) -> dict[int, Group]:
        request = parser.OFPGroupDescStatsRequest(self._channel)
        return {
            entry.group_id: Group(entry.group_id, codec.read_buckets(entry))
            for entry in parsed(self._channel, request)
        }

    def _meters(self) -> dict[int, Meter]:
        if not self.metered:
            return {}
        request = parser.OFPMeterConfigStatsRequest(self._channel)
        return {
            entry.meter_id: Meter(entry.meter_id, entry.bands[0].rate if entry.bands else 0)
            for entry in parsed(self._channel, request)
        }

    def _put_groups_and_meters(
        self, wanted: Program, groups: Mapping[int, Group], meters: Mapping[int, Meter]
    ) -> list[bytes]:
        """groups, meters: what there is. Gives what deletes the rest once no flow points there."""
        messages = [
            codec.put_meter(meter, meter.id in meters)
            for meter in reconcile.changed(wanted.meters, meters)
        ]
        messages += [
            codec.put_group(group, group.id in groups)
            for group in reconcile.changed(wanted.groups, groups)
        ]
        self._channel.send(b"".join(messages))
        ours = {group for group in groups if is_our_group(group)}
        ours |= {part for group in ours for part in parts_of(groups[group])}
        leftover = [delete_group(group) for group in ours - wanted.groups.keys()]
        # The numbers of ports' meters could be anybody's; one too many does no harm.
        leftover += [
            codec.delete_meter(meter)
            for meter in meters.keys() - wanted.meters.keys()
            if is_rule_meter(meter)
        ]
        return leftover

    def _has_meters(self) -> bool:
        request = parser.OFPMeterFeaturesStatsRequest(self._channel)
        try:
            features = parsed(self._channel, request)
        except RequestError as error:
            LOG.info("bridge %s has no meters: %s", self._bridge.name, error)
            return False
        return bool(features and features[0].max_meter)

    def watch_rates(self, policed: Mapping[int, int]) -> None:
        """Look at the meters; `policed` is what was held back here, for a switch without."""
        dropped: dict[Copy, dict[int, int]] = {copy: {} for copy in Copy}
        dropped[Copy.SIGHTING] |= policed
        if self.metered:
            for entry in self._meter_stats():
                limited = metering.metered(entry.meter_id)
                if limited is not None and entry.band_stats:
                    port, copy = limited
                    dropped[copy][port] = entry.band_stats[0].packet_band_count
        for copy, watch in self.rates.items():
            self._apply([*watch.observe(dropped[copy])])

    def look_at_acls(self) -> None:
        """The counters of access lists as they are now; RequestError, ValueError."""
        self._see_acls(list(bodies(self._channel, self._acl_request())))
        if self.metered:
            self._meter_stats()

    def note_acls(self) -> None:
        """The same without waiting: as they are before what is sent next, which may reset them."""

        def arrived(parts: list[bytes]) -> None:
            try:
                self._see_acls(parts)
            except ValueError as error:
                LOG.warning("bridge %s: some hits are lost: %s", self._bridge.name, error)

        ask(self._channel, self._acl_request(), arrived)

    def _acl_request(self) -> Any:
        return flow_request(self._channel, make_cookie(Feature.ACL), FEATURE_MASK, TableId.ACL)

    def _see_acls(self, parts: Iterable[bytes]) -> None:
        flows = [flow for part in parts for flow in read_flow_stats(part)]
        self.acl.see_flows(flows, time.time())

    def _meter_stats(self) -> list[Any]:
        request = parser.OFPMeterStatsRequest(self._channel, 0, ofp.OFPM_ALL)
        stats = parsed(self._channel, request)
        self._apply([*self.acl.see_meters(stats, time.time())])
        return stats

    def _ask_ports(self) -> None:
        def heard(ports: list[Port]) -> None:
            arrive(self._bridge, ports, self._apply, self._rest)

        ask_ports(self._channel, heard)

    def _rest(self) -> bool:
        self._channel.turn()
        return not self._channel.dead

    def _count_drops(self, held: list[FlowStats]) -> None:
        """A rule that leads nowhere drops; its flow's counter says how often."""
        dropping: dict[tuple[int, int], str] = {
            (table.id, rule.priority): rule.name
            for table in PIPELINE
            for rule in table.rules
            if None in rule.goto and (not rule.actions or rule.name in _OVER_LIMIT)
        }
        drops: Counter[str] = Counter()
        locked: Counter[int] = Counter()
        for flow in held:
            name = dropping.get((flow.table, flow.priority))
            if name is not None and (not flow.instructions or name in _OVER_LIMIT):
                drops[name] += flow.packets
            if name == "locked":
                locked[int.from_bytes(flow.match[4:8], "big")] = flow.packets
        self.drops = drops
        self._apply([*self._locked.observe(locked)])


def _held_states(held: list[FlowStats], ports: Iterable[int]) -> dict[int, PortState]:
    """The port states that the flows of these ports make."""
    states = dict.fromkeys(ports, PortState.DISCARDING)
    for flow in held:
        cookie = parse_cookie(flow.cookie)
        if cookie is None or (flow.table, flow.priority) != (TableId.ADMISSION, 100):
            continue
        port = int.from_bytes(flow.match[4:8], "big")
        if port in states and len(flow.match) == 8:
            forwards = cookie.feature == Feature.PORT
            states[port] = PortState.FORWARDING if forwards else PortState.LEARNING
    return states
