"""A switch that forwards by flows as values: what Open vSwitch does with them, in a few lines.

Frames have a header each, and what is inside of it; the rest does not matter to a fabric.  Where
the switch chooses by a hash, all choices are followed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from ofapp.openflow.model.flow import (
    MPLS,
    MPLS_MULTICAST,
    NO_PORT,
    NSH,
    TAGGED,
    VID_MASK,
    Action,
    BackOut,
    Bits,
    Choose,
    ChooseInto,
    Clone,
    Decapsulate,
    Encapsulate,
    Flow,
    Group,
    Hash,
    Match,
    MoveBits,
    Output,
    OutputRegister,
    PopTag,
    PushEmptyTag,
    PushTag,
    Resubmit,
    Separate,
    SetBits,
    SetInPort,
    SetRegister,
    SetVid,
    ToController,
    ToGroup,
)

_DEEPEST = 64
_NO_PORTS = 0xFD00  # no switch has ports from here on


@dataclass(frozen=True, slots=True)
class Frame:
    """An Ethernet frame; tag: 0, or the VID with the bit that says that there is one.

    label, tc: of the MPLS header of a frame with another one inside.
    """

    dst: int
    src: int
    type: int = 0x88B5
    tag: int = 0
    inside: Frame | None = None
    label: int = 0
    tc: int = 0


Sent = tuple[int, Frame]
"""A frame that leaves, and by which port."""


@dataclass
class _State:
    frame: Frame
    in_port: int
    registers: dict[str, int] = field(default_factory=dict)

    def copy(self) -> _State:
        return _State(self.frame, self.in_port, dict(self.registers))

    def get(self, name: str) -> int | None:
        match name:
            case "in_port":
                return self.in_port
            case "eth_dst":
                return self.frame.dst
            case "eth_src":
                return self.frame.src
            case "eth_type":
                return self.frame.type
            case "vlan_vid" | "vlan_tci":
                return self.frame.tag
            case "mpls_label":
                return self.frame.label
            case "mpls_tc":
                return self.frame.tc
        return self.registers.get(name, 0) if name.startswith("reg") else None

    def set(self, name: str, value: int) -> None:
        match name:
            case "eth_dst":
                self.frame = replace(self.frame, dst=value)
            case "eth_src":
                self.frame = replace(self.frame, src=value)
            case "vlan_tci":
                self.frame = replace(self.frame, tag=value if value & TAGGED else 0)
            case "ip_dscp" | "ip_tos":
                pass  # a frame of this model has none
            case "mpls_label":
                self.frame = replace(self.frame, label=value)
            case "mpls_tc":
                self.frame = replace(self.frame, tc=value)
            case _:
                assert name.startswith("reg"), name
                self.registers[name] = value


class _Pass:
    """One frame's way through the tables.  choices: which of the live ports each hash gives."""

    def __init__(self, switch: FlowSwitch, live: Collection[int], choices: list[int]) -> None:
        self.sent: list[Sent] = []
        self.open: list[int] = []  # how many alternatives there are at each choice
        self._switch, self._live, self._choices = switch, live, choices

    def lookup(self, table: int, state: _State, depth: int) -> None:
        assert depth < _DEEPEST, "tables lead to each other for ever"
        flow = self._switch.find(table, state)
        if flow is None:
            return
        self.apply(flow.actions, state, depth)
        if flow.goto is not None:
            self.lookup(flow.goto, state, depth + 1)

    def apply(self, actions: Iterable[Action], state: _State, depth: int) -> None:
        for action in actions:
            self._apply(action, state, depth)

    def _apply(self, action: Action, state: _State, depth: int) -> None:
        match action:
            case Output(port):
                self._output(port, state)
            case OutputRegister(name):
                self._output(state.registers[f"reg{name.value}"], state)
            case BackOut():
                self.sent.append((state.in_port, state.frame))
            case SetInPort(port):
                state.in_port = port
            case SetRegister(name, value):
                state.set(f"reg{name.value}", value)
            case Resubmit(table):
                self.lookup(table, state, depth + 1)
            case ToGroup(number):
                for bucket in self._switch.groups[number].buckets:
                    self.apply(bucket, state.copy(), depth + 1)
            case Clone(actions):
                self.apply(actions, state.copy(), depth + 1)
            case ChooseInto(ports, basis, name):
                live = [port for port in ports if port in self._live]
                port = NO_PORT if not live else live[0 if basis is None else self._choose(live)]
                state.set(f"reg{name.value}", port)
            case Choose(ports):
                live = [port for port in ports if port in self._live]
                if live:
                    self._output(live[self._choose(live)], state)
            case Hash(name, values):
                state.set(f"reg{name.value}", hash((state.frame.dst, state.frame.src)) % values)
            case Encapsulate(labelled):
                kind = state.frame.type
                assert labelled or kind not in (MPLS, MPLS_MULTICAST), "it ends Open vSwitch"
                state.frame = Frame(0, 0, NSH if labelled else MPLS, inside=state.frame)
            case Decapsulate():
                assert state.frame.inside is not None, "there is nothing inside"
                state.frame = state.frame.inside
            case SetBits(bits, value):
                self._set(bits, value, state)
            case MoveBits(source, to):
                value = (state.get(source.field) or 0) >> source.first & (1 << source.size) - 1
                self._set(to, value, state)
            case PushEmptyTag():
                assert not state.frame.tag, "a frame of this model has one tag"
                state.frame = replace(state.frame, tag=TAGGED)
            case PushTag(vid) | SetVid(vid):
                state.frame = replace(state.frame, tag=TAGGED | vid)
            case PopTag():
                state.frame = replace(state.frame, tag=0)
            case ToController() | Separate():
                pass
            case _:
                raise AssertionError(f"unknown action {action}")

    def _output(self, port: int, state: _State) -> None:
        if port != state.in_port and port < _NO_PORTS:
            self.sent.append((port, state.frame))

    def _choose(self, live: list[int]) -> int:
        at = len(self.open)
        self.open.append(len(live))
        return self._choices[at] if at < len(self._choices) else 0

    def _set(self, bits: Bits, value: int, state: _State) -> None:
        mask = ((1 << bits.size) - 1) << bits.first
        value = (state.get(bits.field) or 0) & ~mask | value << bits.first & mask
        state.set(bits.field, value)


class FlowSwitch:
    """A switch with these flows and groups; no two flows that match may have one priority."""

    def __init__(self, flows: Iterable[Flow], groups: Mapping[int, Group]) -> None:
        self.groups = groups
        self._tables: dict[int, list[Flow]] = defaultdict(list)
        for flow in flows:
            self._tables[flow.table].append(flow)
        for table in self._tables.values():
            table.sort(key=lambda flow: -flow.priority)
        self._known: dict[tuple[int, Frame, frozenset[int]], list[list[Sent]]] = {}

    def find(self, table: int, state: _State) -> Flow | None:
        """The flow that a frame matches."""
        found: Flow | None = None
        for flow in self._tables.get(table, ()):
            if found is not None and flow.priority < found.priority:
                break
            if all(_matches(match, state) for match in flow.match):
                assert found is None, f"two flows match: {found} and {flow}"
                found = flow
        return found

    def forward(self, in_port: int, frame: Frame, live: frozenset[int]) -> list[list[Sent]]:
        """What may leave when a frame comes in by a port: for each choice of hashes, all copies.

        live: the ports that are.
        """
        key = in_port, frame, live
        if key not in self._known:
            self._known[key] = [*self._ways(in_port, frame, live)]
        return self._known[key]

    def _ways(self, in_port: int, frame: Frame, live: frozenset[int]) -> Iterator[list[Sent]]:
        waiting: list[list[int]] = [[]]
        while waiting:
            choices = waiting.pop()
            one = _Pass(self, live, choices)
            one.lookup(0, _State(frame, in_port), 0)
            yield one.sent
            for at in range(len(choices), len(one.open)):
                start = [*choices, *[0] * (at - len(choices))]
                waiting += [[*start, other] for other in range(1, one.open[at])]


def _matches(match: Match, state: _State) -> bool:
    value = state.get(match.field)
    if value is None:
        return False
    mask = match.mask
    if match.field == "vlan_vid" and mask == VID_MASK:
        return value & VID_MASK == match.value
    return value == match.value if mask is None else value & mask == match.value & mask
