"""Aggregations through the whole bridge, in virtual time: members go in, one port comes out."""

from dataclasses import replace

import pytest

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import ClosePort, Effect
from ofapp.bridge.effects.content import DesiredLag
from ofapp.bridge.event import Event
from ofapp.bridge.lag import LagParams
from ofapp.bridge.lag.aggregation import SETTLE, numbered
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.stp import BridgeParams as StpParams

LOCAL = Port(LOCAL_PORT, "br0", 0x02AA00000000, True)
LAG0, LAG1 = 4095, 4094


def port(number: int, name: str | None = None, up: bool = True, live: bool = True) -> Port:
    return Port(number, name or f"eth{number}", 0x02AA00000000 + number, up, 1000, True, live)


def static(*members: str, min_links: int = 1, max_links: int = 8) -> LagParams:
    return LagParams(members, "off", min_links=min_links, max_links=max_links)


def make(params: BridgeParams, count: int = 4) -> Bridge:
    bridge = Bridge(1, params)
    bridge.set_ports([LOCAL, *(port(number) for number in range(1, count + 1))], 0.0)
    return bridge


def ports(bridge: Bridge) -> dict[str, int]:
    return {one.name: one.number for one in bridge.ports if one.number != LOCAL_PORT}


def lag(bridge: Bridge) -> DesiredLag:
    (found,) = bridge.desired().lags
    return found


def kinds(effects: list[Effect]) -> list[str]:
    return [effect.kind for effect in effects if isinstance(effect, Event)]


TWO = BridgeParams(lags={"lag0": static("eth1", "eth2")})


def test_members_are_no_ports_and_the_logical_port_is_one() -> None:
    bridge = make(TWO)
    assert ports(bridge) == {"eth3": 3, "eth4": 4, "lag0": LAG0}
    logical = bridge.ports.named("lag0")
    assert logical is not None
    assert (logical.up, logical.speed_mbps) == (True, 2000)
    assert lag(bridge) == DesiredLag(LAG0, "layer2+3", (1, 2), (1, 2))
    assert bridge.desired().flooded == {3, 4, LAG0, LOCAL_PORT}


def test_a_member_without_a_link_keeps_its_place_and_the_speed_follows() -> None:
    bridge = make(TWO)
    bridge.put_port(port(1, up=False), 1.0)
    assert lag(bridge) == DesiredLag(LAG0, "layer2+3", (0, 2), (2,))
    logical = bridge.ports.named("lag0")
    assert logical is not None
    assert (logical.up, logical.speed_mbps) == (True, 1000)
    bridge.put_port(port(2, live=False), 2.0)  # the switch's own LACP has not enabled it
    assert not lag(bridge).collecting
    assert LAG0 not in bridge.desired().flooded
    bridge.put_port(port(2), 3.0)
    assert lag(bridge).members == (0, 2)
    assert LAG0 in bridge.desired().flooded


def test_the_path_cost_follows_the_members_in_use() -> None:
    bridge = make(replace(TWO, stp=StpParams()))
    bridge.go_on(0.0)

    def cost() -> int:
        status = bridge.stp.status(1.0)
        assert status is not None
        return next(one.path_cost for one in status.ports if one.port == LAG0)

    both = cost()
    bridge.put_port(port(1, up=False), 1.0)
    assert cost() == 2 * both


def test_min_links_and_max_links() -> None:
    bridge = make(BridgeParams(lags={"lag0": static("eth1", "eth2", "eth3", min_links=2)}))
    bridge.put_port(port(1, up=False), 1.0)
    assert LAG0 in bridge.desired().flooded
    bridge.put_port(port(2, up=False), 2.0)
    assert LAG0 not in bridge.desired().flooded
    bridge = make(BridgeParams(lags={"lag0": static("eth1", "eth2", "eth3", max_links=2)}))
    assert lag(bridge).members == (1, 2, 0)
    bridge.put_port(port(1, up=False), 1.0)
    assert lag(bridge).members == (0, 2, 3)
    (status,) = bridge.lags.status(1.0)
    assert [member.state for member in status.members] == ["down", "distributing", "distributing"]


def test_what_was_another_port_waits_before_it_is_a_member() -> None:
    bridge = make(BridgeParams())
    effects = bridge.set_params(TWO, 10.0)
    assert {effect.port for effect in effects if isinstance(effect, ClosePort)} == {1, 2}
    assert lag(bridge).collecting == ()
    assert bridge.next_wakeup() == 10.0 + SETTLE
    assert not bridge.tick(10.0 + SETTLE - 0.1)
    effects = bridge.tick(10.0 + SETTLE)
    assert DesiredLag(LAG0, "layer2+3", (1, 2), (1, 2)) in effects
    assert LAG0 in bridge.desired().flooded


def test_who_leaves_is_taken_out_before_it_opens_as_a_port() -> None:
    bridge = make(TWO)
    bridge.learning.learn([(LAG0, 0, 0x02BB)], 1.0)
    effects = bridge.set_params(BridgeParams(lags={"lag0": static("eth2")}), 10.0)
    names = [type(effect).__name__ for effect in effects]
    assert names.index("DesiredLag") < names.index("Barrier") < names.index("SetPortState")
    assert ports(bridge) == {"eth1": 1, "eth3": 3, "eth4": 4, "lag0": LAG0}
    assert bridge.fdb.get(0, 0x02BB) is not None  # it is still behind the other
    bridge.set_params(BridgeParams(), 20.0)
    assert ports(bridge) == {"eth1": 1, "eth2": 2, "eth3": 3, "eth4": 4}
    assert bridge.fdb.get(0, 0x02BB) is None
    assert bridge.desired().lags == ()


def test_a_member_that_moves_to_another_aggregation_waits_there() -> None:
    bridge = make(BridgeParams(lags={"lag0": static("eth1", "eth2"), "lag1": static("eth3")}))
    params = BridgeParams(lags={"lag0": static("eth1"), "lag1": static("eth3", "eth2")})
    bridge.set_params(params, 10.0)
    assert [one.collecting for one in bridge.desired().lags] == [(1,), (3,)]
    bridge.tick(10.0 + SETTLE)
    assert [one.collecting for one in bridge.desired().lags] == [(1,), (3, 2)]


def test_renamed_removed_and_unplugged_ports() -> None:
    bridge = make(TWO)
    bridge.put_port(port(2, "other"), 1.0)
    assert ports(bridge) == {"eth3": 3, "eth4": 4, "lag0": LAG0, "other": 2}
    assert lag(bridge).members == (1, 0)
    bridge.put_port(port(2), 2.0)
    assert lag(bridge).members == (1, 2)
    assert "other" not in ports(bridge)
    assert kinds(bridge.remove_port(1, 3.0)) == ["lag.member.down"]
    assert lag(bridge).members == (0, 2)
    bridge.set_ports([LOCAL, port(3), port(4)], 4.0)
    assert ports(bridge) == {"eth3": 3, "eth4": 4}
    bridge.set_ports([LOCAL, port(1, "eth2"), port(2, "eth1")], 5.0)
    assert ports(bridge) == {"lag0": LAG0}
    assert lag(bridge).members == (2, 1)


def test_a_dry_run_foresees_what_a_reload_does() -> None:
    lags = {"lag0": static("eth1", "eth2"), "lag1": static("eth3")}
    others = {"lag1": static("eth3", "eth2"), "new7": static("eth4")}
    for before, after in ((lags, others), ({}, lags), (lags, {}), (others, lags)):
        bridge = make(BridgeParams(lags=before))
        was, foreseen = bridge.desired(), bridge.desired(BridgeParams(lags=after))
        assert bridge.desired() == was
        bridge.set_params(BridgeParams(lags=after), 10.0)
        bridge.tick(10.0 + SETTLE)
        done = bridge.desired()
        assert {*done.lags} == {*foreseen.lags}
        assert {*done.numbers} == {*foreseen.numbers}
        assert done.flooded == foreseen.flooded


def test_a_switch_that_comes_again_changes_nothing() -> None:
    bridge = make(TWO)
    assert bridge.set_ports([LOCAL, *(port(number) for number in range(1, 5))], 5.0) == []


def test_a_port_with_an_aggregations_number_or_name_is_left_out() -> None:
    bridge = make(TWO)
    effects = bridge.put_ports([port(LAG0, "far"), port(7, "lag0")], 1.0)
    assert kinds(effects) == ["lag.conflict", "lag.conflict"]
    assert bridge.put_ports([port(LAG0, "far")], 2.0) == []
    assert ports(bridge) == {"eth3": 3, "eth4": 4, "lag0": LAG0}
    bridge.remove_port(LAG0, 3.0)  # the switch's own port of that number
    bridge.remove_port(LAG0, 3.0)  # again, when it has none
    assert "lag0" in ports(bridge)
    bridge.set_params(BridgeParams(), 4.0)
    assert ports(bridge)["lag0"] == 7
    effects = bridge.set_params(TWO, 5.0)
    assert "lag.conflict" in kinds(effects)
    assert ports(bridge) == {"eth3": 3, "eth4": 4, "lag0": LAG0}


def test_local_and_a_port_of_two_aggregations() -> None:
    """No checked file says such things."""
    lags = {"lag0": static("br0", "eth1"), "lag1": static("eth1", "eth2")}
    bridge = make(BridgeParams(lags=lags))
    assert [one.collecting for one in bridge.desired().lags] == [(1,), (2,)]
    assert bridge.ports.get(LOCAL_PORT) == LOCAL


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["lag0", "lag1", "bond7"], [4095, 4094, 4088]),
        (["lag0", "bond0", "lag1"], [4095, 4094, 4093]),
    ],
)
def test_numbers_follow_from_names(names: list[str], expected: list[int]) -> None:
    assert list(numbered(names, {}).values()) == expected
    kept = numbered(["new", *names], numbered(names, {}))
    assert [kept[name] for name in names] == expected


def test_there_are_no_more_aggregations_than_numbers() -> None:
    found = numbered([f"n{number}x" for number in range(600)], {})
    assert len(found) == len(set(found.values())) == 512
    assert set(found.values()) == set(range(3584, 4096))
