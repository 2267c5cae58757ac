"""The IP addresses of hosts come from bindings where there are any, else from their frames."""

from ipaddress import ip_address

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects.content import BoundAddress
from ofapp.bridge.first_hop.binding import Origin
from ofapp.bridge.first_hop.params import PortParams as FirstHopPort
from ofapp.bridge.params.params import BridgeParams, PortParams
from ofapp.bridge.ports.port import Port
from ofapp.bridge.queries import hosts_of_ip, hosts_with_ip, ip_addresses
from tests.unit.api.network import speak

A, B = 0x020000000001, 0x020000000002
NAMES = {A: "02:00:00:00:00:01", B: "02:00:00:00:00:02"}
GUEST = PortParams(first_hop=FirstHopPort(source_guard="ip"))


def make() -> Bridge:
    bridge = Bridge(1, BridgeParams(ports={"vnet0": GUEST}))
    bridge.set_ports([Port(1, "vnet0", 1, True), Port(2, "eth0", 2, True)], 0.0)
    bridge.learning.learn([(1, 0, A), (2, 0, B)], 1.0)
    return bridge


def bind(bridge: Bridge, mac: int, address: str, bits: int = 0) -> None:
    octets = ip_address(address).packed
    bound = BoundAddress(octets, bits or 8 * len(octets))
    bridge.first_hop.add("vnet0", 0, mac, bound, Origin.API, 1.0)


def octets(address: str) -> bytes:
    return ip_address(address).packed


def test_a_binding_counts_for_more_than_what_frames_say() -> None:
    bridge = make()
    speak(bridge, 1, NAMES[A], "192.0.2.66", "fe80::1")
    assert ip_addresses(bridge, 0, A) == ["fe80::1", "192.0.2.66"]
    bind(bridge, A, "192.0.2.7")
    assert ip_addresses(bridge, 0, A) == ["192.0.2.7", "fe80::1"]  # none of IPv6 is bound
    assert hosts_of_ip(bridge, octets("192.0.2.66")) == set()
    assert hosts_of_ip(bridge, octets("192.0.2.7")) == {(0, A)}
    assert dict(hosts_with_ip(bridge)) == {(0, A): (octets("192.0.2.7"), octets("fe80::1"))}


def test_a_host_that_was_not_heard_is_found_by_its_binding_while_it_is_known() -> None:
    bridge = make()
    bind(bridge, A, "192.0.2.7")
    assert dict(hosts_with_ip(bridge)) == {(0, A): (octets("192.0.2.7"),)}
    bridge.flush(port=1)
    assert dict(hosts_with_ip(bridge)) == {}
    assert hosts_of_ip(bridge, octets("192.0.2.7")) == set()


def test_other_hosts_are_found_by_what_they_say() -> None:
    bridge = make()
    bind(bridge, A, "192.0.2.7")
    speak(bridge, 2, NAMES[B], "192.0.2.1")
    assert ip_addresses(bridge, 0, B) == ["192.0.2.1"]
    assert hosts_of_ip(bridge, octets("192.0.2.1")) == {(0, B)}
    bind(bridge, A, "2001:db8::", 56)  # a delegated prefix is no address of the host
    assert ip_addresses(bridge, 0, A) == ["192.0.2.7"]
