"""Combination of a rule's fields: the protocols that they imply, and their OpenFlow fields.

Each field belongs to some protocols, each an Ethernet type and an IP protocol or either left open.
A frame must be of a protocol that every given field allows; when there is none, two of the fields
contradict each other.  One rule becomes one alternative for each protocol that is left (IPv4 and
IPv6, mostly) and for each block of ports.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from math import prod
from typing import Any, NamedTuple

from ofapp.bridge.params.acl import STATES, UNTRACKED
from ofapp.bridge.params.policy import AclMatch
from ofapp.config.acl_values import (
    ARP,
    ARP_OPS,
    ETH_TYPES,
    ICMP,
    ICMP_TYPES,
    ICMPV6,
    IGMP,
    IP_PROTOS,
    IPV4,
    IPV6,
    SCTP,
    TCP,
    UDP,
    mac_bits,
    network_bits,
    port_bits,
)

Vids = Callable[[int | str], int]
"""The VID of a VLAN that is given by VID or by name.  Raises KeyError."""

_ACK, _RST = 0x10, 0x04
_FRAGMENT = 1  # of Open vSwitch's ip_frag: any fragment; 2 would be all but the first
_PRESENT = 0x1000  # OFPVID_PRESENT


class Protocol(NamedTuple):
    """An Ethernet type and an IP protocol; None for any."""

    eth_type: int | None = None
    ip_proto: int | None = None

    def __str__(self) -> str:
        if self.ip_proto is not None:
            return _name_of(IP_PROTOS, self.ip_proto)
        return "any" if self.eth_type is None else _name_of(ETH_TYPES, self.eth_type)

    def meet(self, other: Protocol) -> Protocol | None:
        """Return the intersection; None if it is empty."""
        both = []
        for mine, theirs in zip(self, other, strict=True):
            if mine is not None and theirs is not None and mine != theirs:
                return None
            both.append(theirs if mine is None else mine)
        return Protocol(*both)


def _name_of(names: Mapping[str, int], number: int) -> str:
    return next((name for name, known in names.items() if known == number), str(number))


def _in_ip(proto: int | None = None) -> tuple[Protocol, ...]:
    return Protocol(IPV4, proto), Protocol(IPV6, proto)


_ANY = (Protocol(),)
_IP, _TCP, _UDP, _SCTP = _in_ip(), _in_ip(TCP), _in_ip(UDP), _in_ip(SCTP)
_ARP = (Protocol(ARP),)
_ICMP = (Protocol(IPV4, ICMP), Protocol(IPV6, ICMPV6))
_ONLY_IN = {ICMP: IPV4, IGMP: IPV4, ICMPV6: IPV6}

_OF_FIELD = {
    **dict.fromkeys(("ip_dscp", "fragment", "state"), _IP),
    **dict.fromkeys(("tcp_src", "tcp_dst", "tcp_established"), _TCP),
    **dict.fromkeys(("udp_src", "udp_dst"), _UDP),
    **dict.fromkeys(("sctp_src", "sctp_dst"), _SCTP),
    **dict.fromkeys(("arp_op", "arp_spa", "arp_tpa", "arp_sha", "arp_tha"), _ARP),
    "icmp_code": _ICMP,
}
_PORTS = ("tcp_src", "tcp_dst", "udp_src", "udp_dst", "sctp_src", "sctp_dst")
_TRANSPORT = (*_PORTS, "tcp_established", "icmp_type", "icmp_code")


def _protocols(field: str, value: Any) -> tuple[Protocol, ...]:
    """Return the protocols of frames that may have this value."""
    if field == "eth_type":
        return (Protocol(ETH_TYPES.get(value, value)),)
    if field == "ip_proto":
        proto = IP_PROTOS.get(value, value)
        return (Protocol(_ONLY_IN[proto], proto),) if proto in _ONLY_IN else _in_ip(proto)
    if field in ("ip_src", "ip_dst"):
        return (Protocol(IPV6 if ":" in value else IPV4),)
    if field == "icmp_type" and value in ICMP_TYPES:
        named = ICMP_TYPES[value]
        return tuple(of for of, number in zip(_ICMP, named, strict=True) if number is not None)
    if field == "icmp_type":
        return _ICMP
    return _OF_FIELD.get(field, _ANY)


def narrowed(given: Mapping[str, Any]) -> tuple[Protocol, ...]:
    """The protocols of frames that have all these fields; ValueError when there is none.

    The last field is the one that is blamed: those before it agree.
    """
    left: tuple[Protocol, ...] = _ANY
    last = ""
    for field, value in given.items():
        allowed = _protocols(field, value)
        both = [mine.meet(theirs) for mine in left for theirs in allowed]
        common = tuple(dict.fromkeys(one for one in both if one is not None))
        if not common:
            raise ValueError(_contradiction(field, value, given, left))
        left, last = common, field
    if last in _TRANSPORT and "fragment" in given:
        raise ValueError(f"fragments do not tell {last} here: leave out fragment or {last}")
    if last == "icmp_type" and given[last] not in ICMP_TYPES and len(left) > 1:
        raise ValueError(
            f"{given[last]} is one thing in ICMP and another in ICMPv6: take a name "
            "(echo-request, ...), or say which by ip_proto: icmp or icmpv6"
        )
    if last == "icmp_type" and "state" in given and _is_untracked(given[last], left):
        raise ValueError(
            f"{given[last]} belongs to no connection: leave out state, which never matches it"
        )
    if last == "icmp_code" and "icmp_type" not in given:
        raise ValueError("a code means nothing without icmp_type")
    return left


def _is_untracked(kind: int | str, protocols: tuple[Protocol, ...]) -> bool:
    number = ICMP_TYPES[kind].icmpv6 if isinstance(kind, str) else kind
    return number in UNTRACKED and all(protocol.eth_type == IPV6 for protocol in protocols)


def _contradiction(
    field: str, value: Any, given: Mapping[str, Any], left: tuple[Protocol, ...]
) -> str:
    allowed = _protocols(field, value)
    wanted = " or ".join(dict.fromkeys(map(str, allowed)))
    before = list(given)[: list(given).index(field)]
    for other in before:
        theirs = _protocols(other, given[other])
        if not any(mine.meet(them) for mine in allowed for them in theirs):
            is_ = " or ".join(dict.fromkeys(map(str, theirs)))
            return (
                f"{field} is of {wanted}, but {other}: {given[other]} is of {is_}, and no frame "
                "is both: remove or change one of them"
            )
    is_ = " or ".join(dict.fromkeys(map(str, left)))
    return (
        f"{field} is of {wanted}, but {', '.join(before)} together mean {is_}: remove one of them"
    )


def alternatives(given: Mapping[str, Any], vid_of: Vids) -> tuple[tuple[AclMatch, ...], ...]:
    """The fields as OpenFlow has them, with prerequisites; KeyError for an unknown VLAN's name."""
    matches = []
    for protocol in narrowed(given):
        choices = [[_prerequisites(protocol)], [_tag(given, vid_of)]]
        choices += [_choices(field, value, protocol) for field, value in given.items()]
        matches += [_match(tuple(parts)) for parts in product(*choices)]
    return tuple(matches)


def size(given: Mapping[str, Any]) -> int:
    """Count the flows that the fields need, without building them."""
    choices = [len(port_bits(given[field])) for field in _PORTS if field in given]
    choices += [len(given["state"].split(","))] if "state" in given else []
    return prod(choices) * len(narrowed(given)) * (2 if "tcp_established" in given else 1)


Part = tuple[AclMatch, ...]


def _prerequisites(protocol: Protocol) -> Part:
    fields = zip(("eth_type", "ip_proto"), protocol, strict=True)
    return tuple(AclMatch(field, value) for field, value in fields if value is not None)


def _tag(given: Mapping[str, Any], vid_of: Vids) -> Part:
    """A priority is in a tag, so the tag must be there; a VLAN alone is that of untagged, too."""
    vid = vid_of(given["vlan"]) if "vlan" in given else None
    if "vlan_pcp" not in given:
        return () if vid is None else (AclMatch("vlan_vid", vid, 0xFFF),)
    tag = (
        AclMatch("vlan_vid", _PRESENT, _PRESENT)
        if vid is None
        else AclMatch("vlan_vid", _PRESENT | vid)
    )
    return tag, AclMatch("vlan_pcp", given["vlan_pcp"])


def _match(parts: tuple[Part, ...]) -> tuple[AclMatch, ...]:
    """One alternative.

    Open vSwitch takes the ports and the ICMP type of a fragment for 0, even of the first one, which
    has them (ovs-ofctl(8), set-frags); of TCP's flags it tells what it sees.  So what would match
    ports of 0, and what matches flags, matches no fragments.
    """
    fields = [match for part in parts for match in part]
    transport = [m for m in fields if m.field.startswith(("tcp", "udp", "sctp", "icmp"))]
    if transport and not any(m.value for m in transport if m.field != "tcp_flags"):
        fields.append(AclMatch("ip_frag", 0, _FRAGMENT))
    return tuple(match for match in fields if match.mask != 0)


def _choices(field: str, value: Any, protocol: Protocol) -> list[Part]:
    """The field's value in OpenFlow: several where it takes several to say it."""
    if field in ("eth_type", "ip_proto", "vlan", "vlan_pcp"):
        return [()]  # among the prerequisites, or in the tag
    if field in _PORTS:
        return [(_masked(field, *bits, 16),) for bits in port_bits(value)]
    if field == "tcp_established":
        return [(AclMatch("tcp_flags", flag, flag),) for flag in (_ACK, _RST)]
    if field == "state":
        return [(STATES[name],) for name in value.split(",")]
    return [(_one(field, value, protocol),)]


def _one(field: str, value: Any, protocol: Protocol) -> AclMatch:
    match field:
        case "fragment":
            return AclMatch("ip_frag", _FRAGMENT, _FRAGMENT)
        case "eth_src" | "eth_dst" | "arp_sha" | "arp_tha":
            return _masked(field, *mac_bits(value), 48)
        case "ip_src" | "ip_dst":
            bits, version = (32, "ipv4") if protocol.eth_type == IPV4 else (128, "ipv6")
            return _masked(f"{version}{field[2:]}", *network_bits(value), bits)
        case "arp_spa" | "arp_tpa":
            return _masked(field, *network_bits(value), 32)
        case "arp_op":
            return AclMatch(field, ARP_OPS.get(value, value))
        case "icmp_type" | "icmp_code":
            name = "icmpv4" if protocol.eth_type == IPV4 else "icmpv6"
            if field == "icmp_type" and value in ICMP_TYPES:
                value = ICMP_TYPES[value][protocol.eth_type == IPV6]
            return AclMatch(f"{name}{field[4:]}", value)
    return AclMatch(field, value)


def _masked(field: str, value: int, mask: int, bits: int) -> AclMatch:
    return AclMatch(field, value & mask, None if mask == (1 << bits) - 1 else mask)
