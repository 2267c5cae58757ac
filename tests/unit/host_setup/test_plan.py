"""Plans on made-up hosts: what they do, and that from every step there is a way back."""

from __future__ import annotations

from dataclasses import replace
from socket import AF_INET, AF_INET6

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ofapp.host_setup import steps
from ofapp.host_setup.model import DeployConfig, parse_port
from ofapp.host_setup.plan import gateways_of, plan_apply, steps_towards
from ofapp.host_setup.state import Address, BridgePort, Host, Layout, Route
from ofapp.host_setup.wanted import (
    aged,
    origin_layout,
    present_layout,
    resumed_layout,
    returned_layout,
    tap_names,
    wanted_layout,
)
from tests.unit.host_setup.hosts import (
    DEFAULT,
    DEFAULT6,
    FIRST,
    LINK_LOCAL,
    MAC,
    SECOND,
    SIX,
    do,
    host,
    nic,
    ours,
)

CONFIG = DeployConfig(nics=("eth0",), datapath="netdev")


def plan(seen: Host, config: DeployConfig = CONFIG, origin: Layout | None = None) -> list[object]:
    return list(plan_apply(seen, wanted_layout(seen, config, origin), config))


def done(seen: Host, config: DeployConfig = CONFIG, origin: Layout | None = None) -> Host:
    for step in plan_apply(seen, wanted_layout(seen, config, origin), config):
        seen = do(seen, step)
    return seen


def before(seen: Host, config: DeployConfig = CONFIG) -> Layout:
    """The layout, with routes in an order: the kernel has its own."""
    now = present_layout(seen, config.bridge, config.uplinks, tap_names(config))
    links = (replace(s, routes=tuple(sorted(s.routes, key=str))) for s in now.links)
    return replace(now, links=tuple(links))


def test_everything_moves_to_local() -> None:
    after = done(host())
    local, eth0 = after.link("br0"), after.link("eth0")
    assert local is not None
    assert eth0 is not None
    assert set(local.state.addresses) == {FIRST, SECOND, SIX}
    assert set(local.state.routes) == {DEFAULT, DEFAULT6}
    assert local.state.up
    assert eth0.state.addresses == ()
    assert eth0.state.routes == ()
    assert eth0.state.offloads == ()
    settings = dict(eth0.state.settings)
    assert settings["ipv4/arp_ignore"] == 8
    assert settings["ipv4/rp_filter"] == 1
    assert settings["ipv6/disable_ipv6"] == 1


def test_a_second_apply_plans_nothing() -> None:
    assert plan(done(host())) == []


def test_the_controller_has_the_bridge_before_a_nic_is_touched() -> None:
    doing = plan(host())
    kinds = [type(step) for step in doing]
    proven = kinds.index(steps.AwaitController)
    assert kinds[:proven] == [steps.PutBridge]
    assert kinds[-1] is steps.AwaitGateways
    assert doing[-1] == steps.AwaitGateways("br0", ("192.0.2.1", "fe80::99"), 45)


def test_a_gateway_that_is_silent_now_need_not_answer_then() -> None:
    goal = wanted_layout(host(), CONFIG)
    (last,) = plan_apply(host(), goal, CONFIG, frozenset({"192.0.2.1"}))[-1:]
    assert last == steps.AwaitGateways("br0", ("fe80::99",), 45)


def test_lifetimes_are_kept() -> None:
    added = [s for s in plan(host()) if isinstance(s, steps.AddAddress)]
    (second,) = [step.address for step in added if step.address == SECOND]
    assert (second.valid, second.preferred) == (500, 400)


def test_the_first_address_of_a_subnet_is_added_first_and_removed_last() -> None:
    """Without promote_secondaries the kernel removes all others with it."""
    doing = plan(host())
    added = [str(s.address) for s in doing if isinstance(s, steps.AddAddress)]
    removed = [str(s.address) for s in doing if isinstance(s, steps.RemoveAddress)]
    assert added.index("192.0.2.2/24") < added.index("192.0.2.3/24")
    assert removed.index("192.0.2.3/24") < removed.index("192.0.2.2/24")


def test_link_local_addresses_stay() -> None:
    assert not [s for s in plan(host()) if "fe80::1/" in str(s)]


def test_a_route_that_another_link_has_as_well_is_not_replaced() -> None:
    """Replacing hits the first route of that key, whichever link it is on."""
    wlan = nic("wlan0", addresses=(), routes=(replace(DEFAULT, gateway="198.51.100.1"),))
    doing = plan(host(nic(), wlan))
    (put,) = [s for s in doing if isinstance(s, steps.PutRoute) and s.route == DEFAULT]
    assert not put.replacing
    assert steps.RemoveRoute("eth0", DEFAULT) in doing
    assert not [s for s in doing if getattr(s, "link", "") == "wlan0"]


def test_mac_and_datapath_id_come_from_the_first_uplink() -> None:
    (made,) = [s.bridge for s in plan(host()) if isinstance(s, steps.PutBridge)]
    assert made.mac == MAC
    assert made.datapath_id == "0000525400000001"
    assert made.mtu == 1500


def test_without_an_uplink_they_are_the_same_each_time_and_unlike_elsewhere() -> None:
    config = DeployConfig(datapath="netdev")
    ids = {
        wanted_layout(replace(host(), machine_id=machine), config).bridge
        for machine in ("a", "a", "b")
    }
    assert len(ids) == 2


def test_an_mtu_is_set_on_all_uplinks_and_the_bridge() -> None:
    doing = plan(host(), CONFIG.model_copy(update={"mtu": 9000}))
    assert steps.SetLink("eth0", None, 9000) in doing
    (made,) = [s.bridge for s in doing if isinstance(s, steps.PutBridge)]
    assert made.mtu == 9000


def test_local_takes_over_what_was_set_on_the_nic() -> None:
    eth0 = nic()
    settings = tuple((k, 2 if k == "ipv6/accept_ra" else v) for k, v in eth0.state.settings)
    doing = plan(host(replace(eth0, state=replace(eth0.state, settings=settings))))
    assert steps.SetSetting("br0", "ipv6/accept_ra", 2) in doing


def test_ports_of_all_kinds() -> None:
    config = DeployConfig(
        datapath="netdev",
        ports=tuple(
            parse_port(text)
            for text in (
                *("tap0:tap", "int0:internal", "vhu0:vhost-user:/run/vhu0.sock"),
                *("dpdk0:dpdk:0000:01:00.0", "eth0:afxdp"),
            )
        ),
    )
    doing = plan(host(), config)
    ports = {s.port for s in doing if isinstance(s, steps.PutPort)}
    assert ports == {
        BridgePort("tap0"),
        BridgePort("int0", "internal"),
        BridgePort("vhu0", "dpdkvhostuserclient", (("vhost-server-path", "/run/vhu0.sock"),)),
        BridgePort("dpdk0", "dpdk", (("dpdk-devargs", "0000:01:00.0"),)),
        BridgePort("eth0", "afxdp"),
    }
    assert doing[0] == steps.MakeTap("tap0")
    assert steps.AddAddress("br0", FIRST) in doing  # an AF_XDP uplink carries the host as well


def test_rstp_of_open_vswitch_is_turned_off() -> None:
    seen = done(host())
    (bridge,) = seen.switch.bridges
    seen = replace(seen, switch=replace(seen.switch, bridges=(replace(bridge, rstp=True),)))
    (put,) = [s for s in plan(seen) if isinstance(s, steps.PutBridge)]
    assert not put.bridge.rstp


@pytest.mark.parametrize("again", range(40))
def test_from_every_step_there_is_a_way_back(again: int) -> None:
    """And from every step of that way."""
    config = CONFIG.model_copy(update={"ports": (parse_port("tap0:tap"),)})
    start = host()
    fallback = before(start, config)
    doing = plan_apply(start, wanted_layout(start, config), config)
    seen = start
    for step in doing[:again]:
        seen = do(seen, step)
    while way := list(steps_towards(seen, fallback)):
        seen = do(seen, way[0])
    assert before(seen, config) == fallback
    assert seen.switch.bridges == ()
    assert seen.link("tap0") is None


_HOSTS = st.builds(Address, st.just(AF_INET), st.sampled_from([f"10.0.0.{n}" for n in range(2, 6)]),
                   st.just(24)) | st.builds(
    Address, st.just(AF_INET6), st.sampled_from([f"fd00::{n}" for n in range(2, 6)]), st.just(64)
)  # fmt: skip
_ROUTES = st.builds(
    Route,
    st.just(AF_INET),
    st.sampled_from(["0.0.0.0/0", "10.9.0.0/16", "10.8.0.0/16"]),
    table=st.sampled_from([254, 77]),
    metric=st.sampled_from([0, 100]),
)


@given(
    addresses=st.lists(_HOSTS, unique_by=lambda a: a.key, max_size=5),
    routes=st.lists(_ROUTES, unique_by=lambda r: r.key, max_size=4),
    cut=st.integers(0, 40),
    other=st.booleans(),
)
def test_any_host_comes_back_from_anywhere(
    addresses: list[Address], routes: list[Route], cut: int, other: bool
) -> None:
    addresses.sort(key=lambda address: address.family)
    links = [nic(addresses=tuple(addresses), routes=tuple(routes))]
    if other:
        links.append(nic("eth1", addresses=(), routes=tuple(routes[:1]), index=3))
    start = host(*links)
    fallback = before(start)
    seen = start
    for step in plan_apply(start, wanted_layout(start, CONFIG), CONFIG)[:cut]:
        seen = do(seen, step)
    for step in list(steps_towards(seen, fallback)):
        seen = do(seen, step)
    assert list(steps_towards(seen, fallback)) == []
    back, eth1 = seen.link("eth0"), seen.link("eth1")
    assert back is not None
    assert back.state.addresses == tuple(addresses)
    assert set(back.state.routes) == set(routes)
    assert eth1 == start.link("eth1")


def test_an_earlier_deployment_is_what_a_later_one_goes_back_to() -> None:
    first = done(host(nic(), nic("eth1", addresses=(), routes=(), index=3)))
    more = CONFIG.model_copy(update={"nics": ("eth0", "eth1")})
    fallback = before(first, more)
    seen = done(first, more)
    assert seen.switch.holder("eth1") is not None
    for step in list(steps_towards(seen, fallback)):
        seen = do(seen, step)
    assert seen.switch.holder("eth1") is None
    assert seen.switch.holder("eth0") is not None
    assert plan(seen) == []


def test_an_uplink_that_is_not_wanted_any_more_gets_its_addresses_back() -> None:
    eth1 = nic("eth1", addresses=(Address(AF_INET, "198.51.100.2", 24),), routes=(), index=3)
    start = host(nic(), eth1)
    both = CONFIG.model_copy(update={"nics": ("eth0", "eth1")})
    origin = origin_layout(start, both, None)
    seen = done(done(start, both), CONFIG, origin)
    back, local = seen.link("eth1"), seen.link("br0")
    assert back is not None
    assert local is not None
    assert back.state.addresses == eth1.state.addresses
    assert set(local.state.addresses) == {FIRST, SECOND, SIX}
    assert [link.name for link in origin_layout(seen, CONFIG, origin).links] == ["eth0"]


def test_ports_of_others_keep_the_bridge() -> None:
    start = host()
    fallback = before(start)
    seen = done(start)
    (bridge,) = seen.switch.bridges
    guest = BridgePort("vnet0", ours=False)
    bridge = replace(bridge, ports=(*bridge.ports, guest))
    seen = replace(seen, switch=replace(seen.switch, bridges=(bridge,)))
    for step in list(steps_towards(seen, fallback)):
        seen = do(seen, step)
    assert [port.name for port in seen.switch.bridges[0].ports] == ["vnet0"]
    assert list(steps_towards(seen, fallback)) == []
    back = seen.link("eth0")
    assert back is not None
    assert set(back.state.addresses) == {FIRST, SECOND, SIX, LINK_LOCAL}


def test_a_bridge_of_others_is_never_touched() -> None:
    theirs = ours("br0", BridgePort("eth0", ours=False), ours=False)
    seen = host(bridges=(theirs,))
    fallback = replace(before(seen), bridge=None)
    assert list(steps_towards(seen, fallback)) == []


class TestRevert:
    def test_what_local_has_now_goes_back(self) -> None:
        """Months later: one address more, one less."""
        start = host()
        origin = origin_layout(start, CONFIG, None)
        deployed = wanted_layout(start, CONFIG)
        seen = done(start)
        vip = Address(AF_INET, "192.0.2.77", 24)
        for step in (steps.AddAddress("br0", vip), steps.RemoveAddress("br0", SECOND)):
            seen = do(seen, step)
        for step in list(steps_towards(seen, returned_layout(seen, origin, deployed))):
            seen = do(seen, step)
        back = seen.link("eth0")
        assert back is not None
        assert set(back.state.addresses) == {FIRST, SIX, LINK_LOCAL, vip}
        assert set(back.state.routes) == {DEFAULT, DEFAULT6}
        assert seen.switch.bridges == ()

    def test_what_local_has_lost_comes_from_the_journal(self) -> None:
        start = host()
        origin, deployed = origin_layout(start, CONFIG, None), wanted_layout(start, CONFIG)
        seen = do(done(start), steps.RemoveBridge("br0"))
        back = returned_layout(seen, origin, deployed).link("eth0")
        assert back is not None
        assert {FIRST, SECOND, SIX} <= set(back.addresses)


class TestResume:
    def test_a_lost_local_port_gets_everything_again(self) -> None:
        start = host()
        origin, deployed = origin_layout(start, CONFIG, None), wanted_layout(start, CONFIG)
        seen = do(done(start), steps.RemoveBridge("br0"))
        goal = resumed_layout(seen, CONFIG, origin, deployed)
        for step in plan_apply(seen, goal, CONFIG):
            seen = do(seen, step)
        local = seen.link("br0")
        assert local is not None
        assert set(local.state.addresses) == {FIRST, SECOND, SIX}
        assert set(local.state.routes) == {DEFAULT, DEFAULT6}

    def test_what_the_system_set_up_at_boot_moves_again(self) -> None:
        """The bridge is remembered by Open vSwitch, the addresses are on the NIC again."""
        bridge = ours("br0", BridgePort("eth0"))
        seen = host(bridges=(bridge,))
        origin, deployed = origin_layout(seen, CONFIG, None), wanted_layout(seen, CONFIG)
        goal = resumed_layout(seen, CONFIG, origin, aged(deployed, float("inf")))
        local = goal.link("br0")
        assert local is not None
        assert {FIRST, SECOND, SIX} <= set(local.addresses)

    def test_lifetimes_run_on(self) -> None:
        deployed = wanted_layout(host(), CONFIG)
        local = aged(deployed, 450).link("br0")
        assert local is not None
        (second,) = [address for address in local.addresses if address == SECOND]
        assert (second.valid, second.preferred) == (50, 0)
        local = aged(deployed, 600).link("br0")
        assert local is not None
        assert SECOND not in local.addresses
        assert DEFAULT6 not in local.routes
        assert FIRST in local.addresses


def test_gateways_of_default_routes_come_first() -> None:
    other = Route(AF_INET, "10.9.0.0/16", gateway="192.0.2.9")
    seen = host(nic(routes=(other, DEFAULT)))
    assert gateways_of(wanted_layout(seen, CONFIG)) == ("192.0.2.1", "192.0.2.9")
