"""Why a host has no network: the sentence for each reason, and that nothing is said of others."""

from collections.abc import Iterable
from dataclasses import replace
from ipaddress import ip_address
from typing import Any

import pytest

from ofapp.bridge import stp
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.diagnosis import AclDrops, Reason, diagnose, subjects
from ofapp.bridge.effects.content import BoundAddress
from ofapp.bridge.first_hop.binding import Binding, DhcpRequest, FullLimit, Origin, Refused
from ofapp.bridge.first_hop.params import PortParams as FirstHopPort
from ofapp.bridge.first_hop.refused.reasons import REASONS
from ofapp.bridge.params.params import BridgeParams, PortParams
from ofapp.bridge.params.policy import MoveLimit, Policies, PortPolicy
from ofapp.bridge.port_access.answer import Answer
from ofapp.bridge.port_access.params import BridgeParams as AccessParams
from ofapp.bridge.port_access.params import PortParams as AccessPort
from ofapp.bridge.ports.port import Port
from ofapp.bridge.ports.vlan import access
from ofapp.bridge.stp import Guard

A, B = 0x020000000001, 0x020000000002
NAME_A = "02:00:00:00:00:01"
NOW = 1000.0
GUARDED = FirstHopPort(source_guard="ip", arp_inspection=True, dhcp_server=False)


def make(*, down: Iterable[int] = (), **params: Any) -> Bridge:
    """Ports vnet0, vnet1 and eth0; host A was seen on vnet0."""
    bridge = Bridge(1, BridgeParams(**params))
    names = ("vnet0", "vnet1", "eth0")
    ports = [Port(n, name, n, n not in down) for n, name in enumerate(names, 1)]
    bridge.set_ports(ports, 0.0)
    if 1 not in down:
        bridge.learning.learn([(1, bridge.port_policies.vlans(1).pvid, A)], 1.0)
    return bridge


def port(**own: Any) -> dict[str, PortParams]:
    return {"vnet0": PortParams(**own)}


def why(bridge: Bridge, host: str = "vnet0", drops: dict[str, AclDrops] | None = None) -> Reason:
    (subject,) = subjects(bridge, host)
    reason = diagnose(bridge, subject, drops or {}, NOW)
    assert reason is not None
    return reason


def fine(bridge: Bridge, host: str) -> bool:
    return all(diagnose(bridge, subject, {}, NOW) is None for subject in subjects(bridge, host))


def test_nothing_hinders_a_host_that_was_learned() -> None:
    bridge = make()
    assert [subject.mac for subject in subjects(bridge, "vnet0")] == [A]
    assert fine(bridge, "vnet0")
    assert fine(bridge, NAME_A)


def test_a_host_is_known_by_port_address_and_ip_address_and_others_are_not() -> None:
    bridge = make()
    bridge.ip_addresses.hear([(1, bytes(6) + A.to_bytes(6, "big") + arp("192.0.2.7"))])
    (one,) = subjects(bridge, "vnet0")
    assert subjects(bridge, NAME_A) == [one]
    assert subjects(bridge, "192.0.2.7") == [replace(one, address=b"\xc0\x00\x02\x07")]
    for text in ("vnet9", "02:00:00:00:00:99", "192.0.2.8", "2001:db8::1", "", "[31m"):
        assert subjects(bridge, text) == []


def arp(address: str) -> bytes:
    head = b"\x08\x06" + b"\x00\x01\x08\x00\x06\x04\x00\x01" + A.to_bytes(6, "big")
    return head + ip_address(address).packed + bytes(10)


def test_a_port_that_is_down() -> None:
    assert why(make(down=[1])).problem.startswith("port vnet0 has no link")


def test_a_port_that_is_shut_down() -> None:
    reason = why(make(ports=port(policy=PortPolicy(shutdown=True))))
    assert "vnet0 is shut down" in reason.problem
    assert reason.fix == f"ofapp port set {'0' * 15}1 vnet0 shutdown=false"


def test_a_monitor_port() -> None:
    assert "monitor port" in why(make(ports=port(policy=PortPolicy(monitor=True)))).problem


def test_spanning_tree_that_has_not_opened_the_port_yet() -> None:
    reason = why(make(stp=stp.BridgeParams()))
    assert reason.problem.startswith("spanning tree has port vnet0 discarding (")


def test_each_guard_has_its_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    bridge = make()
    for guard in Guard:
        monkeypatch.setattr(bridge.stp, "guarded", lambda guard=guard: {1: (guard,)})
        reason = why(bridge)
        assert "vnet0" in reason.problem
        assert "ofapp stp recover" in reason.fix


def test_a_port_whose_vlan_no_other_port_is_in() -> None:
    bridge = make(ports=port(vlans=access(20)))  # the other ports pass all tags
    assert why(bridge).problem == (
        f"no other port in VLAN 20 forwards, so {NAME_A} on port vnet0 reaches nothing"
    )
    bridge.learning.learn([(3, 20, B)], 2.0)
    assert fine(bridge, "vnet0")
    assert fine(make(ports={"vnet?": PortParams(vlans=access(20))}), "vnet0")


def test_a_host_alone_on_its_bridge() -> None:
    assert "no other port forwards" in why(make(down=[2, 3])).problem


def test_an_address_that_is_held_down_elsewhere() -> None:
    bridge = make(policies=Policies(mac_move=MoveLimit(1, 10.0, 30.0)))
    for number, instant in ((2, 990.0), (1, 991.0), (2, 992.0)):
        bridge.learning.learn([(number, 0, A)], instant)
    first, second = subjects(bridge, NAME_A)
    reasons = [diagnose(bridge, subject, {}, NOW) for subject in (first, second)]
    (reason,) = filter(None, reasons)
    assert "is held down on port vnet0 as it moved too often" in reason.problem
    assert "on port vnet1 are dropped for " in reason.problem
    assert "fdb release" in reason.fix


def test_a_locked_port() -> None:
    assert "vnet0 is locked" in why(make(ports=port(policy=PortPolicy(locked=True)))).problem


def test_a_limit_of_learned_addresses() -> None:
    bridge = make(ports=port(fdb_max_learned=1, policy=PortPolicy(over_limit="drop")))
    bridge.learning.learn([(1, 0, B)], 2.0)
    refuse(bridge, mac=B)
    (subject,) = subjects(bridge, "02:00:00:00:00:02")
    reason = diagnose(bridge, subject, {}, NOW)
    assert reason is not None
    assert "port vnet0 has its limit of 1 learned addresses" in reason.problem


def test_an_access_list_that_drops() -> None:
    bridge = make(ports=port(policy=PortPolicy(acl="guests")))
    assert fine(bridge, "vnet0")
    reason = why(bridge, drops={"guests": AclDrops(12, "rest"), "other": AclDrops(3, "x")})
    assert "access list guests of port vnet0 has dropped 12 frames" in reason.problem
    assert "rule rest" in reason.problem


def test_a_port_that_no_host_was_heard_on() -> None:
    assert "no host behind it has sent a frame" in why(make(), "vnet1").problem


# First-hop security


def guarded(**more: Any) -> Bridge:
    return make(ports=port(first_hop=GUARDED), **more)


def refuse(bridge: Bridge, mac: int = A, claim: str = "source", **more: Any) -> None:
    values: dict[str, Any] = {
        **{"port": "vnet0", "vid": 0, "mac": mac, "claim": claim, "address": None},
        **{"contradicts": None, "samples": 3, "first": 900.0, "last": 995.0, "passed": False},
    }
    answers(bridge, refused=[Refused(**values | more)])


def answers(bridge: Bridge, **values: Any) -> None:
    """Have the bridge's first-hop security answer these queries so."""
    for name, value in values.items():
        setattr(bridge.first_hop, name, lambda *_, value=value: value)


def bound(
    mac: int = A, where: str = "vnet0", expires: float | None = None, vid: int = 0
) -> Binding:
    address = BoundAddress(ip_address("192.0.2.7").packed, 32)
    return Binding(where, vid, mac, address, Origin.DHCP, expires)


def bind(bridge: Bridge, *bindings: Binding) -> None:
    answers(bridge, bindings=bindings)
    bridge.first_hop.of_host = lambda vid, mac: [  # type: ignore[method-assign]
        each for each in bindings if (each.vid, each.mac) == (vid, mac)
    ]


def test_a_host_without_a_binding_that_has_not_asked_for_a_lease() -> None:
    bridge = guarded()
    reason = why(bridge)
    assert reason.problem == (
        f"{NAME_A} on port vnet0 has no binding, and no DHCP request of it was seen, so its frames"
        " are refused"
    )
    assert "ofapp binding add" in reason.fix
    bind(bridge, bound())
    assert fine(bridge, "vnet0")


def test_a_request_that_no_server_has_answered() -> None:
    bridge = guarded()
    answers(bridge, unanswered=[DhcpRequest("vnet0", 0, A, "discover", 4, 980.0, 997.0)])
    assert why(bridge).problem == (
        f"{NAME_A} has asked for a lease by DHCP 4 times (the last, discover, 3 s ago), and no"
        " server has answered; servers may answer on ports eth0 and vnet1"
    )


def test_a_request_where_no_port_may_have_a_server() -> None:
    bridge = make(ports={"*": PortParams(first_hop=GUARDED)})
    answers(bridge, unanswered=[DhcpRequest("vnet0", 0, A, "discover", 1, 997.0, 997.0)])
    assert "no port may have a DHCP server" in why(bridge).problem


def test_a_lease_that_has_ended() -> None:
    bridge = guarded()
    answers(bridge, ended=[bound(expires=700.0)])
    assert why(bridge).problem == (
        f"the DHCP binding of {NAME_A} to 192.0.2.7 ended 5 min ago and was not renewed"
    )


def test_an_address_that_is_bound_to_another_host() -> None:
    bridge = guarded()
    address = ip_address("192.0.2.7").packed
    refuse(bridge, address=address, contradicts=bound(B, "vnet1"))
    expected = (
        f"frames of {NAME_A} from 192.0.2.7 are refused on port vnet0 (3 samples, the last 5 s"
        " ago): 192.0.2.7 is bound to 02:00:00:00:00:02 on port vnet1 (DHCP)"
    )
    assert why(bridge).problem == expected
    assert why(bridge, "192.0.2.7").problem == expected
    assert why(bridge, NAME_A).problem == expected


@pytest.mark.parametrize("claim", ["source", "arp", "nd", "fragment", "nested"])
def test_each_refused_claim_has_its_sentence(claim: str) -> None:
    bridge = guarded()
    refuse(bridge, claim=claim)
    assert NAME_A in why(bridge).problem
    assert "refused on port vnet0" in why(bridge).problem


@pytest.mark.parametrize("guard", [GUARDED, FirstHopPort()])
def test_an_ethertype_that_the_port_does_not_admit(guard: FirstHopPort) -> None:
    """Until the port admits it: by the command that is printed."""
    bridge = make(ports=port(first_hop=replace(guard, ethertypes="ip")))
    bind(bridge, bound())
    refuse(bridge, claim="ethertype", ethertype=0x8864)
    assert why(bridge).problem == (
        f"frames of {NAME_A} with EtherType pppoe-session are refused on port vnet0 (3 samples, the"
        " last 5 s ago): the port does not admit them"
    )
    fix = why(bridge).fix
    assert fix.endswith(
        ": ofapp first-hop set-port 0000000000000001 vnet0 --ethertypes ip,pppoe-session"
    )
    admits = replace(guard, ethertypes=fix.split()[-1])
    bridge.set_params(BridgeParams(ports=port(first_hop=admits)), NOW)
    assert fine(bridge, NAME_A)


@pytest.mark.parametrize("reason", REASONS)
def test_the_reason_of_the_controller_is_told(reason: str) -> None:
    bridge = guarded()
    refuse(bridge, claim="nd", address=ip_address("fd00::7").packed, reason=reason)
    assert why(bridge, "fd00::7").problem.endswith(REASONS[reason])
    assert why(bridge, "fd00::7").fix


def test_a_refusal_is_over_once_the_address_is_bound() -> None:
    bridge = guarded()
    refuse(bridge, claim="arp", address=ip_address("192.0.2.7").packed)
    assert "192.0.2.7 has no binding there" in why(bridge).problem
    bind(bridge, bound())
    assert fine(bridge, NAME_A)


def test_an_old_refusal_does_not_explain_the_trouble_of_a_host_with_a_binding() -> None:
    bridge = guarded()
    bind(bridge, bound())
    refuse(bridge, address=ip_address("192.0.2.9").packed, last=100.0)
    assert fine(bridge, NAME_A)
    refuse(bridge, address=ip_address("192.0.2.9").packed)
    assert "192.0.2.9 has no binding there" in why(bridge).problem


def test_refusals_that_do_not_cut_a_host_off_are_no_reason() -> None:
    bridge = guarded()
    bind(bridge, bound())
    for claim in ("dhcp-server", "router", "redirect"):
        refuse(bridge, claim=claim)
        assert fine(bridge, NAME_A)
    refuse(bridge, passed=True)  # the port only reports
    assert fine(bridge, NAME_A)


def test_a_limit_of_bindings() -> None:
    bridge = guarded()
    answers(bridge, full=[FullLimit("port vnet0", 8, 0)])
    bind(bridge, bound())
    assert fine(bridge, NAME_A)
    answers(bridge, full=[FullLimit("port vnet0", 8, 2)])
    assert "port vnet0 has its limit of 8 bindings" in why(bridge).problem


def test_a_host_whose_bindings_are_on_another_port() -> None:
    bridge = guarded()
    bind(bridge, bound(where="vnet1"))
    reason = why(bridge)
    assert f"{NAME_A} is bound to port vnet1" in reason.problem
    assert "ofapp binding remove" in reason.fix
    assert "192.0.2.7" in reason.fix


def test_a_host_that_sends_in_another_vlan_than_that_of_its_binding() -> None:
    bridge = guarded()
    bind(bridge, bound(vid=20))
    assert f"{NAME_A} is bound in VLAN 20 and sends in no VLAN" in why(bridge).problem


def test_a_bound_host_whose_port_is_gone() -> None:
    bridge = guarded()
    bind(bridge, bound(B, "vnet7"))
    reason = why(bridge, "02:00:00:00:00:02")
    assert reason.problem == "port vnet7 is not on the bridge"
    assert why(bridge, "vnet7") == reason


def test_a_port_with_many_hosts_is_answered_alone() -> None:
    bridge = make()
    bridge.learning.learn([(3, 0, B + n) for n in range(100)], 2.0)
    assert [subject.mac for subject in subjects(bridge, "eth0")] == [None]
    assert fine(bridge, "eth0")


def controlled(authentication: str = "mab") -> Bridge:
    """Port vnet0 is controlled, and no host was heard."""
    return make(
        down=[1],
        port_access=AccessParams(servers="192.0.2.1"),
        ports=port(port_access=AccessPort(authentication)),  # type: ignore[arg-type]
    )


def test_a_host_that_a_radius_server_has_refused() -> None:
    bridge = controlled()
    bridge.put_port(Port(1, "vnet0", 1, True), 1.0)
    head = b"\xff" * 6 + A.to_bytes(6, "big") + b"\x08\x00"
    bridge.hear("first_frame", [(1, head)], 2.0)
    assert why(bridge).problem == f"{NAME_A} waits for a RADIUS server"
    number = bridge.port_access.dump()["number"]
    bridge.port_access.answer(number, Answer("reject", message="account expired"), 3.0)
    wanted = f"RADIUS refused {NAME_A}: 'account expired'"
    assert why(bridge, NAME_A).problem == why(bridge).problem == wanted
    assert f"ofapp auth clear {bridge.name} vnet0" in why(bridge).fix


def test_a_controlled_port_where_no_host_has_begun() -> None:
    bridge = controlled("dot1x")
    bridge.put_port(Port(1, "vnet0", 1, True), 1.0)
    assert why(bridge).problem.startswith("port vnet0 admits no host that is not authenticated")
    bridge.hear("first_frame", [(1, b"\xff" * 6 + A.to_bytes(6, "big") + b"\x08\x00")], 2.0)
    assert why(bridge).problem == f"{NAME_A} has not answered 802.1X yet"
    assert why(bridge).fix.startswith("start a supplicant on it, then let it try again: ofapp au")
