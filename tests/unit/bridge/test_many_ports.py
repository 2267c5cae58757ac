"""Switches with many ports: ports that come and go together cost each of them the same."""

import ofapp.common.hub  # noqa: F401

# isort: split
import pytest

from ofapp.bridge import multicast, stp
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Effect, SendFrame, SetFlood, StateChanged
from ofapp.bridge.event import Event
from ofapp.bridge.params.params import BridgeParams, PortParams
from ofapp.bridge.ports import port as ports_module
from ofapp.bridge.ports.port import LOCAL_PORT, SURE, Port, PortRoom
from ofapp.bridge.ports.vlan import access, trunk
from ofapp.bridge.state import SharedState
from ofapp.bridge.stp import PortState, SetPortState
from ofapp.bridge.stp.transmit import EDGE_WAIT
from ofapp.openflow.switch.encode.encoder import Encoder
from ofapp.openflow.switch.installed import Installed
from tests.unit.effort import calls

FEW, MANY = 20, 120  # the many are still one portion of those that are due together


class Switch:
    """A bridge and what its switch would be sent; aware: with VLANs on some of its ports."""

    def __init__(self, ports: int, aware: bool = False) -> None:
        own = {"p*": PortParams(vlans=trunk()), "p1": PortParams(vlans=access(7))} if aware else {}
        params = BridgeParams(stp=stp.BridgeParams(), multicast=multicast.Params(), ports=own)
        self.bridge = Bridge(1, params)
        self.installed = Installed(metered=True)
        self.writer = Encoder(self.bridge, self.installed)
        numbers = range(1, ports + 1)
        self.ports = [Port(number, f"p{number}", number, True, 1000) for number in numbers]
        self.ports.append(Port(LOCAL_PORT, "br0", 0x020000000001, True))

    def connect(self) -> None:
        self.writer.encode(self.bridge.set_ports(self.ports, 0.0))

    def add(self) -> None:
        self.writer.encode(self.bridge.put_ports(reversed(self.ports), 0.0))

    def open(self) -> None:
        while (due := self.bridge.next_wakeup()) is not None and due < 5.0:
            self.writer.encode(self.bridge.tick(due))

    def remove(self) -> None:
        self.writer.encode(self.bridge.remove_ports(range(1, len(self.ports)), 9.0))

    def look(self) -> None:
        self.installed.wanted(self.bridge.desired())


def effort(switch: Switch, *works: str) -> float:
    """Calls a port of the last of these, done one after another."""
    for work in works[:-1]:
        getattr(switch, work)()
    return calls(getattr(switch, works[-1])) / len(switch.ports)


@pytest.mark.parametrize("aware", [False, True])
@pytest.mark.parametrize(
    "works",
    [
        ("connect",),
        ("add",),
        ("connect", "open"),
        ("connect", "open", "look"),
        ("connect", "open", "remove"),
    ],
    ids=lambda works: works[-1],
)
def test_a_port_costs_the_same_among_few_and_many(works: tuple[str, ...], aware: bool) -> None:
    few, many = (effort(Switch(ports, aware), *works) for ports in (FEW, MANY))
    assert many < 1.3 * few


def test_ports_that_open_together_are_one_flood_set() -> None:
    switch = Switch(MANY)
    switch.connect()
    flood_sets = []
    while (due := switch.bridge.next_wakeup()) is not None and due < 5.0:
        flood_sets += [e for e in switch.bridge.tick(due) if isinstance(e, SetFlood)]
    assert flood_sets == [SetFlood(switch.bridge.relay.flood_ports)]
    assert len(flood_sets[0].ports) == MANY + 1


def test_a_hello_costs_the_same_among_few_and_many() -> None:
    efforts = []
    for ports in (FEW, MANY):
        switch = Switch(ports)
        switch.connect()
        switch.open()
        hello = stp.SpanningTree(stp.BridgeParams(), 0x02000000FFFF)
        effects = hello.add_port(1, stp.PortParams(), stp.Link(True, 1000), 0.0)
        frame = next(effect.frame for effect in effects if isinstance(effect, stp.SendBpdu))
        switch.bridge.hear("bpdu", [(1, frame)], 5.0)
        efforts.append(calls(lambda s=switch, f=frame: s.bridge.hear("bpdu", [(1, f)], 5.5)))
    assert efforts[1] < 1.1 * efforts[0]


def test_ports_beyond_the_most_there_can_be_are_refused_counted_and_reported_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ports_module, "MAX_PORTS", 9)
    bridge = Switch(0).bridge

    def kinds_after(number: int) -> list[str]:
        effects = bridge.put_ports([Port(number, f"p{number}", number, True, 1000)], 0.0)
        return [effect.kind for effect in effects if isinstance(effect, Event)]

    event_lists = [kinds_after(number) for number in range(1, 15)]
    assert len(bridge.ports) == 9
    assert [kinds.count("port.limit") for kinds in event_lists] == [0] * 9 + [1] + [0] * 4
    assert bridge.learning.counters["ports_refused"] == 5
    assert "port.limit" not in kinds_after(3), "a port that is there already"
    gone = bridge.remove_ports([3], 1.0)
    assert any(effect.kind == "port.limit.cleared" for effect in gone if isinstance(effect, Event))
    assert "port.added" in kinds_after(12)
    assert "port.limit" in kinds_after(13)


def test_a_list_with_too_many_ports_is_taken_in_as_far_as_there_is_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ports_module, "MAX_PORTS", 9)
    switch = Switch(30)
    switch.connect()
    assert len(switch.bridge.ports) == 9
    assert switch.bridge.ports.get(LOCAL_PORT), "the bridge's own port comes first"


def crowd(room: PortRoom, bridges: int, ports: int) -> list[Bridge]:
    """Bridges that share a room, one after the other each with as many ports as it can get."""
    made = [Bridge(number, BridgeParams(), SharedState(room)) for number in range(bridges)]
    for bridge in made:
        bridge.put_ports([Port(n, f"p{n}", n, True, 1000) for n in range(1, ports + 1)], 0.0)
    return made


def test_ports_of_all_bridges_together_have_a_limit_that_leaves_room_for_the_next() -> None:
    sizes = [len(bridge.ports) for bridge in crowd(PortRoom(1000), 12, 4000)]
    assert sum(sizes) <= 12 * SURE + 1000
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == SURE + 500, "half of all ports"
    assert all(size >= SURE for size in sizes)


def test_a_bridge_is_sure_of_some_ports_and_of_more_once_others_give_room() -> None:
    room = PortRoom(10)
    others = crowd(room, 20, SURE + 10)
    assert room.left == 0
    (late,) = crowd(room, 1, SURE)
    assert len(late.ports) == SURE
    more = [Port(n, f"p{n}", n, True, 1000) for n in range(100, 104)]
    (event,) = [e for e in late.put_ports(more, 1.0) if isinstance(e, Event)]
    assert event.kind == "port.limit"
    assert "other bridges" in event.message
    assert room.wanted
    for other in others:
        other.ports.leave()
    assert room.left == 10
    kinds = [e.kind for e in late.put_ports(more, 2.0) if isinstance(e, Event)]
    assert kinds.count("port.added") == 4
    assert kinds.count("port.limit.cleared") == 1


def test_the_room_that_a_port_takes_is_given_back_when_it_goes_or_is_another() -> None:
    room = PortRoom(100)
    (bridge,) = crowd(room, 1, SURE + 10)
    assert room.left == 90
    bridge.put_port(Port(5, "other", 5, True, 1000), 1.0)
    assert room.left == 90
    bridge.remove_ports(range(1, 8), 2.0)
    assert room.left == 97
    bridge.remove_ports(range(8, SURE + 11), 3.0)
    assert room.left == 100


def test_ports_that_open_together_are_one_change_of_the_flood_set() -> None:
    """Edge ports open together, and each says so in a BPDU, which need not wait for it."""
    edge = PortParams(stp=stp.PortParams(admin_edge=True))
    bridge = Bridge(1, BridgeParams(stp=stp.BridgeParams(), ports={"p*": edge}))
    bridge.put_ports(Switch(30).ports, 0.0)
    effects = bridge.tick(EDGE_WAIT)
    assert [len(e.ports) for e in effects if isinstance(e, SetFlood)] == [31]


def _behind(effects: list[Effect]) -> list[object]:
    """What of the stored tree is still valid, at each change."""
    return [e.valid["behind"] for e in effects if isinstance(e, StateChanged) and e.valid]


def test_edges_that_come_or_go_together_are_written_down_once() -> None:
    edge = PortParams(stp=stp.PortParams(admin_edge=True))
    bridge = Bridge(1, BridgeParams(stp=stp.BridgeParams(), ports={"p*": edge}))
    effects = bridge.put_ports(Switch(30).ports, 0.0)
    behind = dict.fromkeys((f"p{number}" for number in range(1, 31)), 0)
    assert _behind(effects) == [behind]
    effects = bridge.remove_ports(range(1, 30), 1.0)
    assert _behind(effects) == [{"p30": 0}]
    first = next(at for at, e in enumerate(effects) if isinstance(e, StateChanged))
    assert not any(isinstance(e, SetPortState) for e in effects[:first])


def test_a_port_that_closes_leaves_the_flood_set_before_a_bpdu_says_so() -> None:
    steps = [SetPortState(1, PortState.DISCARDING), SendFrame(frozenset({2}), b"agreed")]
    bridge = Switch(3).bridge
    bridge.flooding.ports = frozenset({1, 2})
    kinds = [type(effect) for effect in bridge.carry_out(steps, 0.0)]
    assert kinds.index(SetFlood) < kinds.index(SendFrame)
