"""Effects of a fabric's bridge on each of its members, and conversations between these."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, get_args

import pytest

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import (
    NOTICES,
    Barrier,
    ClosePort,
    Effect,
    Flush,
    ForBridge,
    HoldDown,
    InstallDestination,
    InstallEntry,
    OnMember,
    PutStatic,
    RemoveDestination,
    RemoveSource,
    SendFrame,
    SetFlood,
)
from ofapp.bridge.effects.content import DesiredLag
from ofapp.bridge.effects.fabric import (
    FABRIC_PORT,
    FlushRemote,
    ForMember,
    PutRemote,
    RemoveRemote,
    SetShared,
)
from ofapp.bridge.event import Event
from ofapp.bridge.fabric.params import FabricParams, MemberParams
from ofapp.bridge.fabric.state.conversations import Conversations
from ofapp.bridge.fabric.state.numbering import MemberPort
from ofapp.bridge.fabric.state.places import Places
from ofapp.bridge.fabric.state.split import RULES, Split, Step
from ofapp.bridge.lag.params import LagParams
from ofapp.bridge.multicast import SetGroup
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.stp import PortState, SetPortState

A, B, LOCAL_MAC = 0x02000000000A, 0x02000000000B, 0x020000000001
HOME = {name: at for at, name in enumerate(("s1", "s2", "s3"), 1)}


class Fabric:
    """A bridge on three switches, each with the ports 1 and 2."""

    def __init__(self, params: BridgeParams | None = None, most: int = 100) -> None:
        self.bridge = Bridge(1, params or BridgeParams())
        members = tuple(MemberParams(name, at, ()) for name, at in HOME.items())
        self.places = Places(FabricParams("fabric", 0, members), self.bridge)
        learning = self.bridge.learning
        self.conversations = Conversations(learning, self.places, most)
        self.split = Split(self.places, self.conversations)
        self.places.numbering.put(MemberPort(1, LOCAL_PORT), "fabric")
        ports = [Port(LOCAL_PORT, "fabric", LOCAL_MAC, True)]
        for member in HOME.values():
            ports += [self.port(member, number) for number in (1, 2)]
        self.begun = self.split.steps(self.bridge.put_ports(ports, 0.0))

    def port(self, member: int, number: int, up: bool = True) -> Port:
        name = f"s{member}/{number}"
        known = self.places.numbering.put(MemberPort(member, number), name)
        assert known is not None
        return Port(known, name, 0x020000000100 + known, up)

    def at(self, member: int, number: int) -> int:
        known = self.places.numbering.number(MemberPort(member, number))
        assert known is not None
        return known

    def step(self, effects: Iterable[Effect]) -> Step:
        (step,) = self.split.steps(effects)
        return step

    def sees(self, member: int, number: int, mac: int, now: float, vid: int = 0) -> Step:
        port = self.at(member, number)
        return self.step(self.bridge.addresses.learn([(port, vid, mac)], now))

    def asks(self, member: int, mac: int, now: float = 1.0) -> list[Effect]:
        frame = mac.to_bytes(6, "big") + bytes(8)
        effects = self.conversations.ask(member, [(FABRIC_PORT, frame)], 300, now)
        self.split.steps(effects)
        return effects


def variants(union: Any) -> set[type[Any]]:
    return {kind for part in get_args(union) for kind in ({part} if not get_args(part) else [])}


def test_every_effect_has_a_rule() -> None:
    others = {*NOTICES, *get_args(ForBridge), *get_args(ForMember), Barrier}
    assert variants(Effect) - RULES.keys() - others == set(), "add a rule in `split.RULES`"


def test_an_address_is_installed_at_its_member_alone() -> None:
    fabric = Fabric()
    step = fabric.sees(2, 1, A, 1.0)
    assert step == {2: [InstallEntry(1, 0, A, 1, 0)]}


def test_a_member_that_asks_gets_the_member_where_the_host_is() -> None:
    fabric = Fabric()
    fabric.sees(2, 1, A, 1.0)
    assert fabric.asks(1, A) == [OnMember(1, PutRemote(0, A, 2))]
    assert fabric.asks(2, A) == fabric.asks(1, B) == []
    assert fabric.conversations.counters == {"answered": 1, "unknown": 2}


def test_the_bridges_own_address_is_found_at_the_first_member() -> None:
    fabric = Fabric()
    assert fabric.asks(1, LOCAL_MAC) == []
    assert fabric.asks(3, LOCAL_MAC) == [OnMember(3, PutRemote(0, LOCAL_MAC, 1))]
    gone = fabric.step(fabric.bridge.remove_port(LOCAL_PORT, 2.0))
    assert FlushRemote(1) in gone[3]
    assert fabric.asks(3, LOCAL_MAC) == []


def test_flows_follow_a_host_that_moves_to_another_member() -> None:
    fabric = Fabric()
    fabric.sees(2, 1, A, 1.0)
    fabric.asks(1, A)
    step = fabric.sees(3, 2, A, 5.0)
    assert step[3] == [InstallEntry(2, 0, A, 2, 0)]
    assert step[2] == [RemoveSource(1, 0, A, 0), PutRemote(0, A, 3)]
    assert step[1] == [PutRemote(0, A, 3, moved=True)]
    back = fabric.sees(1, 1, A, 10.0)
    assert back[2] == [PutRemote(0, A, 1, moved=True)]
    assert back[1] == [InstallEntry(1, 0, A, 3, 0)]
    assert PutRemote(0, A, 1) in back[3]


def test_a_move_within_a_member_is_that_members_alone() -> None:
    fabric = Fabric()
    fabric.sees(2, 1, A, 1.0)
    fabric.asks(1, A)
    assert fabric.sees(2, 2, A, 5.0) == {2: [InstallEntry(2, 0, A, 2, 1)]}


def test_an_address_that_is_withdrawn_goes_everywhere() -> None:
    fabric = Fabric()
    fabric.sees(2, 1, A, 1.0)
    fabric.asks(1, A)
    step = fabric.step(fabric.bridge.flush(mac=A))
    assert step == {
        2: [RemoveSource(1, 0, A, 1), RemoveDestination(0, A, 1)],
        1: [RemoveRemote(0, A)],
    }
    assert len(fabric.conversations) == 0


def test_a_flushed_port_is_flushed_at_its_member_and_the_member_is_elsewhere() -> None:
    fabric = Fabric()
    fabric.sees(2, 1, A, 1.0)
    fabric.asks(1, A)
    step = fabric.step(fabric.bridge.flush(port=fabric.at(2, 1)))
    assert step == {
        2: [Flush(1, None, sticky=True)],
        1: [FlushRemote(2)],
        3: [FlushRemote(2)],
    }
    assert len(fabric.conversations) == 0


def test_floods_leave_by_local_ports_and_the_fabric() -> None:
    fabric = Fabric()
    (begun,) = fabric.begun
    assert SetFlood(frozenset({LOCAL_PORT, 1, 2, FABRIC_PORT})) in begun[1]
    assert SetFlood(frozenset({1, 2, FABRIC_PORT})) in begun[3]
    down = fabric.step(fabric.bridge.put_port(fabric.port(2, 1, up=False), 1.0))
    assert SetFlood(frozenset({2, FABRIC_PORT})) in down[2]
    assert not [e for at in (1, 3) for e in down[at] if isinstance(e, SetFlood)]


def test_a_multicast_entry_leads_to_the_fabric_where_other_members_have_ports() -> None:
    fabric = Fabric()
    group = bytes([239, 1, 1, 1])
    step = fabric.step([SetGroup(0, group, None, frozenset({fabric.at(2, 1)}))])
    ports = {member: effects[0].ports for member, effects in step.items()}  # type: ignore[union-attr]
    assert ports == {1: {FABRIC_PORT}, 2: {1}, 3: {FABRIC_PORT}}
    none = fabric.step([SetGroup(0, group, None, frozenset())])
    assert all(effects == [SetGroup(0, group, None, frozenset())] for effects in none.values())


def test_a_static_entry_has_its_port_at_its_member_and_none_elsewhere() -> None:
    fabric = Fabric()
    fabric.sees(1, 1, A, 1.0)
    fabric.asks(3, A)
    step = fabric.step(fabric.bridge.add_static(0, A, "s2/1", 2.0))
    assert step[2] == [PutStatic(A, 0, 1)]
    assert step[3] == [RemoveRemote(0, A), PutStatic(A, 0, None)]
    assert step[1][-1] == PutStatic(A, 0, None)
    assert fabric.asks(3, A) == [OnMember(3, PutRemote(0, A, 2))]


def test_what_closes_is_confirmed_before_the_next_step_also_across_calls() -> None:
    fabric = Fabric()
    one, two = fabric.at(1, 1), fabric.at(2, 1)
    closed, opened = SetPortState(one, PortState.DISCARDING), SetPortState(two, PortState.LEARNING)
    steps = fabric.split.steps([closed, Barrier(), opened])
    assert [{*step} for step in steps] == [{1, 2, 3}, {2}]  # all have opened ports before
    assert steps[0][1] == [SetPortState(1, PortState.DISCARDING)]
    assert steps[1][2] == [SetPortState(1, PortState.LEARNING)]
    fabric.split.steps([Barrier()])
    assert fabric.split.steps([closed]) == [{1: [SetPortState(1, PortState.DISCARDING)]}]
    steps = fabric.split.steps([Barrier(), SendFrame(frozenset({two}), b"bpdu", 7)])
    assert steps == [{1: []}, {2: [SendFrame(frozenset({1}), b"bpdu", 7)]}]


def test_an_address_is_held_down_at_all_members() -> None:
    fabric = Fabric()
    step = fabric.step([HoldDown(0, A, 60, fabric.at(1, 1), fabric.at(2, 2))])
    assert step[1] == [HoldDown(0, A, 60, 1, FABRIC_PORT)]
    assert step[2] == [HoldDown(0, A, 60, FABRIC_PORT, 2)]
    assert step[3] == [HoldDown(0, A, 60, FABRIC_PORT, FABRIC_PORT)]


def test_an_aggregation_is_divided_among_the_members_that_have_its_ports() -> None:
    lags = {"lag0": LagParams(("s1/1", "s2/1"), lacp="off")}
    fabric = Fabric(BridgeParams(lags=lags))
    before, begun = fabric.begun
    assert before == {1: [SetShared(4095, (2,))], 2: [SetShared(4095, (1, 3))]}
    parts = {
        member: [effect for effect in effects if isinstance(effect, DesiredLag)]
        for member, effects in begun.items()
    }
    assert parts == {
        1: [DesiredLag(4095, parts[1][0].hash, (1, 0), (1,))],
        2: [DesiredLag(4095, parts[1][0].hash, (0, 1), (1,))],
        3: [],
    }
    gone = fabric.step([DesiredLag(4095, "layer2"), ClosePort(4095)])
    assert {*gone} == {1, 2}


def test_no_two_members_send_the_same_frame_to_an_aggregation() -> None:
    """One stops, and has confirmed that, before another one begins."""
    lags = {"lag0": LagParams(("s1/1", "s2/1"), lacp="off")}
    fabric = Fabric(BridgeParams(lags=lags))
    down = fabric.split.steps(fabric.bridge.put_ports([fabric.port(1, 1, up=False)], 1.0))
    (step,) = down  # a port without carrier sends nothing
    assert step[1][0] == DesiredLag(4095, "layer2+3")
    assert SetShared(4095, ()) in step[2]
    fabric.step(fabric.bridge.addresses.learn([(4095, 0, A)], 1.5))
    up = fabric.split.steps(fabric.bridge.put_ports([fabric.port(1, 1)], 2.0))
    assert {member: own for member, own in up[0].items() if own} == {
        2: [SetShared(4095, (1, 3))],
        1: [SetShared(4095, (2,))],
    }
    assert InstallDestination(4095, 0, A, 1) in up[1][1]
    dead = replace(fabric.port(1, 1), live=False)  # it has carrier, so it may send still
    closed, opened = fabric.split.steps(fabric.bridge.put_ports([dead], 3.0))
    assert closed[1][0] == DesiredLag(4095, "layer2+3")
    assert opened[2] == [SetShared(4095, ())]


@pytest.mark.parametrize("most", [2])
def test_a_member_with_too_many_conversations_is_refused_and_has_room_again(most: int) -> None:
    fabric = Fabric(most=most)
    for at in range(4):
        fabric.sees(2, 1, A + at, 1.0)
    for at in range(2):
        assert fabric.asks(1, A + at)
    (event,) = fabric.asks(1, A + 2, 10.0)
    assert isinstance(event, Event)
    assert event.kind == "fabric.conversations"
    assert fabric.asks(1, A + 3, 11.0) == []
    assert fabric.conversations.counters["refused"] == 2
    due = fabric.conversations.next_wakeup()
    assert due == 310.0
    flush, cleared = fabric.conversations.tick(due)
    assert flush == OnMember(1, FlushRemote())
    assert isinstance(cleared, Event)
    assert cleared.kind == "fabric.conversations.cleared"
    assert fabric.asks(1, A + 3, 311.0) == [OnMember(1, PutRemote(0, A + 3, 2))]
    assert fabric.conversations.next_wakeup() is None
