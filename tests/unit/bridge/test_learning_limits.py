"""Limits of ports and VLANs: what is beyond floods or is dropped, and when that is over."""

import pytest

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Effect, InstallEntry, RenewPort
from ofapp.bridge.event import Event
from ofapp.bridge.params.params import BridgeParams, PortParams
from ofapp.bridge.params.policy import Policies, PortPolicy, VlanPolicy
from ofapp.bridge.ports.port import Port

FIRST = 0x020000000001
DROP = PortPolicy(over_limit="drop")


def params(
    limit: int | None = None, policy: PortPolicy = DROP, vlan: VlanPolicy | None = None
) -> BridgeParams:
    """A limit of port p1, or of VLAN 7."""
    vlans = {} if vlan is None else {7: vlan}
    return BridgeParams(
        ports={"p1": PortParams(limit, policy=policy)}, policies=Policies(vlans=vlans)
    )


def make(params: BridgeParams) -> Bridge:
    bridge = Bridge(1, params)
    bridge.set_ports([Port(number, f"p{number}", number, True) for number in (1, 2)], 0.0)
    return bridge


def learn(bridge: Bridge, count: int, port: int = 1, vid: int = 0) -> list[Effect]:
    """So many hosts, from FIRST on."""
    return bridge.learning.learn([(port, vid, FIRST + n) for n in range(count)], 1.0)


def gates(bridge: Bridge, effects: list[Effect]) -> list[bool]:
    """For each renewal of ports: whether port 1 drops frames of further hosts now."""
    port = bridge.desired_port(1)
    return [port.full or bool(port.full_vlans) for each in effects if isinstance(each, RenewPort)]


def kinds(effects: list[Effect]) -> list[str]:
    return [effect.kind for effect in effects if isinstance(effect, Event)]


def change(bridge: Bridge, params: BridgeParams) -> list[Effect]:
    return bridge.learning.set_policies(params, bridge.ports, 2.0)


class TestGates:
    def test_it_closes_with_the_last_place_and_is_reported_with_the_first_refusal(self) -> None:
        bridge = make(params(2))
        effects = learn(bridge, 2)
        assert RenewPort(1) in effects
        assert gates(bridge, effects) == [True]
        assert kinds(effects) == []
        (event,) = learn(bridge, 3)
        assert isinstance(event, Event)
        assert (event.kind, event.port) == ("fdb.limit", 1)
        assert event.data == {"limit": 2, "drop": True, "learned": 2}
        assert "are dropped" in event.message
        assert learn(bridge, 3) == []

    def test_it_opens_when_a_twentieth_is_free_and_not_before(self) -> None:
        bridge = make(params(40))
        assert gates(bridge, learn(bridge, 41)) == [True]
        assert bridge.flush(mac=FIRST)[2:] == []
        late = bridge.learning.learn([(1, 0, FIRST + 99)], 1.0)
        assert gates(bridge, late) == []  # it has the place though the gate stays closed
        assert any(isinstance(effect, InstallEntry) for effect in late)
        bridge.flush(mac=FIRST + 99)
        effects = bridge.flush(mac=FIRST + 1)
        assert gates(bridge, effects) == [False]
        assert kinds(effects) == ["fdb.limit.cleared"]

    def test_where_nobody_was_refused_nothing_is_reported(self) -> None:
        bridge = make(params(1))
        learn(bridge, 1)
        effects = bridge.flush()
        assert (gates(bridge, effects), kinds(effects)) == ([False], [])

    def test_a_host_that_moves_takes_a_place_and_leaves_one(self) -> None:
        bridge = make(params(1))
        learn(bridge, 1, port=2)
        effects = learn(bridge, 1)
        assert gates(bridge, effects) == [True]
        effects = learn(bridge, 1, port=2)
        assert gates(bridge, effects) == [False]

    def test_limit_zero_is_closed_from_the_start(self) -> None:
        bridge = Bridge(1, params(0))
        effects = bridge.set_ports([Port(1, "p1", 1, True)], 0.0)
        assert gates(bridge, effects) == [True]
        assert kinds(learn(bridge, 1)) == ["fdb.limit"]

    def test_a_port_that_goes_takes_its_gate_along(self) -> None:
        bridge = make(params(1))
        learn(bridge, 1)
        assert gates(bridge, bridge.remove_port(1, 2.0)) == [False]
        assert bridge.learning.limits.ports == {}


class TestVlans:
    def test_all_ports_together(self) -> None:
        bridge = make(params(vlan=VlanPolicy(2, "drop")))
        learn(bridge, 1, port=1, vid=7)
        bridge.add_static(7, FIRST + 50, "p1", 1.0)  # static entries do not count
        effects = bridge.learning.learn([(2, 7, FIRST + 9)], 1.0)
        assert RenewPort(None) in effects
        assert gates(bridge, effects) == [True]
        (event,) = bridge.learning.learn([(2, 7, FIRST + 8)], 1.0)
        assert isinstance(event, Event)
        assert (event.port, event.data["vlan"]) == (2, 7)
        assert bridge.learning.counters["refused_vlan_limit"] == 1
        assert gates(bridge, learn(bridge, 5, vid=8)) == []
        assert gates(bridge, bridge.flush(port=2)) == [False]

    def test_within_the_vlan_a_host_may_move(self) -> None:
        bridge = make(params(vlan=VlanPolicy(1, "drop")))
        learn(bridge, 1, vid=7)
        assert learn(bridge, 1, port=2, vid=7) == [InstallEntry(2, 7, FIRST, 2, 1)]

    def test_beyond_may_flood(self) -> None:
        bridge = make(params(vlan=VlanPolicy(1)))
        effects = learn(bridge, 2, vid=7)
        assert (gates(bridge, effects), kinds(effects)) == ([], ["fdb.limit"])
        assert kinds(bridge.flush(vid=7)) == ["fdb.limit.cleared"]

    def test_a_sticky_port_has_a_share_of_it_and_says_so_once(self) -> None:
        bridge = make(params(policy=PortPolicy(sticky=True), vlan=VlanPolicy(6)))
        share = 6 // len(bridge.ports)
        effects = learn(bridge, share + 2, vid=7)
        event = next(effect for effect in effects if isinstance(effect, Event))
        assert kinds(effects) == ["fdb.limit"]
        assert "sticky port p1 in VLAN 7 has learned" in event.message
        assert bridge.fdb.learned_in(7) == share
        assert kinds(learn(bridge, share + 2, vid=8)) == []  # the VLAN has no limit
        others = bridge.learning.learn([(2, 7, FIRST + 90 + n) for n in range(6 - share)], 1.0)
        assert kinds(others) == []
        assert bridge.fdb.learned_in(7) == 6
        assert kinds(bridge.flush(port=1, vid=7)) == ["fdb.limit.cleared"]
        assert bridge.learning.limits.reached() == []

    def test_a_port_that_is_full_does_not_fill_the_vlan(self) -> None:
        bridge = make(params(1, PortPolicy(), VlanPolicy(2, "drop")))
        effects = learn(bridge, 3, vid=7)
        assert (gates(bridge, effects), kinds(effects)) == ([], ["fdb.limit"])


class TestAdministered:
    def test_a_lower_limit_keeps_what_is_learned(self) -> None:
        bridge = make(params(5))
        learn(bridge, 3)
        assert gates(bridge, change(bridge, params(2))) == [True]
        assert bridge.fdb.learned == 3
        assert kinds(learn(bridge, 4)) == ["fdb.limit"]

    def test_a_higher_one_or_none_makes_room(self) -> None:
        for new in (params(9), params()):
            bridge = make(params(1))
            learn(bridge, 2)
            effects = change(bridge, new)
            assert (gates(bridge, effects), kinds(effects)) == ([False], ["fdb.limit.cleared"])
            assert gates(bridge, learn(bridge, 2)) == []

    def test_drop_becomes_flood_and_drop_again(self) -> None:
        bridge = make(params(1))
        learn(bridge, 2)
        assert gates(bridge, change(bridge, params(1, PortPolicy()))) == [False]
        assert gates(bridge, change(bridge, params(1))) == [True]

    def test_vlans_get_and_lose_limits(self) -> None:
        bridge = make(params())
        learn(bridge, 2, vid=7)
        effects = change(bridge, params(vlan=VlanPolicy(2, "drop")))
        assert (effects, gates(bridge, effects)) == ([RenewPort(None)], [True])
        effects = change(bridge, params(vlan=VlanPolicy(None, "drop")))
        assert (effects, gates(bridge, effects)) == ([RenewPort(None)], [False])
        assert bridge.learning.limits.vlans == {}

    def test_the_bridge_gets_room(self) -> None:
        bridge = make(BridgeParams(fdb_max_learned=1))
        assert kinds(learn(bridge, 2)) == ["fdb.limit"]
        assert kinds(change(bridge, BridgeParams(fdb_max_learned=9))) == ["fdb.limit.cleared"]

    @pytest.mark.parametrize("policies", [params(2), params(vlan=VlanPolicy(2, "drop"))])
    def test_the_same_again_is_nothing(self, policies: BridgeParams) -> None:
        bridge = make(policies)
        learn(bridge, 3, vid=7)
        assert change(bridge, policies) == []
