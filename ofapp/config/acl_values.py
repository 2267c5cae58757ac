"""Values in access lists as people write them, and as (value, mask) pairs.

Names of protocols and of ICMP messages are written down here and not looked up on the machine, so
that a file means the same everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

from ofapp.bridge.mac import format_mac, parse_mac
from ofapp.bridge.params.acl import STATES, aligned

IPV4, IPV6, ARP = 0x0800, 0x86DD, 0x0806
ICMP, IGMP, TCP, UDP, ICMPV6, SCTP = 1, 2, 6, 17, 58, 132

ETH_TYPES = {
    "ipv4": IPV4,
    "ipv6": IPV6,
    "arp": ARP,
    "rarp": 0x8035,
    "wake-on-lan": 0x0842,
    "mpls": 0x8847,
    "pppoe-discovery": 0x8863,
    "pppoe-session": 0x8864,
    "eapol": 0x888E,
    "lldp": 0x88CC,
    "ptp": 0x88F7,
    "llc": 0x05FF,
}
"""llc: frames with a length instead of a type, which is how OpenFlow writes them."""

IP_PROTOS = {
    "icmp": ICMP,
    "igmp": IGMP,
    "tcp": TCP,
    "udp": UDP,
    "gre": 47,
    "esp": 50,
    "ah": 51,
    "icmpv6": ICMPV6,
    "ospf": 89,
    "pim": 103,
    "vrrp": 112,
    "sctp": SCTP,
}

ARP_OPS = {"request": 1, "reply": 2}


class IcmpType(NamedTuple):
    """The number of a message in each ICMP; None where it has none."""

    icmp: int | None
    icmpv6: int | None


ICMP_TYPES = {
    "echo-request": IcmpType(8, 128),
    "echo-reply": IcmpType(0, 129),
    "destination-unreachable": IcmpType(3, 1),
    "packet-too-big": IcmpType(None, 2),
    "time-exceeded": IcmpType(11, 3),
    "parameter-problem": IcmpType(12, 4),
    "redirect": IcmpType(5, 137),
    "router-advertisement": IcmpType(9, 134),
    "router-solicitation": IcmpType(10, 133),
    "neighbor-solicitation": IcmpType(None, 135),
    "neighbor-advertisement": IcmpType(None, 136),
    "multicast-listener-query": IcmpType(None, 130),
    "multicast-listener-report": IcmpType(None, 131),
    "multicast-listener-done": IcmpType(None, 132),
    "multicast-listener-report-v2": IcmpType(None, 143),
}

_RANGE = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")
_NUMBER = re.compile(r"0x[0-9a-fA-F]{1,4}|0|[1-9][0-9]{0,5}")
_MAC = "([0-9a-fA-F]{1,2}:){5}[0-9a-fA-F]{1,2}"


def _named(value: Any, names: Mapping[str, object], low: int, high: int, what: str) -> Any:
    """A name of the table or a number; names and numbers are both taken as text, too."""
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = int(value, 0)
    if isinstance(value, str) and value.lower() in names:
        return value.lower()
    if type(value) is int and (low <= value <= high or value in names.values()):
        return next((name for name, number in names.items() if number == value), value)
    raise ValueError(f"{value!r} is not {what}: {', '.join(names)}, or {low} to {high}")


def _one_of(names: Mapping[str, object], low: int, high: int, what: str) -> Any:
    schema = {
        "anyOf": [
            {"type": "string", "enum": list(names)},
            {"type": "integer", "minimum": low, "maximum": high},
        ]
    }
    return (
        BeforeValidator(lambda value: _named(value, names, low, high, what)),
        WithJsonSchema(schema),
    )


EthType = Annotated[int | str, *_one_of(ETH_TYPES, 0x0600, 0xFFFF, "an Ethernet type")]
IpProto = Annotated[int | str, *_one_of(IP_PROTOS, 0, 255, "an IP protocol")]
IcmpName = Annotated[int | str, *_one_of(ICMP_TYPES, 0, 255, "an ICMP type")]
ArpOp = Annotated[int | str, *_one_of(ARP_OPS, 0, 0xFFFF, "an ARP operation")]


def _states(value: Any) -> str:
    """Canonical: "established,related", in the order of `STATES`, each once."""
    items = value if isinstance(value, list | tuple) else [value]
    parts = [part.strip() for item in items for part in str(item).split(",")]
    for part in parts or [""]:
        if part not in STATES:
            raise ValueError(f"{part!r} is not a state of a connection: {', '.join(STATES)}")
    return ",".join(name for name in STATES if name in parts)


States = Annotated[
    str,
    BeforeValidator(_states),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "enum": list(STATES)},
                {
                    "type": "array",
                    "minItems": 1,
                    "items": {"type": "string", "enum": list(STATES)},
                },
            ]
        }
    ),
]
"""States of a connection: established, [established, related]."""


def mac_bits(text: str) -> tuple[int, int]:
    """An address, alone or with a mask, as (value, mask)."""
    address, slash, mask = text.partition("/")
    return parse_mac(address), parse_mac(mask) if slash else (1 << 48) - 1


def _mac(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(  # noqa: TRY004 - pydantic's contract
            f"{value!r} is not text: YAML takes some addresses for numbers, put it in quotes"
        )
    address, mask = mac_bits(value)
    if address & ~mask:
        raise ValueError(
            f"{value} has bits outside its mask: write {format_mac(address & mask)}/..."
        )
    return format_mac(address) + (f"/{format_mac(mask)}" if "/" in value else "")


MacBits = Annotated[
    str,
    BeforeValidator(_mac),
    WithJsonSchema({"type": "string", "pattern": f"^{_MAC}(/{_MAC})?$"}),
]
"""A MAC address, or several by a mask: 01:00:5e:00:00:00/ff:ff:ff:80:00:00."""


def _network(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not an IP address or network")  # noqa: TRY004
    try:
        network = ip_network(value)
    except ValueError as error:
        raise ValueError(_why_no_network(value, error)) from None
    return str(network.network_address if _is_host(network) else network)


def _why_no_network(value: str, error: ValueError) -> str:
    try:
        return f"{value} has bits outside its mask: write {ip_network(value, strict=False)}"
    except ValueError:
        return str(error)


def _is_host(network: IPv4Network | IPv6Network) -> bool:
    return network.prefixlen == network.max_prefixlen


def _only_ipv4(value: str) -> str:
    if ":" in value:
        raise ValueError(f"{value} is IPv6, and ARP is for IPv4 alone")
    return value


IpNetwork = Annotated[
    str,
    BeforeValidator(_network),
    WithJsonSchema({"type": "string", "examples": ["10.0.0.0/8", "2001:db8::/32"]}),
]
"""An IP address, or a network by its prefix length."""
Ipv4Network = Annotated[IpNetwork, AfterValidator(_only_ipv4)]


def network_bits(text: str) -> tuple[int, int]:
    """An IP address or network as (value, mask)."""
    network = ip_network(text)
    return int(network.network_address), int(network.netmask)


def _ports(value: Any) -> str:
    """Canonical: "80,443,8000-8010", in order, without overlaps."""
    items = value if isinstance(value, list | tuple) else [value]
    parts: list[str] = []
    for item in items:
        if type(item) not in (int, str):
            raise ValueError(f"{item!r} is not a port, 0 to 65535, or a range such as 1024-65535")
        parts += str(item).split(",")
    ranges = sorted(_port_range(part.strip()) for part in parts)
    if not ranges:
        raise ValueError("no port is given")
    joined: list[tuple[int, int]] = []
    for first, last in ranges:
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(last, joined[-1][1])
        else:
            joined.append((first, last))
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in joined)


def _port_range(text: str) -> tuple[int, int]:
    match = _RANGE.fullmatch(text)
    if match is not None:
        first, last = int(match[1]), int(match[2] or match[1])
        if first <= last <= 0xFFFF:
            return first, last
    raise ValueError(f"{text!r} is not a port, 0 to 65535, or a range such as 1024-65535")


Ports = Annotated[
    str,
    BeforeValidator(_ports),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 0, "maximum": 0xFFFF},
                {"type": "string", "examples": ["80,443", "1024-65535"]},
                {
                    "type": "array",
                    "minItems": 1,
                    "items": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
                },
            ]
        }
    ),
]
"""Ports of TCP, UDP or SCTP: 80, "1024-65535", "80,443", [80, 443]."""


def port_bits(text: str) -> list[tuple[int, int]]:
    """Ports as (value, mask) pairs."""
    return [pair for part in text.split(",") for pair in aligned(*_port_range(part), 16)]
