"""The kinds of requests that a switch answers for bound hosts, and what makes a request its answer.

An advertisement is solicited and does not override, as a proxy's (RFC 4861 7.2.8): it makes a new
entry in the neighbour cache of a host, and never changes one.  The flag of routers is not set, so
hosts of ports where a router may be are not answered for.  The kernel's datapath cannot set these
flags, nor the type of the option: Open vSwitch refuses the flow there [measured with 3.1].
"""

from collections.abc import Iterator
from dataclasses import dataclass

from ofapp.bridge.relay.policies import PortPolicies
from ofapp.openflow.model.flow import (
    ARP,
    IPV6,
    TO_ALL,
    TO_SOLICITED_NODE,
    Action,
    Bits,
    CopyField,
    Match,
    MoveBits,
    SetBits,
)
from ofapp.openflow.model.rule import Register, TableId

_UPPER_BITS, _LOWER_BITS = Bits("reg12", 0, 16), Bits("reg13", 0, 32)
_SOLICITED = 0x4000_0000
"""The flags of an advertisement: R, S and O are its highest bits (RFC 4861 4.4)."""


def from_registers(field: str) -> tuple[Action, ...]:
    """Copy the MAC address of the holder to a field."""
    return (
        MoveBits(_UPPER_BITS, Bits(field, 32, 16)),
        MoveBits(_LOWER_BITS, Bits(field, 0, 32)),
    )


def whole_field(source: str, to: str, size: int) -> Action:
    """Copy all bits of a field to another one; size: how many."""
    return MoveBits(Bits(source, 0, size), Bits(to, 0, size))


@dataclass(frozen=True, slots=True)
class NeighbourRequest:
    """A kind of request, and its answer.

    match: what all requests match; to, valid: and what is required of those that are looked up.
    target, sender: the fields of the two IP addresses, of so many octets.
    onward: matches of requests that are never answered.
    place: table and priority of the answers; answer: the actions that make a request into it.
    """

    match: tuple[Match, ...]
    to: Match
    valid: tuple[Match, ...]
    target: str
    sender: str
    octets: int
    onward: tuple[tuple[Match, ...], ...]
    place: tuple[TableId, int]
    answer: tuple[Action, ...]


ARP_REQUEST = NeighbourRequest(
    (Match("eth_type", ARP), Match("arp_op", 1)),
    TO_ALL,
    (),
    "arp_tpa",
    "arp_spa",
    4,
    ((Match("arp_spa", 0),),),
    (TableId.VOUCH, 100),
    (
        SetBits(Bits("arp_op", 0, 16), 2),
        whole_field("arp_sha", "arp_tha", 48),
        *from_registers("arp_sha"),
        CopyField("arp_tpa", Register.IPV4),
        whole_field("arp_spa", "arp_tpa", 32),
        whole_field("reg11", "arp_spa", 32),
    ),
)
ADVERTISEMENT = (Match("eth_type", IPV6), Match("ip_proto", 58), Match("icmpv6_type", 136))
SOLICITATION = NeighbourRequest(
    (*ADVERTISEMENT[:2], Match("icmpv6_type", 135)),
    TO_SOLICITED_NODE,
    (Match("nw_ttl", 255),),
    "ipv6_nd_target",
    "ipv6_src",
    16,
    ((Match("ipv6_src", 0),), (Match("ipv6_nd_sll", 0),)),
    (TableId.VOUCH, 110),
    (
        # The option is the source's until the frame is written, by Open vSwitch in any order.
        *from_registers("ipv6_nd_sll"),
        whole_field("ipv6_src", "ipv6_dst", 128),
        whole_field("ipv6_nd_target", "ipv6_src", 128),
        SetBits(Bits("nd_reserved", 0, 32), _SOLICITED),
        SetBits(Bits("nd_options_type", 0, 8), 2),
        SetBits(Bits("icmpv6_type", 0, 8), 136),
    ),
)


def suppressed(policies: PortPolicies) -> Iterator[tuple[NeighbourRequest, frozenset[int]]]:
    """The kinds of requests that the switch answers in some VLAN, and the VLANs."""
    for request, vids in (
        (ARP_REQUEST, policies.arp_suppressed),
        (SOLICITATION, policies.nd_suppressed),
    ):
        if vids:
            yield request, vids
