"""Addresses that flap or are sticky: when they are held down, where, and for how long."""

from typing import Any

import pytest

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import (
    Effect,
    Flush,
    HoldDown,
    InstallDestination,
    InstallEntry,
    InstallSticky,
    LetGo,
    RemoveDestination,
    RemoveSource,
)
from ofapp.bridge.event import Event, Severity
from ofapp.bridge.fdb import move_guard as guarding
from ofapp.bridge.lldp import BridgeParams as LldpParams
from ofapp.bridge.params.params import BridgeParams, PortParams
from ofapp.bridge.params.policy import MoveLimit, Policies, PortPolicy
from ofapp.bridge.ports.port import Port
from ofapp.bridge.stp import PortState
from ofapp.common.portions import AT_ONCE
from ofapp.openflow.switch.audit.sweep import HeldHalf, Occasion, Sweep
from tests.unit.bridge.changes import reaction

A, B, C = 0x02000000000A, 0x02000000000B, 0x02000000000C


def make(guard: MoveLimit | None = None, lldp: bool = False, **policies: PortPolicy) -> Bridge:
    """Ports p1, p2, p3, with policies by name.  lldp: it runs there."""
    params = BridgeParams(
        ports={name: PortParams(policy=policy) for name, policy in policies.items()},
        policies=Policies(mac_move=guard or MoveLimit(3, 10.0, 30.0)),
        lldp=LldpParams() if lldp else None,
    )
    bridge = Bridge(1, params)
    bridge.set_ports([Port(number, f"p{number}", number, True) for number in (1, 2, 3)], 0.0)
    return bridge


def _announcement(chassis: int) -> bytes:
    """The LLDP frame of a switch: its chassis is a MAC address, its port has a name."""
    mac = bytes((2, 0, 0, 0, 9, chassis))
    tlvs = bytes((2, 7, 4)) + mac + bytes((4, 2, 5)) + b"1" + bytes((6, 2, 0, 120, 0, 0))
    return bytes.fromhex("0180c200000e") + mac + b"\x88\xcc" + tlvs


def see(bridge: Bridge, port: int, now: float, mac: int = A, vid: int = 0) -> list[Effect]:
    return bridge.learning.learn([(port, vid, mac)], now)


def flap(bridge: Bridge, ports: tuple[int, ...], begin: float = 1.0) -> list[Effect]:
    """A is seen on one after another, a tenth of a second apart; what the last led to."""
    effects: list[Effect] = []
    for step, port in enumerate(ports):
        effects = see(bridge, port, begin + step / 10)
    return effects


def where(bridge: Bridge, mac: int = A) -> int | None:
    entry = bridge.fdb.get(0, mac)
    return None if entry is None else entry.port


def event(effects: list[Effect]) -> Event:
    """The one that is not about bonds."""
    (found,) = [
        effect
        for effect in effects
        if isinstance(effect, Event) and not effect.kind.startswith("lag.")
    ]
    return found


def bonds(effects: list[Effect]) -> list[tuple[str, Any]]:
    """The reported bonds that the file does not name, with their ports."""
    events = [effect for effect in effects if isinstance(effect, Event)]
    return [(e.kind, e.data["ports"]) for e in events if e.kind.startswith("lag.")]


class TestUnnamedBonds:
    def test_two_ports_that_addresses_are_heard_on_in_turn_are_reported_once(self) -> None:
        bridge = make()
        flap(bridge, (1, 2, 1, 2, 1))
        assert bridge.next_wakeup() == 1.4
        effects = bridge.tick(1.4)
        assert bonds(effects) == [("lag.unnamed", [1, 2])]
        event = next(e for e in effects if isinstance(e, Event) and e.kind == "lag.unnamed")
        assert "lags:" in event.worded(bridge.port_at).message
        assert event.severity is Severity.WARNING
        for step, port in enumerate((1, 2, 1, 2, 1)):
            see(bridge, port, 2.0 + step / 10, B)
            assert not bonds(bridge.tick(2.0 + step / 10))  # once for the two
        assert bonds(bridge.tick(31.5)) == []  # B is still held down
        assert bonds(bridge.tick(40.0)) == [("lag.unnamed.cleared", [1, 2])]

    @pytest.mark.parametrize(("far", "found"), [(1, ["lag.unnamed"]), (2, [])])
    def test_ports_to_two_neighbours_are_no_bond(self, far: int, found: list[str]) -> None:
        """LLDP tells them apart: a loop is held down, and no aggregation is suggested."""
        bridge = make(lldp=True)
        for port, chassis in ((1, 1), (2, far)):
            bridge.hear("lldp", [(port, _announcement(chassis))], 0.5)
        effects = flap(bridge, (1, 2, 1, 2, 1))
        assert [kind for kind, _ in bonds(bridge.tick(1.4))] == found
        assert event(effects).kind == "fdb.held"

    def test_a_pair_whose_address_is_released_at_once_is_not_reported(self) -> None:
        bridge = make()
        flap(bridge, (1, 2, 1, 2, 1))
        bridge.release(0, A)
        assert not bonds(bridge.tick(1.4))

    def test_an_address_on_three_ports_is_no_bond(self) -> None:
        bridge = make()
        flap(bridge, (1, 2, 3, 1, 2))
        assert not bonds(bridge.tick(1.4))


class TestMoves:
    def test_one_too_many_goes_back_to_where_it_was_before_all_of_them(self) -> None:
        bridge = make()
        effects = flap(bridge, (1, 2, 1, 2, 1))
        assert effects[:2] == [InstallEntry(1, 0, A, 5, 2), HoldDown(0, A, 30, 1, 2)]
        held = event(effects)
        assert (held.kind, held.severity) == ("fdb.held", Severity.WARNING)
        assert held.data == {
            "mac": "02:00:00:00:00:0a",
            "vlan": 0,
            "port": 1,
            "reason": "moves",
            "elsewhere": 2,
            "seconds": 30,
        }
        assert "on port 1, and was seen on port 2" in held.message
        assert where(bridge) == 1

    def test_where_its_home_is_closed_it_stays_where_it_is(self) -> None:
        bridge = make()
        flap(bridge, (1, 2, 3, 2))
        bridge.relay.close(1)
        assert see(bridge, 3, 1.4)[0] == HoldDown(0, A, 30, 2, 3)
        assert where(bridge) == 2

    def test_nor_does_it_go_home_where_there_is_no_room(self) -> None:
        bridge = make()
        flap(bridge, (1, 2, 3, 2))
        bridge.learning.limits.set_port(1, "p1", PortParams(0))
        effects = see(bridge, 3, 1.4)
        assert [type(effect) for effect in effects] == [Event, HoldDown, Event]
        assert where(bridge) == 2

    def test_moves_of_long_ago_do_not_count(self) -> None:
        bridge = make()
        for step, port in enumerate((1, 2, 1, 2, 1, 2, 1)):
            see(bridge, port, 1.0 + 4 * step)  # three moves in any ten seconds
        assert where(bridge) == 1
        assert see(bridge, 2, 25.1) != []
        assert bridge.learning.counters["held"] == 1

    def test_each_address_and_vlan_counts_apart(self) -> None:
        bridge = make()
        for step, port in enumerate((1, 2, 1, 2)):
            for mac, vid in ((A, 0), (B, 0), (A, 7)):
                see(bridge, port, 1.0 + step, mac, vid)
        assert bridge.learning.counters["held"] == 0

    def test_a_topology_change_is_no_move(self) -> None:
        bridge = make()
        for step in range(10):
            see(bridge, 1 + step % 2, 1.0 + step)
            bridge.relay.flush_ports([1, 2, 3])
        assert bridge.learning.counters["held"] == 0

    def test_nor_has_a_forgotten_address_a_history(self) -> None:
        bridge = make()
        flap(bridge, (1, 2, 1, 2))
        bridge.flush(mac=A)
        flap(bridge, (1, 2, 1, 2), 2.0)
        assert bridge.learning.counters["held"] == 0

    def test_no_guard(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(guarding, "TRACKED", 0)
        bridge = make(MoveLimit(moves=0))
        flap(bridge, (1, 2) * 20)
        assert bridge.learning.counters["moved"] == 39
        assert bridge.learning.counters["move_histories_lost"] == 0

    def test_a_guard_that_is_turned_off_forgets(self) -> None:
        bridge = make()
        flap(bridge, (1, 2, 1, 2))
        bridge.learning.move_guard.params = MoveLimit(moves=0)
        flap(bridge, (1, 2, 1), 2.0)
        assert bridge.learning.counters["held"] == 0

    def test_histories_are_bounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(guarding, "TRACKED", 4)
        bridge = make()
        for mac in range(A, A + 8):
            see(bridge, 1, 1.0, mac)
            see(bridge, 2, 1.0, mac)
        assert bridge.learning.counters["move_histories_lost"] == 4
        for mac in range(A, A + 4):  # those of long ago make room
            see(bridge, 1, 50.0, mac)
        assert bridge.learning.counters["move_histories_lost"] == 4
        see(bridge, 1, 50.0, A + 4)
        assert bridge.learning.counters["move_histories_lost"] == 5


class TestHeld:
    def held(self) -> Bridge:
        bridge = make()
        flap(bridge, (1, 2, 1, 2, 1))
        bridge.tick(1.4)
        return bridge

    def test_it_recovers_by_itself(self) -> None:
        bridge = self.held()
        assert bridge.next_wakeup() == pytest.approx(31.4)
        assert bridge.tick(31.3) == []
        effects = bridge.tick(31.5)
        assert effects[0] == LetGo(0, A)
        assert event(effects).kind == "fdb.held.cleared"
        assert bridge.next_wakeup() is None
        assert see(bridge, 2, 32.0)[0] == InstallEntry(2, 0, A, 6, 1)

    def test_it_is_let_go_by_hand(self) -> None:
        bridge = self.held()
        assert bridge.learning.move_guard.let_go((0, B)) == []
        assert bridge.learning.move_guard.let_go((0, A))[0] == LetGo(0, A)
        flap(bridge, (2, 1, 2), 2.0)
        assert where(bridge) == 2

    def test_it_does_not_move_and_what_the_switch_has_lost_is_put_back(self) -> None:
        bridge = self.held()
        assert see(bridge, 3, 1.5) == []
        assert see(bridge, 3, 2.5) == [HoldDown(0, A, 30, 1, 2)]
        assert where(bridge) == 1
        (held,) = bridge.learning.move_guard.held.values()
        assert (held.sightings, held.elsewhere) == (2, 3)

    @pytest.mark.parametrize("way", ["flush", "flush-all", "down", "expired", "static", "removed"])
    def test_it_ends_with_the_entry(self, way: str) -> None:
        bridge = self.held()
        entry = bridge.fdb.get(0, A)
        assert entry is not None
        ways: dict[str, Any] = {
            "flush": lambda: bridge.flush(mac=A),
            "flush-all": bridge.flush,
            "down": lambda: bridge.put_port(Port(1, "p1", 1, False), 2.0),
            "expired": lambda: bridge.learning.expired(0, A, entry.serial),
            "static": lambda: bridge.add_static(0, A, "p3", 2.0),
            "removed": lambda: bridge.remove_port(1, 2.0),
        }
        effects = ways[way]()
        assert LetGo(0, A) in effects
        assert bridge.learning.move_guard.held == {}

    def test_one_that_is_not_concerned_stays_held(self) -> None:
        bridge = self.held()
        assert LetGo(0, A) not in bridge.flush(port=2)
        assert list(bridge.learning.move_guard.held) == [(0, A)]

    def test_no_more_than_a_switch_can_bear(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(guarding, "MAX_HELD", 1)
        bridge = make(p1=PortPolicy(sticky=True))
        for mac in (A, B, C):
            see(bridge, 1, 1.0, mac)
        assert event(see(bridge, 2, 1.0, A)).kind == "fdb.held"
        assert event(see(bridge, 2, 1.0, B)).kind == "fdb.held.limit"
        assert see(bridge, 2, 1.0, C) == []
        assert where(bridge, B) == 1
        assert bridge.learning.counters["hold_refused"] == 2
        kinds = [effect.kind for effect in bridge.tick(40.0) if isinstance(effect, Event)]
        assert kinds == ["fdb.held.cleared", "fdb.held.limit.cleared"]

    def test_one_port_cannot_take_the_guard_from_others(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(guarding, "MAX_HELD", 3)
        bridge = make(p1=PortPolicy(sticky=True))
        for mac in range(A, A + 6):
            see(bridge, 1, 1.0, mac)
        for mac in range(A, A + 3):  # of another port
            see(bridge, 2, 1.0, mac)
        (full,) = see(bridge, 2, 1.0, A + 3)
        assert isinstance(full, Event)
        assert (full.kind, full.port) == ("fdb.held.limit", 2)
        assert full.data == {"limit": 3, "seen": 3}
        effects = see(bridge, 3, 1.0, A + 4)
        assert effects[0] == LetGo(0, A)
        assert HoldDown(0, A + 4, 30, 1, 3) in effects
        assert see(bridge, 3, 1.0, A + 5) == []  # 2 and 1: no port has less than a share
        assert [mac for _, mac in bridge.learning.move_guard.held] == [A + 1, A + 2, A + 4]
        assert bridge.learning.counters["hold_displaced"] == 1

    @pytest.mark.parametrize(("hold", "seconds"), [(0.2, 1), (29.5, 30), (1e6, 65535)])
    def test_seconds_fit_a_flow(self, hold: float, seconds: int) -> None:
        bridge = make(MoveLimit(1, 10.0, hold))
        assert HoldDown(0, A, seconds, 1, 2) in flap(bridge, (1, 2, 1))


class TestAnotherController:
    """One finds a flow of the last one's in the switch, before it knows any address."""

    def found(self, age: float = 10.0, **policies: PortPolicy) -> tuple[Bridge, list[Effect]]:
        bridge = make(**policies)
        return bridge, bridge.addresses.adopt_held(0, A, (1, 2), age, 100.0)

    def test_the_address_stays_held_for_the_rest_of_its_time(self) -> None:
        bridge, effects = self.found()
        (event,) = effects
        assert isinstance(event, Event)
        assert "on port 1, and was seen on port 2: held down for 20 s more" in event.message
        bridge.addresses.adopt(1, 0, A, 7, 100.1)
        assert bridge.addresses.settle_held() == []
        assert see(bridge, 2, 100.2) == []
        assert where(bridge) == 1
        assert HoldDown(0, A, 30, 1, 2) in bridge.desired_as_of_now()(AT_ONCE).holds
        assert bridge.tick(119.9) == []
        assert LetGo(0, A) in bridge.tick(120.1)

    def test_not_when_the_switch_has_no_such_address_any_more(self) -> None:
        bridge, _ = self.found()
        assert LetGo(0, A) in bridge.addresses.settle_held()

    def test_not_longer_than_it_should_have_been(self) -> None:
        assert self.found(age=30.0)[1] == []

    def test_not_when_it_was_let_go_while_the_switch_was_away(self) -> None:
        bridge, _ = self.found()
        bridge.addresses.adopt(1, 0, A, 7, 100.1)
        bridge.addresses.settle_held()
        bridge.release(0, A)
        assert bridge.addresses.adopt_held(0, A, (1, 2), 11.0, 101.0) == []

    def test_a_sticky_one_is_so_without_a_guard_over_moves(self) -> None:
        bridge = make(MoveLimit(0, 10.0, 30.0), p1=PortPolicy(sticky=True))
        assert event(bridge.addresses.adopt_held(0, A, (1, 2), 1.0, 9.0)).data["reason"] == "sticky"
        assert bridge.addresses.adopt_held(0, B, (2, 1), 1.0, 9.0) == []  # no guard there now

    def test_nothing_is_held_where_nothing_is_learned(self) -> None:
        assert self.found(p1=PortPolicy(locked=True))[1] == []


class TestSticky:
    def bridge(self) -> Bridge:
        bridge = make(p1=PortPolicy(sticky=True))
        see(bridge, 1, 1.0)
        return bridge

    def test_it_is_learned_as_such(self) -> None:
        bridge = make(p1=PortPolicy(sticky=True))
        assert see(bridge, 1, 1.0) == [InstallSticky(1, 0, A, 1, 0)]
        assert see(bridge, 1, 3.0) == [InstallSticky(1, 0, A, 2, 0)]  # the switch had lost it
        assert bridge.fdb.learned == 1

    def test_the_first_claim_from_elsewhere_is_held_down(self) -> None:
        bridge = self.bridge()
        effects = see(bridge, 2, 1.1)
        assert effects[0] == HoldDown(0, A, 30, 1, 2)
        assert event(effects).data["reason"] == "sticky"
        assert where(bridge) == 1

    def test_an_ordinary_address_may_move_there_and_is_sticky_then(self) -> None:
        bridge = make(p1=PortPolicy(sticky=True))
        see(bridge, 2, 1.0)
        assert see(bridge, 1, 1.1) == [InstallSticky(1, 0, A, 2, 2)]
        see(bridge, 2, 1.2)
        assert where(bridge) == 1

    def test_a_topology_change_leaves_it_and_a_blocked_port_leads_nowhere(self) -> None:
        bridge = self.bridge()
        assert bridge.relay.flush_ports([1]) == [Flush(1)]
        assert Flush(1, sticky=True) in bridge.relay.set_state(1, PortState.DISCARDING)
        assert where(bridge) == 1
        bridge.relay.set_state(1, PortState.LEARNING)
        assert InstallSticky(1, 0, A, 1, 0) in bridge.relay.set_state(1, PortState.FORWARDING)

    def test_the_port_takes_it_along_when_it_goes(self) -> None:
        bridge = self.bridge()
        assert Flush(1, sticky=True) in bridge.remove_port(1, 2.0)
        assert len(bridge.fdb) == 0

    def test_a_flush_by_address_port_or_all_forgets_it(self) -> None:
        for which in ({"mac": A}, {"port": 1}, {"vid": 0}, {}):
            bridge = self.bridge()
            bridge.flush(**which)
            assert len(bridge.fdb) == 0

    def test_a_restarted_controller_knows_it_by_its_flow(self) -> None:
        bridge = make(p1=PortPolicy(sticky=True))
        sweep = Sweep(bridge, 1, Occasion.CONNECTED, 5.0)
        assert sweep.source(HeldHalf(1, 0, A, 9, 0, sticky=True), 5.0) == []
        assert sweep.destination(HeldHalf(1, 0, A, 9, 0, sticky=True), 5.0) == []
        assert sweep.finish(5.0) == []
        entry = bridge.fdb.get(0, A)
        assert entry is not None
        assert entry.is_sticky

    def test_one_of_a_port_that_is_down_is_known_but_leads_nowhere(self) -> None:
        bridge = make(p1=PortPolicy(sticky=True))
        bridge.put_port(Port(1, "p1", 1, False), 1.0)
        sweep = Sweep(bridge, 1, Occasion.CONNECTED, 5.0)
        assert sweep.source(HeldHalf(1, 0, A, 9, 0, sticky=True), 5.0) == [RemoveSource(1, 0, A, 9)]
        removed = sweep.destination(HeldHalf(1, 0, A, 9, 0, sticky=True), 5.0)
        assert removed == [RemoveDestination(0, A, 9)]
        assert sweep.finish(5.0) == []
        assert where(bridge) == 1
        see(bridge, 2, 6.0)
        assert where(bridge) == 1

    @pytest.mark.parametrize("sticky", [True, False])
    def test_flows_of_the_other_kind_are_not_adopted(self, sticky: bool) -> None:
        bridge = make(p1=PortPolicy(sticky=not sticky))
        sweep = Sweep(bridge, 1, Occasion.CONNECTED, 5.0)
        assert sweep.source(HeldHalf(1, 0, A, 9, 0, sticky), 5.0) == [RemoveSource(1, 0, A, 9)]
        assert len(bridge.fdb) == 0

    def test_what_was_deleted_by_hand_comes_back_whole(self) -> None:
        bridge = self.bridge()
        sweep = Sweep(bridge, 1, Occasion.ROUTINE, 5.0)
        sweep.source(HeldHalf(1, 0, A, 1, 0, sticky=True), 5.0)
        assert sweep.finish(5.0) == [InstallSticky(1, 0, A, 1, 0)]

    def test_one_that_leads_out_in_another_way_stays_sticky(self) -> None:
        bridge = self.bridge()
        put = InstallDestination(1, 0, A, 1)
        sweep = Sweep(bridge, 1, Occasion.ROUTINE, 5.0)
        assert sweep.redirected(put) == [InstallSticky(1, 0, A, 1, 0)]


class TestAdministered:
    """`Learning.set_policies`."""

    def change(self, bridge: Bridge, policy: PortPolicy) -> list[Effect]:
        return reaction(bridge, BridgeParams(ports={"p1": PortParams(policy=policy)}), 3.0)

    def test_the_same_again_is_nothing(self) -> None:
        bridge = make(p1=PortPolicy(sticky=True))
        see(bridge, 1, 1.0)
        assert self.change(bridge, PortPolicy(sticky=True)) == []

    @pytest.mark.parametrize("policy", [PortPolicy(learning=False), PortPolicy(locked=True)])
    def test_a_port_that_does_not_learn_any_more_forgets(self, policy: PortPolicy) -> None:
        bridge = make()
        see(bridge, 1, 1.0)
        see(bridge, 2, 1.0, B)
        assert self.change(bridge, policy) == [Flush(1, sticky=True)]
        assert (where(bridge), where(bridge, B)) == (None, 2)
        assert see(bridge, 1, 4.0) == []
        assert self.change(bridge, PortPolicy()) == []
        assert see(bridge, 1, 5.0) == [InstallEntry(1, 0, A, 1, 0)]

    def test_what_is_learned_becomes_sticky_and_ordinary_again(self) -> None:
        bridge = make()
        see(bridge, 1, 1.0)
        see(bridge, 2, 1.0, B)
        assert self.change(bridge, PortPolicy(sticky=True)) == [InstallSticky(1, 0, A, 2, 0)]
        assert self.change(bridge, PortPolicy()) == [InstallEntry(1, 0, A, 3, 0)]

    def test_what_is_sticky_on_a_port_that_is_down_goes_with_its_stickiness(self) -> None:
        bridge = make(p1=PortPolicy(sticky=True))
        see(bridge, 1, 1.0)
        bridge.put_port(Port(1, "p1", 1, False), 2.0)
        assert self.change(bridge, PortPolicy()) == []
        assert len(bridge.fdb) == 0

    def test_a_sticky_address_of_a_port_that_is_reached_otherwise_stays_sticky(self) -> None:
        bridge = make(p1=PortPolicy(sticky=True))
        see(bridge, 1, 1.0)
        isolated = {"p1": PortParams(policy=PortPolicy(sticky=True, isolated=True))}
        effects = bridge.set_params(BridgeParams(ports=isolated), 2.0)
        assert InstallSticky(1, 0, A, 1, 0) in effects
        assert InstallDestination(1, 0, A, 1) not in effects

    def test_other_moves_are_allowed(self) -> None:
        bridge = make()
        policies = Policies(mac_move=MoveLimit(1, 10.0, 30.0))
        bridge.learning.set_policies(BridgeParams(policies=policies), bridge.ports, 0.5)
        assert HoldDown(0, A, 30, 1, 2) in flap(bridge, (1, 2, 1))
