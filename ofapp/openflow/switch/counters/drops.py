"""Counters of a switch: frames that its flows drop, and frames by rule of the access lists."""

import logging
import time
from collections import Counter
from collections.abc import Iterable
from itertools import chain
from typing import Any

from ofapp.bridge.datapath_status import Answered
from ofapp.bridge.effects import Effect
from ofapp.bridge.event import Event
from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.rule import TableId
from ofapp.openflow.pipeline import admission
from ofapp.openflow.pipeline.answer import ANSWERS
from ofapp.openflow.pipeline.lag import MEMBER
from ofapp.openflow.pipeline.tables import PIPELINE
from ofapp.openflow.switch.counters.acl import AclCounters, Reading, Tally
from ofapp.openflow.switch.counters.events import LOCKED, UNPROVEN
from ofapp.openflow.switch.counters.one_sided import OneSided
from ofapp.openflow.switch.counters.rates import RateWatch
from ofapp.openflow.switch.switch_bridge import SwitchBridge
from ofapp.openflow.wire.channel import Channel
from ofapp.openflow.wire.messages.flow_stats import FlowStats, read_flow_stats
from ofapp.openflow.wire.questions import feature_request
from ofapp.openflow.wire.requests import ask, bodies, parsed
from ofapp.osken import ofp, parser

LOG = logging.getLogger(__name__)

_DROPPING = {table.id: [each for each in table.rules if each.may_drop] for table in PIPELINE}
"""The rules whose flows may drop, by table."""
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
        self._answers = Tally()
        self.acl = AclCounters(bridge)
        self._channel = channel
        self._bridge = bridge
        self._one_sided = OneSided(bridge)
        self._locked = RateWatch(
            LOCKED, "frames", "were dropped: only its static addresses may send"
        )
        self._unproven = RateWatch(UNPROVEN, "frames", "were dropped: its link is not proven")

    @property
    def answered(self) -> Answered:
        """Requests that the switch has answered, of each kind None if it never could."""
        counts = map(self._answers.of, ANSWERS.values())
        return Answered(*(None if count is None else count.packets for count in counts))

    def take_flows(self, flows: list[FlowStats]) -> list[Effect]:
        """Count all flows that the switch has of ours, but for learned addresses; gives events."""
        now = time.time()
        self.acl.see_flows(flows, now)
        answers = [(ANSWERS[_place(flow)], flow) for flow in flows if _place(flow) in ANSWERS]
        self._answers.observe(
            (Reading(kind, one.match, one.age, one.packets, one.octets) for kind, one in answers),
            set(ANSWERS.values()),
            now,
        )
        return [*self._count_drops(flows), *self._count_members(flows)]

    def ask_meters(self) -> tuple[list[Any], list[Effect]]:
        """All meters of the switch (os-ken's OFPMeterStats), and events.  Raises RequestError."""
        request = parser.OFPMeterStatsRequest(self._channel, 0, ofp.OFPM_ALL)
        stats = parsed(self._channel, request)
        return stats, [*self.acl.see_meters(stats, time.time())]

    def ask_acls(self, metered: bool) -> list[Effect]:
        """Poll the counters of access lists; gives events.  RequestError, ValueError."""
        requests = self._acl_requests()
        self._take_acls([body for each in requests for body in bodies(self._channel, each)])
        return self.ask_meters()[1] if metered else []

    def save_acls(self) -> None:
        """Ask without waiting, before the next message, which may reset the counters."""

        requests = self._acl_requests()
        answers: list[list[bytes]] = []

        def arrived(parts: list[bytes]) -> None:
            answers.append(parts)
            if len(answers) < len(requests):
                return
            try:
                self._take_acls(chain.from_iterable(answers))
            except ValueError as error:
                LOG.warning("bridge %s: some counts are lost: %s", self._bridge.name, error)

        for request in requests:
            ask(self._channel, request, arrived)

    def _acl_requests(self) -> list[Any]:
        tables = (TableId.ACL, TableId.STATES)
        return [feature_request(self._channel, Feature.ACL, table) for table in tables]

    def _take_acls(self, parts: Iterable[bytes]) -> None:
        flows = [flow for part in parts for flow in read_flow_stats(part)]
        self.acl.see_flows(flows, time.time())

    def _count_members(self, flows: list[FlowStats]) -> Iterable[Event]:
        heard = {
            _in_port(flow): flow.packets
            for flow in flows
            if _place(flow) == (TableId.ADMISSION, MEMBER)
        }
        return self._one_sided.observe(heard, time.monotonic())

    def _count_drops(self, flows: list[FlowStats]) -> Iterable[Event]:
        """A rule that leads nowhere drops; its flow's counter says how often."""
        drops: Counter[str] = Counter()
        locked: Counter[int] = Counter()
        unproven: dict[int, int] = {}
        links: set[int] = set()
        for flow in flows:
            rules = _DROPPING.get(flow.table, ())
            name = next((rule.name for rule in rules if rule.has(flow.priority)), None)
            if name is not None and _drops(flow):
                drops[name] += flow.packets
            if name == "locked":
                locked[_in_port(flow)] = flow.packets
            elif name == "unproven" and flow.age >= PROVING:
                unproven[_in_port(flow)] = flow.packets
            elif _place(flow) == (TableId.ADMISSION, admission.LINK):
                links.add(_in_port(flow))
        self.drops = drops
        # A link is proven within seconds, so what is dropped before a first look says nothing.
        dropped = {port: count for port, count in unproven.items() if port not in links}
        self._unproven.dropped = dropped | dict(self._unproven.dropped)
        return [*self._locked.observe(locked), *self._unproven.observe(dropped)]


def _place(flow: FlowStats) -> tuple[int, int]:
    """The table and the priority of a flow."""
    return flow.table, flow.priority


def _drops(flow: FlowStats) -> bool:
    """Whether a flow of a rule that may drop leads nowhere."""
    return flow.instructions[-8:-4] != _GOTO


def _in_port(flow: FlowStats) -> int:
    """The in_port of a flow that matches it first, read after the head of the match field."""
    return int.from_bytes(flow.match[4:8], "big")
