"""Bindings of users: what they allow on which port, and what becomes of them as ports change."""

from dataclasses import replace

import pytest

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Effect, Reprogram, StateChanged
from ofapp.bridge.effects.content import BoundHost
from ofapp.bridge.first_hop.binding import GuardedPort, Origin, UnboundHost
from ofapp.bridge.first_hop.params import MAX_SHARING
from ofapp.bridge.input_error import InputError
from ofapp.bridge.params.params import BridgeParams, PortParams
from ofapp.bridge.ports.port import LOCAL_PORT
from tests.support.dhcp_frames import dad
from tests.unit.bridge.first_hop.guarded import (
    PARAMS,
    UPLINK,
    A,
    B,
    Guarded,
    address,
    guarded_bridge,
    hosts,
    tap,
    with_guard,
)

FOUR, SIX = address("192.0.2.1"), address("2001:db8::1")
PREFIX = address("2001:db8:1::/56")


def add(bridge: Bridge, text: str, port: str = "tap11", mac: int = A, vid: int = 0) -> list[Effect]:
    return bridge.first_hop.add(port, vid, mac, address(text), Origin.API, 1.0)


def test_the_switch_gets_all_addresses_of_a_host() -> None:
    bridge = guarded_bridge()
    assert hosts(add(bridge, "192.0.2.1")) == [BoundHost(11, 0, A, (FOUR,))]
    effects = add(bridge, "2001:db8::1")
    assert hosts(effects) == [BoundHost(11, 0, A, (SIX, FOUR))]
    assert StateChanged("bindings") in effects
    assert bridge.desired().protocols["first_hop"] == (BoundHost(11, 0, A, (SIX, FOUR)),)
    effects = bridge.first_hop.remove(0, FOUR, 2.0)
    assert hosts(effects) == [BoundHost(11, 0, A, (SIX,))]
    bridge.first_hop.remove(0, SIX, 2.0)
    assert bridge.desired().protocols["first_hop"] == ()
    assert len(bridge.first_hop) == 0


def test_a_binding_is_found_by_address_prefix_and_host() -> None:
    bridge = guarded_bridge()
    add(bridge, "2001:db8:1::/56")
    add(bridge, "2001:db8:1::7", mac=B, port="tap12")
    add(bridge, "2001:db8:1::7", mac=B, port="tap12", vid=5)
    first_hop = bridge.first_hop
    whole = address("2001:db8:1::7")
    assert [(each.vid, each.mac) for each in first_hop.having(whole.octets)] == [(0, B), (5, B)]
    assert [each.mac for each in first_hop.having(address("2001:db8:1::8").octets)] == [A]
    assert not [*first_hop.having(address("2001:db8:2::8").octets)]
    assert [str(each.address) for each in first_hop.of_host(0, A)] == ["2001:db8:1::/56"]


@pytest.mark.parametrize(
    ("text", "mac", "vid", "field"),
    [
        ("224.0.0.1", A, 0, "address"),
        ("0.0.0.0", A, 0, "address"),
        ("127.0.0.1", A, 0, "address"),
        ("ff02::1", A, 0, "address"),
        ("::", A, 0, "address"),
        ("::1", A, 0, "address"),
        ("192.0.2.1", 0x01005E000001, 0, "mac"),
        ("192.0.2.1", 0, 0, "mac"),
        ("192.0.2.1", A, 4095, "vlan"),
    ],
)
def test_what_no_host_can_have_is_refused(text: str, mac: int, vid: int, field: str) -> None:
    with pytest.raises(InputError) as error:
        add(guarded_bridge(), text, mac=mac, vid=vid)
    assert error.value.field == field


def test_another_host_with_the_address_has_to_be_removed_first() -> None:
    bridge = guarded_bridge()
    add(bridge, "192.0.2.1")
    with pytest.raises(InputError, match="02:00:00:00:00:0a on port tap11"):
        add(bridge, "192.0.2.1", mac=B)
    add(bridge, "192.0.2.1", mac=B, vid=7)
    with pytest.raises(InputError, match="has no binding"):
        bridge.first_hop.remove(8, FOUR, 1.0)


def test_a_port_that_returns_has_its_bindings_again() -> None:
    bridge = guarded_bridge()
    add(bridge, "192.0.2.1")
    assert hosts(bridge.remove_port(11, 2.0)) == [BoundHost(11, 0, A, ())]
    assert bridge.desired().protocols["first_hop"] == ()
    again = replace(tap(11), number=15)
    assert hosts(bridge.put_port(again, 3.0)) == [BoundHost(15, 0, A, (FOUR,))]
    renamed = replace(again, name="tap99")
    assert hosts(bridge.put_port(renamed, 4.0)) == [BoundHost(15, 0, A, (FOUR,))]
    assert [each.port for each in bridge.first_hop.bindings()] == ["tap99"]


def test_a_port_that_is_not_guarded_has_no_flows_and_loses_nothing() -> None:
    bridge = guarded_bridge()
    add(bridge, "192.0.2.1")
    assert Reprogram() in bridge.set_params(BridgeParams(), 2.0)
    assert bridge.desired().protocols["first_hop"] == ()
    assert hosts(add(bridge, "192.0.2.2")) == []
    bridge.set_params(PARAMS, 3.0)
    both = (FOUR, address("192.0.2.2"))
    assert bridge.desired().protocols["first_hop"] == (BoundHost(11, 0, A, both),)


def test_what_is_checked_of_each_port() -> None:
    bridge = guarded_bridge()
    prober = 0x0E0000000001
    guest = GuardedPort("ip", True, True, dhcp_server=False, router=False, prober=prober)
    trusted = GuardedPort(watched=True, prober=prober)
    assert bridge.desired_port(11).wanted("first_hop") == guest
    assert bridge.desired_port(UPLINK).wanted("first_hop") == trusted
    assert bridge.desired_port(LOCAL_PORT).wanted("first_hop") == trusted
    assert hash(guest) == hash(bridge.desired_port(12).wanted("first_hop"))
    hold = replace(PARAMS, first_hop=replace(PARAMS.first_hop, when_away="hold"))
    bridge.set_params(hold, 1.0)
    assert bridge.desired_port(11).wanted("first_hop") == replace(guest, pass_when_away=False)
    learn = replace(PARAMS.ports["tap*"], trust="learn")
    bridge.set_params(replace(PARAMS, ports={"tap*": learn}), 2.0)
    assert bridge.desired_port(11).wanted("first_hop") == replace(guest, report_only=True)


def test_without_it_nothing_is_wanted() -> None:
    bridge = guarded_bridge(BridgeParams(ports={"tap*": PortParams()}))
    assert all(port.wanted("first_hop") is None for port in bridge.desired().ports)
    assert bridge.next_wakeup() is None


def test_a_dry_run_lists_the_hosts_that_would_be_cut_off() -> None:
    bridge = guarded_bridge(BridgeParams())
    bridge.learning.learn([(11, 0, A), (12, 0, B), (UPLINK, 0, 0x02000000000F)], 1.0)
    add(bridge, "192.0.2.1")
    assert bridge.first_hop.would_refuse(PARAMS) == [UnboundHost("tap12", 0, B)]
    assert bridge.first_hop.would_refuse(with_guard(PARAMS, source_guard="off")) == []
    learn = replace(PARAMS.ports["tap*"], trust="learn")
    assert bridge.first_hop.would_refuse(replace(PARAMS, ports={"tap*": learn})) == []
    bridge.set_params(PARAMS, 2.0)
    assert bridge.first_hop.would_refuse(PARAMS) == []


# Addresses that several hosts share


VIRTUAL = 0x00005E000107
"""The MAC address of a virtual router (RFC 5798 7.3)."""


def share(bridge: Bridge, port: str, mac: int, text: str = "192.0.2.1") -> list[Effect]:
    return bridge.first_hop.add(port, 0, mac, address(text), Origin.API, 1.0, shared=True)


def sharers(bridge: Bridge, text: str = "192.0.2.1") -> list[tuple[str, int]]:
    found = bridge.first_hop.having(address(text).octets)
    return sorted((each.port, each.mac) for each in found)


@pytest.mark.parametrize("macs", [(A, B), (VIRTUAL, VIRTUAL)])
def test_hosts_that_share_an_address_all_may_use_it(macs: tuple[int, int]) -> None:
    bridge = guarded_bridge()
    assert hosts(share(bridge, "tap11", macs[0])) == [
        BoundHost(11, 0, macs[0], (FOUR,), frozenset({FOUR}))
    ]
    assert hosts(share(bridge, "tap12", macs[1])) == [
        BoundHost(12, 0, macs[1], (FOUR,), frozenset({FOUR}))
    ]
    both = [("tap11", macs[0]), ("tap12", macs[1])]
    assert sharers(bridge) == both
    assert {host.port for host in bridge.desired().protocols["first_hop"]} == {11, 12}
    effects = bridge.first_hop.remove(0, FOUR, 2.0, [both[0]])
    assert hosts(effects) == [BoundHost(11, 0, macs[0], ())]
    assert sharers(bridge) == both[1:]
    share(bridge, "tap11", macs[0])
    effects = bridge.first_hop.remove(0, FOUR, 3.0)
    assert {host.port for host in hosts(effects)} == {11, 12}
    assert len(bridge.first_hop) == 0


def test_an_address_is_shared_only_if_all_of_its_hosts_share_it() -> None:
    bridge = guarded_bridge()
    add(bridge, "192.0.2.1")
    with pytest.raises(InputError, match=r"bound to 02:00:00:00:00:0a on port tap11.*shared"):
        share(bridge, "tap12", B)
    share(bridge, "tap11", A)
    share(bridge, "tap12", B)
    with pytest.raises(InputError, match="remove that first"):
        add(bridge, "192.0.2.1", "tap13", mac=0x02000000000C)
    with pytest.raises(InputError, match="remove that first"):
        add(bridge, "192.0.2.1", "tap12", mac=B)
    assert sharers(bridge) == [("tap11", A), ("tap12", B)]


def test_the_hosts_that_share_an_address_are_limited() -> None:
    bridge = guarded_bridge()
    for number in range(MAX_SHARING):
        share(bridge, "tap11", A + 0x100 + number)
    with pytest.raises(InputError, match=f"has {MAX_SHARING} hosts"):
        share(bridge, "tap12", A)
    share(bridge, "tap11", A + 0x100)
    assert len(bridge.first_hop) == MAX_SHARING


def test_a_lease_of_a_shared_address_is_refused_to_other_hosts() -> None:
    guarded = Guarded(guarded_bridge())
    share(guarded.bridge, "tap11", A)
    share(guarded.bridge, "tap12", B)
    assert guarded.lease(11, A, "192.0.2.1")
    assert not guarded.lease(13, 0x02000000000C, "192.0.2.1")
    assert sharers(guarded.bridge) == [("tap11", A), ("tap12", B)]


@pytest.mark.parametrize("virtual", [False, True])
def test_duplicate_address_detection_of_hosts_that_share_an_address(virtual: bool) -> None:
    """Each passes, by the MAC address of the virtual router as well; a third host is refused."""
    guarded = Guarded(guarded_bridge())
    macs = (VIRTUAL, VIRTUAL) if virtual else (A, B)
    for port, mac in zip((11, 12), macs, strict=True):
        share(guarded.bridge, f"tap{port}", mac, "fe80::9")
    for port, mac in (*zip((11, 12), macs, strict=True), (11, macs[0])):
        assert guarded.hear("nd", port, dad(mac, "fe80::9").frame), port
    for mac in (0x02000000000C, macs[0]):
        assert not guarded.hear("nd", 13, dad(mac, "fe80::9").frame)
    (first, *_) = guarded.first_hop.refused()
    assert first.port == "tap13"


def test_a_shared_binding_follows_its_port_to_another_name() -> None:
    bridge = guarded_bridge()
    share(bridge, "tap11", A)
    share(bridge, "tap12", B)
    bridge.put_port(replace(tap(11), name="tap99"), 2.0)
    assert set(sharers(bridge)) == {("tap99", A), ("tap12", B)}
    assert len(bridge.first_hop) == 2
