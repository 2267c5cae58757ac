"""A bridge with guest ports, for tests of first-hop security."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address, ip_network

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Effect, SetBoundHost
from ofapp.bridge.first_hop.binding import BoundAddress, BoundHost
from ofapp.bridge.first_hop.params import PortParams as Guard
from ofapp.bridge.params.params import BridgeParams, PortParams
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.state import SharedState

GUEST = Guard("ip", arp_inspection=True, nd_inspection=True, dhcp_server=False, router=False)
PARAMS = BridgeParams(ports={"tap*": PortParams(first_hop=GUEST)})
UPLINK = 1
A, B, C = 0x02000000000A, 0x02000000000B, 0x02000000000C


def address(text: str) -> BoundAddress:
    """An address or a prefix."""
    if "/" in text:
        network = ip_network(text)
        return BoundAddress(network.network_address.packed, network.prefixlen)
    octets = ip_address(text).packed
    return BoundAddress(octets, 8 * len(octets))


def tap(number: int, up: bool = True) -> Port:
    """A guest's port; numbers from 11 on."""
    return Port(number, f"tap{number}", 0x020000000100 + number, up, 1000)


def uplink() -> Port:
    """The port of routers and DHCP servers."""
    return Port(UPLINK, "eth0", 0x020000000101, True, 1000)


def guarded_bridge(
    params: BridgeParams = PARAMS, taps: int = 3, shared: SharedState | None = None, number: int = 1
) -> Bridge:
    """A bridge with an uplink and guest ports 11, 12 and so on, whose switch is connected."""
    bridge = Bridge(number, params, shared)
    local = Port(LOCAL_PORT, f"br{number}", 0x020000000001 + (number << 8), True)
    bridge.set_ports([local, uplink(), *(tap(11 + each) for each in range(taps))], 0.0)
    return bridge


def with_guard(params: BridgeParams, **values: object) -> BridgeParams:
    """The same with other parameters of guest ports."""
    port = PortParams(first_hop=replace(GUEST, **values))  # type: ignore[arg-type]
    return replace(params, ports={"tap*": port})


def hosts(effects: list[Effect]) -> list[BoundHost]:
    """The hosts that are set in the switch."""
    return [effect.host for effect in effects if isinstance(effect, SetBoundHost)]
