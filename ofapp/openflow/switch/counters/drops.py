"""Counters of a switch: frames that its flows drop, and frames by rule of the access lists.

Static aggregations whose partner sends by some members alone: it is active-backup, perhaps.

Such a partner takes no frames on its other members, so a share of what is sent to it is lost, and
without LACP it does not report that.  The symptom is that no frame comes by a member while many
come by the others.  A partner that hashes may do so, too, with few hosts: so there is an event,
and nothing is decided by it.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ofapp.bridge.effects import Effect
from ofapp.bridge.event import Event, PortNumber
from ofapp.bridge.lag.events import LAG_ONE_SIDED, LAG_ONE_SIDED_CLEARED
from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.rule import TableId
from ofapp.openflow.pipeline import admission
from ofapp.openflow.pipeline.lag import MEMBER
from ofapp.openflow.pipeline.tables import PIPELINE
from ofapp.openflow.switch.counters.acl import AclCounters
from ofapp.openflow.switch.counters.events import LOCKED, UNPROVEN
from ofapp.openflow.switch.counters.rates import RateWatch
from ofapp.openflow.switch.switch_bridge import SwitchBridge
from ofapp.openflow.wire.channel import Channel
from ofapp.openflow.wire.messages.flow_stats import FlowStats, read_flow_stats
from ofapp.openflow.wire.questions import feature_request
from ofapp.openflow.wire.requests import ask, bodies, parsed
from ofapp.osken import ofp, parser

LOG = logging.getLogger(__name__)

_ACTING = ("full", "full-vlan", "refused", "nested")
"""Rules that drop, although they have actions: they show the controller what they drop, or drop by
an action that cannot be carried out."""
_NO_LOSS = ("present", "single")
"""Rules that drop what the controller forwards, and copies of frames that pass."""
PROVING = 20.0
"""Seconds in which the links of a switch that has connected are proven; others drop frames."""
_GOTO = b"\0\1\0\x08"
"""The head of an instruction that leads to another table; it is the last, of 8 octets."""


class Counters:
    """Counters of one switch, as of the last poll.

    drops: frames the pipeline has dropped, by rule; acl: counters of the rules of access lists.
    """

    def __init__(self, channel: Channel, bridge: SwitchBridge) -> None:
        self.drops: Counter[str] = Counter()
        self.acl = AclCounters(bridge)
        self._channel = channel
        self._bridge = bridge
        self._one_sided = OneSided(bridge)
        self._locked = RateWatch(
            LOCKED, "frames", "were dropped: only its static addresses may send"
        )
        self._unproven = RateWatch(UNPROVEN, "frames", "were dropped: its link is not proven")

    def take_flows(self, flows: list[FlowStats]) -> list[Effect]:
        """Count all flows that the switch has of ours, but for learned addresses; gives events."""
        self.acl.see_flows(flows, time.time())
        return [*self._count_drops(flows), *self._count_members(flows)]

    def ask_meters(self) -> tuple[list[Any], list[Effect]]:
        """All meters of the switch (os-ken's OFPMeterStats), and events; RequestError."""
        request = parser.OFPMeterStatsRequest(self._channel, 0, ofp.OFPM_ALL)
        stats = parsed(self._channel, request)
        return stats, [*self.acl.see_meters(stats, time.time())]

    def ask_acls(self, metered: bool) -> list[Effect]:
        """Poll the counters of access lists; gives events.  RequestError, ValueError."""
        self._take_acls(list(bodies(self._channel, self._acl_request())))
        return self.ask_meters()[1] if metered else []

    def save_acls(self) -> None:
        """Ask without waiting, before the next message, which may reset the counters."""

        def arrived(parts: list[bytes]) -> None:
            try:
                self._take_acls(parts)
            except ValueError as error:
                LOG.warning("bridge %s: some counts are lost: %s", self._bridge.name, error)

        ask(self._channel, self._acl_request(), arrived)

    def _acl_request(self) -> Any:
        return feature_request(self._channel, Feature.ACL, TableId.ACL)

    def _take_acls(self, parts: Iterable[bytes]) -> None:
        flows = [flow for part in parts for flow in read_flow_stats(part)]
        self.acl.see_flows(flows, time.time())

    def _count_members(self, flows: list[FlowStats]) -> Iterable[Event]:
        heard = {
            _in_port(flow): flow.packets
            for flow in flows
            if (flow.table, flow.priority) == (TableId.ADMISSION, MEMBER)
        }
        return self._one_sided.observe(heard, time.monotonic())

    def _count_drops(self, flows: list[FlowStats]) -> Iterable[Event]:
        """A rule that leads nowhere drops; its flow's counter says how often."""
        dropping: dict[tuple[int, int], str] = {
            (table.id, rule.priority): rule.name
            for table in PIPELINE
            for rule in table.rules
            if None in rule.goto and (not rule.actions or rule.name in _ACTING)
        }
        drops: Counter[str] = Counter()
        locked: Counter[int] = Counter()
        unproven: dict[int, int] = {}
        links: set[int] = set()
        for flow in flows:
            name = dropping.get((flow.table, flow.priority))
            if name is not None and name not in _NO_LOSS and _drops(flow):
                drops[name] += flow.packets
            if name == "locked":
                locked[_in_port(flow)] = flow.packets
            elif name == "unproven" and flow.age >= PROVING:
                unproven[_in_port(flow)] = flow.packets
            elif (flow.table, flow.priority) == (TableId.ADMISSION, admission.LINK):
                links.add(_in_port(flow))
        self.drops = drops
        # A link is proven within seconds, so what is dropped before a first look says nothing.
        dropped = {port: count for port, count in unproven.items() if port not in links}
        self._unproven.dropped = dropped | dict(self._unproven.dropped)
        return [*self._locked.observe(locked), *self._unproven.observe(dropped)]


def _drops(flow: FlowStats) -> bool:
    """Whether a flow of a rule that may drop leads nowhere."""
    return flow.instructions[-8:-4] != _GOTO


def _in_port(flow: FlowStats) -> int:
    """The in_port of a flow that matches it first, read after the head of the match field."""
    return int.from_bytes(flow.match[4:8], "big")


ENOUGH = 1000
"""Frames that have come by the other members."""
LONG = 25.0
"""Seconds without a frame by the one; a look at a switch every 30 s (`upkeep`) is to see it."""


class Quiet(NamedTuple):
    """A member that receives no frames.

    since: when that began; heard, others: frames by it and by the other members until then.
    """

    since: float
    heard: int
    others: int


class OneSided:
    """The members of one switch's static aggregations."""

    def __init__(self, bridge: SwitchBridge) -> None:
        self._bridge = bridge
        self._quiet: dict[int, Quiet] = {}
        self._reported: set[int] = set()  # those with an event that is not cleared

    def observe(self, heard: Mapping[int, int], now: float) -> Iterator[Event]:
        """heard: frames by each member since its flow is there."""
        seen: dict[int, Quiet] = {}
        for lag in self._bridge.lags.desired(self._bridge.params):
            if lag.lacp or len(lag.distributing) < 2:
                continue
            total = sum(heard.get(member, 0) for member in lag.distributing)
            for member in lag.distributing:
                new = Quiet(now, heard.get(member, 0), total - heard.get(member, 0))
                old = self._quiet.get(member, new)
                same = old.heard == new.heard and old.others <= new.others
                seen[member] = quiet = old if same else new
                frames, seconds = new.others - quiet.others, now - quiet.since
                if member not in self._reported and frames >= ENOUGH and seconds >= LONG:
                    self._reported.add(member)
                    yield _event(lag.number, member, frames, seconds)
        for member in [*self._reported]:
            if member not in seen or seen[member].since == now:
                self._reported.discard(member)
                text = PortNumber(member), ": frames come by this member again"
                yield LAG_ONE_SIDED_CLEARED.event(text, port=member)
        self._quiet = seen


def _event(lag: int, member: int, frames: int, seconds: float) -> Event:
    text = (
        PortNumber(member),
        f" has received no frame for {seconds:.0f} s, and the other members of ",
        PortNumber(lag),
        f" {frames}: a partner that is active-backup takes no frames there, and what is sent there"
        " is lost. Have it aggregate (802.3ad or balance-xor), or set max_links to 1",
    )
    data = {"lag": lag, "seconds": round(seconds), "frames": frames}
    return LAG_ONE_SIDED.event(text, member, data)
