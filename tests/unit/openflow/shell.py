"""A session in virtual time: what it sends is taken by a switch, and each message is looked at."""

from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from ofapp.bridge.effects import NOTICES, ClosePort, DesiredLag, Effect, Reprogram
from ofapp.bridge.stp import PortState, SetPortState
from ofapp.common.portions import AT_ONCE
from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.flow import Flow
from ofapp.openflow.model.rule import TableId
from ofapp.openflow.pipeline.tables import PIPELINE
from ofapp.openflow.switch.encode.encoder import Encoder
from ofapp.openflow.switch.installed import Installed
from ofapp.openflow.switch.program import Program, program
from ofapp.openflow.switch.switch_bridge import SwitchBridge
from ofapp.openflow.wire.messages import codec
from ofapp.openflow.wire.messages.oxm import IN_PORT, oxms
from tests.support.message_switch import Held, Key, MessageSwitch, read_flow, used

PORT, MEMBER = 100, 980
"""Priorities in table `admission` of the flows that admit a port's frames, and a member's."""

_PASSED = frozenset(table.id for table in PIPELINE if table.passes is not None)
"""Tables that a port's frames pass, each of which has flows of the port."""
_OF_PORTS = (TableId.ADMISSION, *_PASSED)

Ways = dict[int, dict[int, set[int]]]
"""The tables that have flows of a port, by port, each with the tables to which these lead."""


class Shell:
    """One switch of a bridge.

    open: ports whose frames may enter the switch, as effects have said so far; collecting: the
    same of members, by aggregation.
    """

    def __init__(self, bridge: SwitchBridge, metered: bool) -> None:
        self.switch = MessageSwitch()
        self.open: set[int] = set()
        self.collecting: dict[int, set[int]] = {}
        self._bridge = bridge
        self._installed = Installed(metered)
        self._encoder = Encoder(bridge, self._installed)

    def program(self) -> None:
        """Program the switch as a whole, as after it has connected."""
        self.send([Reprogram()], ahead=False)

    def send(self, effects: Iterable[Effect], ahead: bool) -> None:
        """Carry effects out.  ahead: the bridge has more, which wait for others."""
        for effect in effects:
            if type(effect) not in NOTICES:
                self._send(effect, ahead)
        if bpdus := self._encoder.take_bpdus():
            self._bridge.stp.bpdus_left(bpdus, 0.0)

    def _send(self, effect: Effect, ahead: bool) -> None:
        self._allow(effect, ahead)
        between = [_ways(self.switch)]
        for _ in self.switch.take(self._encoder.encode([effect])):
            self._look()
            if not isinstance(effect, tuple):  # of addresses of hosts, and groups
                between.append(_ways(self.switch))
        for ways in between[1:-1]:
            _check_order(ways, between[0], between[-1])
        self._forbid(effect)
        self._look()

    def _allow(self, effect: Effect, ahead: bool) -> None:
        match effect:
            case SetPortState(port, PortState.FORWARDING):
                self.open.add(port)
            case DesiredLag() as lag:
                self.collecting.setdefault(lag.number, set()).update(lag.collecting)
            case Reprogram() if not ahead:
                desired = self._bridge.desired_as_of_now()(AT_ONCE)
                self.open |= desired.flooded
                for lag in desired.lags:
                    self.collecting.setdefault(lag.number, set()).update(lag.collecting)

    def _forbid(self, effect: Effect) -> None:
        match effect:
            case SetPortState(port, state) if state is not PortState.FORWARDING:
                self.open.discard(port)
            case ClosePort(port):
                self.open.discard(port)
            case DesiredLag() as lag:
                self.collecting[lag.number] = {*lag.collecting}

    def _look(self) -> None:
        """No frame enters by a port that is not open yet, or is closed."""
        for (_, priority, match), held in self.switch.tables[TableId.ADMISSION].items():
            if priority == PORT and held.feature == Feature.PORT:
                assert _in_port(match) in self.open, f"port {_in_port(match)} is open"
            elif priority == MEMBER:
                collecting = set().union(*self.collecting.values())
                assert _in_port(match) in collecting, f"member {_in_port(match)} collects"

    def compare(self) -> None:
        """The switch holds what its bridge wants, and nothing else; and is known to."""
        desired = self._bridge.desired_as_of_now()(AT_ONCE)
        numbers = self._installed.entries.of_all(desired.entries)
        wanted = program(desired, self._installed.metered, numbers)
        flows = dict(map(_read, wanted.all_flows()))
        there = {key: held for key, held in self.switch.flows.items() if not held.learned}
        groups = {group.id: codec.put_group(group, False)[16:] for group in wanted.groups.values()}
        meters = {meter.id: codec.put_meter(meter, False)[16:] for meter in wanted.meters.values()}
        _equal("flows", there, flows)
        _equal("groups", self.switch.groups, groups)
        _equal("meters", self.switch.meters, meters)
        believed: Program = self._installed.program
        _equal("believed flows", believed.flows, wanted.flows)
        _equal("believed groups", believed.groups, wanted.groups)
        _equal("believed meters", believed.meters, wanted.meters)
        _equal("believed versions", believed.versions, wanted.versions)
        _equal("believed parts", believed.parts, wanted.parts)
        made = [flow.identity for part in wanted.parts.values() for flow in part.flows]
        assert len(made) == len({*made}), "two values have the same flow"


def _equal(what: str, have: dict[Any, Any], want: dict[Any, Any]) -> None:
    if have != want:
        lines = [f"{what}, surplus: {_show(key, have[key])}" for key in have.keys() - want.keys()]
        lines += [f"{what}, missing: {_show(key, want[key])}" for key in want.keys() - have.keys()]
        lines += [
            f"{what}: {_show(key, have[key])}, not {_show(key, want[key])}"
            for key in have.keys() & want.keys()
            if have[key] != want[key]
        ]
        raise AssertionError("\n".join(sorted(lines)[:20]))


def _show(key: Any, value: Any) -> str:
    if isinstance(value, Held):
        return f"table {key[0]} priority {key[1]} match {key[2].hex()} {value}"
    return f"{key!r} {value!r}"


def _ways(switch: MessageSwitch) -> Ways:
    ways: Ways = defaultdict(lambda: defaultdict(set))
    for table in _OF_PORTS:
        for (_, _, match), held in switch.tables[table].items():
            port = None if held.learned else _in_port(match)
            if port is not None:
                to = used(held.instructions).goto
                if table == TableId.ADMISSION and held.feature != Feature.PORT:
                    to = None  # the frames do not enter
                ways[port][table].update(() if to is None else (to,))
    return ways


def _check_order(ways: Ways, before: Ways, after: Ways) -> None:
    """No frame that enters is led to a table where its port has no flows yet, or none any more.

    A port that is only to learn from now on may lose some frames before the others.
    """
    for port, tables in ways.items():
        if not tables[TableId.ADMISSION] or after[port].get(TableId.ADMISSION) == set():
            continue
        own = _PASSED & (before[port].keys() | after[port].keys())
        for table, leads in tables.items():
            missing = (leads & own) - tables.keys()
            assert not missing, f"table {table} leads frames of port {port} to {missing}"


@lru_cache(1 << 14)
def _in_port(match: bytes) -> int | None:
    found = (int.from_bytes(value, "big") for oxm, value in oxms(match) if oxm == IN_PORT)
    return next(found, None)


@lru_cache(1 << 14)
def _read(flow: Flow) -> tuple[Key, Held]:
    return read_flow(codec.add_flow(flow))
