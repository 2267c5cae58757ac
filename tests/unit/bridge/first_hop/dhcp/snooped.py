"""DHCP snooping as the tests use it: a port, a host behind it, and what a frame says."""

from ipaddress import ip_address

from ofapp.bridge.effects.content import BoundAddress
from ofapp.bridge.first_hop.dhcp.snooping import DhcpSnooping
from ofapp.bridge.first_hop.dhcp.verdict import Cause, Leased, Verdict
from ofapp.bridge.ports.port import Port

GUEST, OTHER = Port(3, "vnet3", 0x0200_0000_0003, True), Port(4, "vnet4", 0x0200_0000_0004, True)
HOST, OTHER_HOST = 0x5254_0000_0007, 0x5254_0000_0008
BRIDGE = "00000000000000aa"


def snooping(mode: str = "remove") -> DhcpSnooping:
    return DhcpSnooping(BRIDGE, mode)


def bound(text: str) -> BoundAddress:
    address, _, bits = text.partition("/")
    octets = ip_address(address).packed
    return BoundAddress(octets, int(bits) if bits else 8 * len(octets))


def leases(verdict: Verdict) -> list[tuple[int | None, int, BoundAddress, float | None]]:
    return [
        (fact.port, fact.mac, fact.address, fact.lifetime)
        for fact in verdict.facts
        if isinstance(fact, Leased)
    ]


def ends(verdict: Verdict) -> list[tuple[int | None, int, BoundAddress, Cause]]:
    return [
        (fact.port, fact.mac, fact.address, fact.cause)
        for fact in verdict.facts
        if not isinstance(fact, Leased)
    ]


def dropped(verdict: Verdict, dhcp: DhcpSnooping) -> str:
    """The reason why a frame is dropped, which is counted."""
    assert verdict.frame is None
    assert verdict.facts == ()
    assert dhcp.counters[verdict.reason] == 1
    return verdict.reason
