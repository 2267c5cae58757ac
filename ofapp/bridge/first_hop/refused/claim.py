"""Claims of refused frames, read from the samples that the switch sends."""

from collections.abc import Container
from typing import NamedTuple

from ofapp.bridge.first_hop.ethertypes import LLC
from ofapp.bridge.packet.address import ANY6
from ofapp.bridge.packet.arp import read_arp
from ofapp.bridge.packet.ethernet import ARP, IPV4, IPV6, TAGS, Ethernet, frame_vid, read_ethernet
from ofapp.bridge.packet.ip import FRAGMENTED, ICMPV6, TRUNCATED, UDP, Packet, read_ip
from ofapp.bridge.packet.malformed import Malformed
from ofapp.bridge.packet.neighbour import (
    ADVERTISEMENT,
    REDIRECT,
    ROUTER_ADVERTISEMENT,
    SOLICITATION,
)

_ICMP, _IGMP, _PIM = 1, 2, 103
_OF_ROUTERS4 = {5: "redirect", 9: "router"}
_IGMP_REPORTS = (0x12, 0x16, 0x17, 0x22)
_SERVER4, _CLIENT4 = b"\x00\x43", b"\x00\x44"  # UDP ports 67, 68
_CLIENT6, _SERVER6 = b"\x02\x22", b"\x02\x23"  # 546, 547
_OF_ROUTERS = {ROUTER_ADVERTISEMENT: "router", REDIRECT: "redirect"} | dict.fromkeys(
    (130, 151, 152, 153),  # MLD queries, and multicast router discovery (RFC 4286)
    "multicast-router",
)


class Claim(NamedTuple):
    """Claim of a frame; see `binding.Refused`."""

    vid: int
    mac: int
    kind: str
    address: bytes | None = None
    ethertype: int | None = None


def read_claim(sample: bytes, types: Container[int] | None = None) -> Claim | None:
    """Read the claim of a frame of which the first octets are known; None where there is none.

    types: EtherTypes that its port admits; None for all.
    """
    ethernet = read_ethernet(sample)
    if isinstance(ethernet, Malformed):
        if len(sample) < 18:
            return None
        host = frame_vid(sample), int.from_bytes(sample[6:12], "big")
        if types is not None and LLC not in types and _has_llc(sample):
            return Claim(*host, "ethertype", ethertype=LLC)
        return Claim(*host, "nested")
    ethertype = int.from_bytes(ethernet.ethertype, "big")
    if types is not None and ethertype not in types:
        return Claim(ethernet.vid, ethernet.mac, "ethertype", ethertype=ethertype)
    if ethernet.ethertype == ARP:
        arp = read_arp(sample)
        if isinstance(arp, Malformed):
            return Claim(ethernet.vid, ethernet.mac, "arp")
        address = arp.sender if any(arp.sender) else arp.target  # a probe (RFC 5227 2.1.1)
        return Claim(ethernet.vid, ethernet.mac, "arp", address)
    packet = read_ip(sample, cut=True)
    if isinstance(packet, Malformed):
        if packet in (FRAGMENTED, TRUNCATED):
            return Claim(ethernet.vid, ethernet.mac, "fragment", _source(sample, ethernet))
        return Claim(ethernet.vid, ethernet.mac, "source")
    kind, address = _of_packet(sample, packet)
    return Claim(ethernet.vid, ethernet.mac, kind, address)


def _has_llc(sample: bytes) -> bool:
    """Whether a frame has a length in place of its type, behind one tag at most."""
    at = 16 if sample[12:14] in TAGS else 12
    return sample[at : at + 2] < b"\x06\x00"


def _source(sample: bytes, ethernet: Ethernet) -> bytes | None:
    """The source address of a packet that cannot be read further."""
    where = {IPV4: (12, 4), IPV6: (8, 16)}
    at, length = where[ethernet.ethertype]
    address = sample[ethernet.at + at : ethernet.at + at + length]
    return address if len(address) == length else None


def _of_packet(sample: bytes, packet: Packet) -> tuple[str, bytes]:
    data = sample[packet.at : packet.end]
    if packet.protocol == UDP:
        ports = data[:2], data[2:4]
        is_v4 = len(packet.source) == 4
        server, client = (_SERVER4, _CLIENT4) if is_v4 else (_SERVER6, _CLIENT6)
        serves = ports[0] == server or ports[1] == client
        return "dhcp-server" if serves else "source", packet.source
    if packet.protocol == _PIM or (
        packet.protocol == _IGMP and data and data[0] not in _IGMP_REPORTS
    ):
        return "multicast-router", packet.source
    if packet.protocol == _ICMP and data:
        return _OF_ROUTERS4.get(data[0], "source"), packet.source
    if packet.protocol != ICMPV6 or len(packet.source) != 16 or not data:
        return "source", packet.source
    kind, target = data[0], data[8:24]
    if kind in (SOLICITATION, ADVERTISEMENT):
        claims_target = kind == ADVERTISEMENT or packet.source == ANY6
        return "nd", target if claims_target and len(target) == 16 else packet.source
    return _OF_ROUTERS.get(kind, "source"), packet.source
