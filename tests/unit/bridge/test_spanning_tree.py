"""Spanning tree on the bridge: what is sent to the datapath, and in which order."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import (
    Barrier,
    ClosePort,
    Effect,
    Flush,
    InstallEntry,
    RemoveDestination,
    RemoveSource,
    SendFrame,
    SetFlood,
)
from ofapp.bridge.params.params import BridgeParams, PortParams
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.stp import BridgeParams as StpParams
from ofapp.bridge.stp import PortParams as StpPortParams
from ofapp.bridge.stp import PortState, SetPortState
from ofapp.bridge.stp.transmit import EDGE_WAIT
from tests.unit.bridge.changes import changed, changed_port, reaction

A, B = 0x02000000000A, 0x02000000000B


def make(number: int = 1, **ports: StpPortParams) -> Bridge:
    """Bridge `number` with ports 1 and 2 and LOCAL."""
    own = {name: PortParams(stp=params) for name, params in ports.items()}
    bridge = Bridge(number, BridgeParams(stp=StpParams(), ports=own))
    local = Port(LOCAL_PORT, f"br{number}", 0x020000000100 + number, True)
    bridge.set_ports([port(1), port(2), local], 0.0)
    bridge.tick(EDGE_WAIT)
    return bridge


def port(number: int, up: bool = True) -> Port:
    return Port(number, f"p{number}", number, up, 1000)


def frames(effects: list[Effect], out_of: int) -> Iterator[bytes]:
    return (e.frame for e in effects if isinstance(e, SendFrame) and out_of in e.ports)


def converge(one: Bridge, other: Bridge, effects: list[Effect], now: float) -> None:
    """Port 1 of both are one cable: pass BPDUs to and fro until no bridge has anything to send."""
    waiting = [(other, frame) for frame in frames(effects, 1)]
    while waiting:
        bridge, frame = waiting.pop(0)
        back = other if bridge is one else one
        waiting += [(back, answer) for answer in frames(bridge.hear("bpdu", [(1, frame)], now), 1)]


class TestPortStates:
    def test_a_new_port_is_blocked_and_heard(self) -> None:
        bridge = make()
        assert bridge.relay.states == {
            1: PortState.DISCARDING,
            2: PortState.DISCARDING,
            LOCAL_PORT: PortState.FORWARDING,
        }
        assert bridge.relay.flood_ports == {LOCAL_PORT}
        assert bridge.stp.traps(1)
        assert not bridge.stp.traps(LOCAL_PORT)
        assert bridge.learning.learn([(1, 0, A)], 1.0) == []

    def test_the_only_port_that_is_up_opens_although_one_that_is_down_is_reported_first(
        self,
    ) -> None:
        bridge = Bridge(1, BridgeParams(stp=StpParams()))
        bridge.set_ports([port(1, up=False), port(2), Port(LOCAL_PORT, "br1", 0x0200, True)], 0.0)
        assert bridge.relay.states[2] is PortState.FORWARDING
        bridge.set_params(changed(bridge, stp=None), 1.0)
        bridge.set_params(changed(bridge, stp=StpParams()), 2.0)
        assert bridge.relay.states == {
            2: PortState.FORWARDING,
            LOCAL_PORT: PortState.FORWARDING,
        }

    def test_an_edge_port_opens_when_its_bpdu_could_have_come_back(self) -> None:
        bridge = make(p1=StpPortParams(admin_edge=True))
        assert bridge.relay.states[1] is PortState.FORWARDING
        assert bridge.relay.flood_ports == {1, LOCAL_PORT}
        bridge.put_port(port(1, up=False), 1.0)
        effects = bridge.put_port(port(1), 2.0)
        assert list(frames(effects, 1))
        assert SetPortState(1, PortState.FORWARDING) not in effects
        assert bridge.next_wakeup() == 2.0 + EDGE_WAIT
        assert SetPortState(1, PortState.FORWARDING) in bridge.tick(2.0 + EDGE_WAIT)

    def test_a_port_whose_link_comes_back_is_known_to_the_datapath_again(self) -> None:
        bridge = make()
        down = bridge.put_port(port(1, up=False), 1.0)
        assert down[0] == ClosePort(1)
        assert 1 not in bridge.relay.states
        up = bridge.put_port(port(1), 2.0)
        assert SetPortState(1, PortState.DISCARDING) in up
        assert list(frames(up, 1))

    def test_a_host_port_opens_when_no_bridge_is_heard(self) -> None:
        bridge = make()
        due = bridge.next_wakeup()
        effects: list[Effect] = []
        while due is not None and due < 3.5:
            effects += bridge.tick(due)
            due = bridge.next_wakeup()
        assert SetPortState(1, PortState.FORWARDING) in effects
        assert SetFlood(frozenset({1, 2, LOCAL_PORT})) in effects

    def test_what_blocks_comes_before_what_opens_with_a_barrier_between(self) -> None:
        root, bridge = make(1), make(2, p2=StpPortParams())
        for now in (1.0, 2.0, 3.1):
            bridge.tick(now)
        assert bridge.relay.states[2] is PortState.FORWARDING  # taken for an edge
        other = make(0)
        converge(bridge, other, other.tick(3.2), 3.2)
        hello = root.put_port(port(1, up=False), 4.0) + root.put_port(port(1), 4.1)
        # Port 2 is no edge any more: a bridge is heard there.
        (frame,) = frames(make(3).put_port(port(9), 4.2) or hello, 9)
        bridge.hear("bpdu", [(2, frame)], 4.2)
        (superior,) = list(frames(hello, 1))[-1:]
        effects = bridge.hear("bpdu", [(1, superior)], 4.3)
        kinds = [type(effect) for effect in effects]
        if SetPortState(2, PortState.DISCARDING) in effects:
            blocked = effects.index(SetPortState(2, PortState.DISCARDING))
            assert blocked < kinds.index(Barrier) < kinds.index(SendFrame)


class TestLearningState:
    def test_what_is_learned_before_forwarding_is_installed_with_it(self) -> None:
        bridge = make()
        relay = bridge.relay
        relay.set_state(1, PortState.LEARNING)
        assert bridge.learning.learn([(1, 0, A)], 1.0) == []
        assert bridge.learning.learn([(1, 0, A)], 9.0) == []
        assert bridge.fdb.learned == 1
        assert relay.set_state(1, PortState.FORWARDING) == [
            SetPortState(1, PortState.FORWARDING),
            InstallEntry(1, 0, A, 1, 0),
        ]

    def test_a_host_that_moves_to_a_learning_port_is_nowhere_meanwhile(self) -> None:
        bridge = make(p2=StpPortParams(admin_edge=True))
        bridge.learning.learn([(2, 0, A)], 1.0)
        bridge.relay.set_state(1, PortState.LEARNING)
        assert bridge.learning.learn([(1, 0, A)], 2.0) == [
            RemoveSource(2, 0, A, 1),
            RemoveDestination(0, A, 1),
        ]

    def test_blocking_forgets(self) -> None:
        bridge = make(p1=StpPortParams(admin_edge=True))
        bridge.learning.learn([(1, 0, A)], 1.0)
        effects = bridge.relay.set_state(1, PortState.DISCARDING)
        assert effects == [
            SetPortState(1, PortState.DISCARDING),
            Flush(1, sticky=True),
        ]
        assert bridge.fdb.learned == 0


class TestAdministration:
    def test_without_spanning_tree_everything_forwards_and_nothing_is_trapped(self) -> None:
        bridge = make()
        effects = bridge.set_params(changed(bridge, stp=None), 1.0)
        assert SetFlood(frozenset({1, 2, LOCAL_PORT})) in effects
        assert not bridge.stp.traps(1)
        assert bridge.next_wakeup() is None
        assert bridge.hear("bpdu", [(1, b"")], 1.0) == bridge.tick(1.0) == []

    def test_turning_it_on_blocks_first(self) -> None:
        bridge = make()
        bridge.set_params(changed(bridge, stp=None), 1.0)
        effects = bridge.set_params(changed(bridge, stp=StpParams(priority=0)), 2.0)
        assert SetPortState(1, PortState.DISCARDING) in effects
        assert bridge.relay.flood_ports == {LOCAL_PORT}
        assert bridge.stp.runs
        assert bridge.stp.tree.snapshot().params.priority == 0

    def test_a_port_without_it_forwards_and_lets_bpdus_pass(self) -> None:
        bridge = make()
        effects = bridge.set_params(
            changed_port(bridge, port(1), stp=StpPortParams(enabled=False)), 1.0
        )
        assert SetPortState(1, PortState.FORWARDING) in effects
        assert not bridge.stp.traps(1)
        # and the parameters hold for a port that comes later, too
        bridge.remove_port(1, 2.0)
        assert SetPortState(1, PortState.FORWARDING) in bridge.put_port(port(1), 3.0)

    @pytest.mark.parametrize("number", [9, LOCAL_PORT])
    def test_ports_outside_the_tree_are_left_alone(self, number: int) -> None:
        bridge = make()
        stranger = Port(number, "x", 1, True)
        assert reaction(bridge, changed_port(bridge, stranger, stp=StpPortParams()), 1.0) == []
        assert bridge.stp.recover(number, 1.0) == []

    def test_a_guard_is_released_by_hand(self) -> None:
        bridge = make(p1=StpPortParams(admin_edge=True, bpdu_guard=True))
        (hello, *_) = frames(make(2).put_port(port(1, up=False), 1.0) + make(2).tick(2.5), 1)
        effects = bridge.hear("bpdu", [(1, hello)], 2.5)
        assert SetPortState(1, PortState.DISCARDING) in effects
        bridge.carry_out(bridge.stp.recover(1, 3.0), 3.0)
        bridge.tick(3.0 + EDGE_WAIT)
        assert bridge.relay.states[1] is PortState.FORWARDING


class TestAway:
    def test_time_without_a_switch_has_not_been(self) -> None:
        bridge, root = make(2), make(1)
        now = 0.0
        converge(bridge, root, bridge.tick(2.0) + root.tick(2.0), 2.0)
        before = dict(bridge.relay.states)
        assert before[1] is PortState.FORWARDING
        bridge.pause(2.1)
        assert bridge.next_wakeup() is None
        assert bridge.tick(50.0) == []
        bridge.resume(100.0)
        assert bridge.next_wakeup() is None  # what does the switch hold?
        bridge.go_on(100.0)
        due = bridge.next_wakeup()
        assert due is not None
        assert due > 100.0
        now = 100.5
        bridge.tick(now)
        assert bridge.relay.states == before


class TestRestart:
    def converged(self) -> tuple[Bridge, Bridge]:
        bridge, root = make(2), make(1)
        converge(bridge, root, bridge.tick(2.0) + root.tick(2.0), 2.0)
        assert bridge.relay.states[1] is PortState.FORWARDING
        return bridge, root

    def revived(self, document: Any, params: BridgeParams | None = None) -> Bridge:
        bridge = Bridge(2, params or BridgeParams(stp=StpParams()))
        bridge.stp.restore(json.loads(json.dumps(document)))
        return bridge

    def test_a_revived_tree_goes_on_where_it_was(self) -> None:
        bridge, root = self.converged()
        again = self.revived(bridge.stp.dump())
        assert again.stp.runs
        assert again.stp.states() == bridge.stp.states()
        # In another process time has another origin.
        again.resume(1000.0)
        local = Port(LOCAL_PORT, "br2", 0x020000000102, True)
        effects = again.set_ports([port(1), port(2), local], 1000.0)
        assert again.relay.states[1] is PortState.FORWARDING
        assert not [effect for effect in effects if isinstance(effect, SendFrame)]
        for now in (1000.5, 1001.5, 1002.5):
            root_says = root.tick(now - 998.0)
            for frame in frames(root_says, 1):
                again.hear("bpdu", [(1, frame)], now)
            again.tick(now)
            assert again.relay.states[1] is PortState.FORWARDING
        assert again.stp.tree.snapshot() is not None

    def test_ports_that_are_others_now_begin_anew(self) -> None:
        bridge, _ = self.converged()
        again = self.revived(bridge.stp.dump())
        again.resume(50.0)
        again.set_ports([Port(1, "other", 1, True), port(3)], 50.0)
        assert again.relay.states == {1: PortState.DISCARDING, 3: PortState.DISCARDING}
        assert again.relay.flood_ports == set()

    @pytest.mark.parametrize(
        "damage",
        [
            lambda document: document.pop("tree"),
            lambda document: document["tree"].update(format=99),
            lambda document: document["tree"].update(params="BridgeParams()"),
            lambda document: document["tree"]["ports"][0].update(role="king"),
            lambda document: document["tree"]["ports"][0].update(agreed="yes"),
            lambda document: document["tree"]["ports"][0].pop("number"),
            lambda document: document["tree"]["alike"].pop("agreed"),
            lambda document: document.update(names=[]),
        ],
    )
    def test_what_is_no_dump_of_this_bridge_is_refused(self, damage: Any) -> None:
        bridge, _ = self.converged()
        document = json.loads(json.dumps(bridge.stp.dump()))
        damage(document)
        fresh = Bridge(2, BridgeParams(stp=StpParams()))
        with pytest.raises(ValueError, match=r"\w"):
            fresh.stp.restore(document)
        assert not fresh.stp.runs

    def test_a_bridge_that_shall_not_run_it_does_not(self) -> None:
        bridge, _ = self.converged()
        with pytest.raises(ValueError, match="off"):
            Bridge(2, BridgeParams()).stp.restore(bridge.stp.dump() or {})

    def test_beginning_anew_blocks(self) -> None:
        bridge, _ = self.converged()
        effects = [effect for part in bridge.restart_stp(False, lambda: 3.0) for effect in part]
        assert SetPortState(1, PortState.DISCARDING) in effects
        assert bridge.relay.states[1] is PortState.DISCARDING
