"""What hosts of a guarded port send: frames of a host with bindings, and those of an attacker."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from tests.support import dhcp_frames as dhcp
from tests.support.dhcp_frames import Arp, Bootp, Nd, ethernet, ip, ipv4, ipv6, udp

BROADCAST, GATEWAY = dhcp.BROADCAST, dhcp.SERVER
ALL_NODES = 0x3333_0000_0001
OTHER, OTHER4, OTHER6 = 0x02_0F_00_00_00_99, "10.0.0.99", "2001:db8::99"
"""Another host of the network: what an attacker claims to be."""
VICTIM = 0x02_0F_00_00_00_AA
"""A host that sends nothing, so that the switch does not know it."""
TCP = struct.pack("!HHIIBBHHH", 1234, 80, 1, 0, 0x50, 2, 1024, 0, 0)
_TAGS = (0x8100, 0x88A8)

Frames = Iterator[tuple[str, bytes]]


@dataclass(frozen=True)
class Host:
    """A host and the addresses that it may use; vid: of the tag on its frames, 0 for none."""

    mac: int
    four: str
    six: str
    vid: int = 0

    @property
    def link_local(self) -> str:
        """The address that follows from its MAC address."""
        return dhcp.link_local(self.mac)

    def frame(self, ethertype: int, payload: bytes, to: int = GATEWAY) -> bytes:
        """A frame of its."""
        return ethernet(self.mac, to, ethertype, payload, self.vid).ljust(60, b"\0")

    def ipv4(self, payload: bytes = TCP, protocol: int = 6, source: str | None = None) -> bytes:
        """An IPv4 packet to the gateway."""
        return self.frame(0x0800, ipv4(source or self.four, "10.0.0.1", payload, protocol))

    def ipv6(
        self, payload: bytes = TCP, protocol: int = 6, source: str | None = None, hops: int = 64
    ) -> bytes:
        """An IPv6 packet to the gateway."""
        packet = ipv6(source or self.six, "2001:db8::1", payload, protocol, hops)
        return self.frame(0x86DD, packet)

    def nd(self, message: Nd) -> bytes:
        """A message of neighbour discovery, in its VLAN."""
        return message.but(vid=self.vid).frame


def extension(following: int, words: int = 0) -> bytes:
    """Destination options of padding, of 8 octets and `words` times 8 more."""
    return bytes((following, words, 1, 4 + 8 * words)) + bytes(4 + 8 * words)


def fragment(following: int, offset: int = 0, more: bool = False) -> bytes:
    """An IPv6 fragment header; offset: in units of 8 octets."""
    return struct.pack("!BxHI", following, offset << 3 | more, 77)


def fragmented4(packet: bytes, offset: int, more: bool) -> bytes:
    """An IPv4 packet as a fragment.  No test reads the checksum of its header."""
    return packet[:6] + struct.pack("!H", more << 13 | offset) + packet[8:]


def tagged(frame: bytes, vid: int, kind: int = 0x8100) -> bytes:
    """The frame with one more tag, the outermost."""
    return frame[:12] + struct.pack("!HH", kind, vid) + frame[12:]


def inner_tagged(host: Host, frame: bytes, kind: int, vid: int = 0) -> bytes:
    """The frame with a tag behind that of its VLAN, or with two where it has none."""
    at = 16 if host.vid else 12
    tags = struct.pack("!HH", kind, vid) * (1 if host.vid else 2)
    return frame[:at] + tags + frame[at:]


def llc(host: Host, frame: bytes, head: bytes, ethertype: bytes | None = None) -> bytes:
    """The frame with an LLC header and a length in the place of its type."""
    at = 16 if host.vid else 12
    body = head + (frame[at : at + 2] if ethertype is None else ethertype) + frame[at + 2 :]
    return frame[:at] + struct.pack("!H", len(body)) + body


SNAP = b"\xaa\xaa\x03\0\0\0"
BRIDGE_TUNNEL = b"\xaa\xaa\x03\0\0\xf8"  # IEEE 802.1H


def legitimate(host: Host) -> Frames:
    """What a host with bindings sends to others, and is never to be lost."""
    mac, four, six, vid = host.mac, host.four, host.six, host.vid
    yield "ARP request", Arp(mac, four, "10.0.0.1").frame(vid=vid)
    yield "ARP reply", Arp(mac, four, "10.0.0.1", 2, GATEWAY).frame(vid=vid)
    yield "ARP probe", Arp(mac, "0.0.0.0", four).frame(vid=vid)
    yield "ARP announcement", Arp(mac, four, four).frame(vid=vid)
    yield "RARP, of a guest that has migrated", host.frame(0x8035, bytes(46), BROADCAST)
    yield "TCP", host.ipv4()
    yield "SNAP", llc(host, host.ipv4(), SNAP)
    yield "UDP", host.ipv4(udp(four, "10.0.0.1", (1068, 1067), b"x" * 40), 17)
    yield "ping", host.ipv4(bytes((8, 0)) + bytes(30), 1)
    datagram = ipv4(four, "10.0.0.1", udp(four, "10.0.0.1", (5000, 53), b"x" * 40), 17)
    yield "first fragment", host.frame(0x0800, fragmented4(datagram, 0, True))
    yield "later fragment", host.frame(0x0800, fragmented4(datagram, 6, False))
    yield "IPv4 options", host.frame(0x0800, ipv4(four, "10.0.0.1", TCP, 6, bytes((1, 1, 1, 0))))
    yield "multicast", host.frame(0x0800, ipv4(four, "239.1.1.1", TCP, 17), 0x01005E010101)
    igmp = ipv4("0.0.0.0", "224.0.0.22", bytes((0x22,)) + bytes(15), 2, bytes((148, 4, 0, 0)))
    yield "IGMP before it has an address", host.frame(0x0800, igmp, 0x01005E000016)
    yield "TCP over IPv6", host.ipv6()
    yield "TCP over IPv6, link-local", host.ipv6(source=host.link_local)
    yield "IPv6 with options", host.ipv6(extension(6) + TCP, 60)
    ping6 = bytes((128, 0)) + bytes(30)
    yield "large ping, first", host.ipv6(fragment(58, more=True) + ping6, 44)
    yield "large ping, rest", host.ipv6(fragment(58, 4) + ping6, 44)
    datagram6 = struct.pack("!HHHH", 5353, 5353, 1400, 0) + bytes(32)
    yield "mDNS in fragments, first", host.ipv6(fragment(17, more=True) + datagram6, 44, hops=255)
    yield "mDNS in fragments, rest", host.ipv6(fragment(17, 5) + datagram6, 44, hops=255)
    mld = extension(58) + bytes((143,)) + bytes(27)
    for name, source in (("before it has an address", "::"), ("report", host.link_local)):
        yield f"MLD {name}", host.frame(0x86DD, ipv6(source, "ff02::16", mld, 0, 1), 0x333300000016)
    for name, source in (("", six), (" link-local", host.link_local)):
        solicits = dhcp.solicitation(mac, source, "2001:db8::1")
        yield f"NS{name}", host.nd(solicits)
        yield f"NS{name}, bare", host.nd(solicits.but(body=solicits.body[:20]))
        advertises = dhcp.advertisement(mac, source, dest="2001:db8::1")
        yield f"NA{name}", host.nd(advertises)
        yield f"NA{name}, bare", host.nd(advertises.but(body=advertises.body[:20]))
        yield f"unsolicited NA{name}", host.nd(dhcp.advertisement(mac, source))
        yield f"DAD{name}", host.nd(dhcp.dad(mac, source))
        nonce = bytes((14, 1)) + bytes(6)  # RFC 7527
        probe = dhcp.dad(mac, source)
        yield f"DAD{name} with a nonce", host.nd(probe.but(body=probe.body + nonce))


def attacks(host: Host) -> Frames:
    """What its host may not send by a port of `trust: guest`."""
    yield from other_protocols(host)
    yield from _forged_sources(host)
    yield from _forged_arp(host)
    yield from _forged_discovery(host)
    yield from _rogue_router(host)
    yield from _rogue_multicast_router(host)
    yield from _rogue_server(host)


def other_protocols(host: Host) -> Frames:
    """Frames of a host with bindings that are neither ARP, RARP nor IP."""
    for name, kind in (("PPPoE discovery", 0x8863), ("PPPoE", 0x8864), ("a test", 0x88B5)):
        yield name, host.frame(kind, b"x" * 46, BROADCAST)
    yield "LLC", llc(host, host.frame(0x88B5, b"x" * 46), b"\xe0\xe0\x03", b"")
    yield "another protocol in SNAP", llc(host, host.frame(0x88B5, b"x" * 46), SNAP)


def _forged_sources(host: Host) -> Frames:
    liar = Host(OTHER, host.four, host.six, host.vid)
    yield "IPv4 of another", host.ipv4(source=OTHER4)
    yield "IPv4 of another MAC address", liar.ipv4()
    yield "IPv4 of another in SNAP", llc(host, host.ipv4(source=OTHER4), SNAP)
    yield "IPv4 in 802.1H", llc(host, host.ipv4(), BRIDGE_TUNNEL)
    yield "IPv6 in 802.1H", llc(host, host.ipv6(), BRIDGE_TUNNEL)
    yield "BPDU-like LLC", llc(host, host.ipv4(), b"\x42\x42\x03", b"")
    packet = ipv4(OTHER4, "10.0.0.1", bytes(48), 17)
    yield "first fragment of another", host.frame(0x0800, fragmented4(packet, 0, True))
    yield "later fragment of another", host.frame(0x0800, fragmented4(packet, 3, False))
    yield "IPv4 that is cut short", host.frame(0x0800, b"\x4f" + packet[1:20])
    yield "IPv4 without a source", host.ipv4(source="0.0.0.0")
    yield "IPv6 of another", host.ipv6(source=OTHER6)
    yield "IPv6 of another MAC address", liar.ipv6()
    yield "link-local address of another", host.ipv6(source=dhcp.link_local(OTHER))
    mapped = f"::{host.four}"
    yield "IPv4 address in an IPv6 header", host.ipv6(source=mapped)
    yield "IPv6 without a source", host.ipv6(source="::")
    yield "fragment of IPv6 of another", host.ipv6(fragment(6, 5) + TCP, 44, OTHER6)
    yield "another protocol of another", liar.frame(0x88B5, b"x" * 46, BROADCAST)
    yield "RARP of another", liar.frame(0x8035, bytes(46), BROADCAST)
    igmp = ipv4("0.0.0.0", "224.0.0.22", bytes((0x22,)) + bytes(15), 2, bytes((148, 4, 0, 0)))
    yield "IGMP of another", liar.frame(0x0800, igmp, 0x01005E000016)
    for kind in _TAGS:
        yield f"tag {kind:#x} behind a tag", inner_tagged(host, host.ipv4(), kind)
        yield f"another's VLAN {kind:#x} behind a tag", inner_tagged(host, host.ipv4(), kind, 20)


def _forged_arp(host: Host) -> Frames:
    mac, four, vid = host.mac, host.four, host.vid
    yield "ARP for another", Arp(mac, OTHER4, "10.0.0.1").frame(vid=vid)
    yield "ARP reply for the gateway", Arp(mac, "10.0.0.1", four, 2).frame(vid=vid)
    yield "gratuitous ARP for the gateway", Arp(mac, "10.0.0.1", "10.0.0.1", 2).frame(vid=vid)
    yield "ARP of another MAC address", Arp(OTHER, four, "10.0.0.1").frame(vid=vid)
    yield "ARP with two MAC addresses", Arp(OTHER, four, "10.0.0.1").frame(mac=mac, vid=vid)
    yield "ARP, and those the other way", Arp(mac, four, "10.0.0.1").frame(mac=OTHER, vid=vid)
    yield "ARP probe for another", Arp(mac, "0.0.0.0", OTHER4).frame(vid=vid)
    whole = Arp(mac, four, "10.0.0.1").frame(vid=vid)
    at = 18 if vid else 14
    yield "ARP of another hardware", whole[:at] + b"\0\x06" + whole[at + 2 :]
    yield "ARP that is cut short", whole[: at + 20]


def _forged_discovery(host: Host) -> Frames:
    mac, six = host.mac, host.six
    yield "NA for another", host.nd(dhcp.advertisement(mac, OTHER6).but(source=six))
    bare = dhcp.advertisement(mac, OTHER6).but(source=six)
    yield "bare NA for another", host.nd(bare.but(body=bare.body[:20]))
    valid = dhcp.advertisement(mac, six)
    body = valid.body[:20]
    yield "NA with another's MAC address", host.nd(valid.but(body=body + dhcp.link_layer(2, OTHER)))
    yield "NA from another's address", host.nd(valid.but(source=OTHER6))
    yield "NA of another MAC address", host.nd(valid.but(mac=OTHER))
    twice = body + dhcp.link_layer(2, mac) + dhcp.link_layer(2, OTHER)
    yield "NA with two MAC addresses", host.nd(valid.but(body=twice))
    forged = dhcp.advertisement(mac, OTHER6)
    options = {"chain": extension(60) + extension(58, 2), "first": 60}
    yield "NA for another behind options", host.nd(forged.but(source=six, **options))
    for name, header in (
        ("an atomic fragment", fragment(58)),
        ("a fragment", fragment(58, 0, True)),
    ):
        inside = {"chain": header, "first": 44}
        yield f"NA for another in {name}", host.nd(forged.but(source=six, **inside))
    whole = {"chain": fragment(58, 0, True), "first": 44}
    yield "its own NA in a fragment", host.nd(valid.but(**whole))
    solicits = dhcp.solicitation(mac, six, "2001:db8::1")
    other = solicits.body[:20] + dhcp.link_layer(1, OTHER)
    yield "NS with another's MAC address", host.nd(solicits.but(body=other))
    yield "NS from another's address", host.nd(solicits.but(source=OTHER6))
    twice = solicits.body + dhcp.link_layer(1, OTHER)
    yield "NS with two MAC addresses", host.nd(solicits.but(body=twice))
    yield "its own NS in a fragment", host.nd(solicits.but(**whole))


def _rogue_router(host: Host) -> Frames:
    mac = host.mac
    advertises = dhcp.router_advertisement(mac, dhcp.prefix_option("2001:db8:bad::", 64))
    plain = host.nd(advertises)
    yield "RA", plain
    yield "RA with another hop limit", host.nd(advertises.but(hops=64))
    chains = {
        "hop-by-hop options": (0, extension(58)),
        "options": (60, extension(60) + extension(60, 3) + extension(58)),
        "a routing header": (43, bytes((58, 0, 0, 0)) + bytes(4)),
        "an authentication header": (51, bytes((58, 4)) + bytes(22)),
        "an atomic fragment": (44, fragment(58)),
        "two atomic fragments": (44, fragment(44) + fragment(58)),
        "a first fragment": (44, fragment(58, 0, True)),
        "options in a first fragment": (44, fragment(60, 0, True) + extension(58)),
        "options that end in the next fragment": (44, fragment(60, 0, True) + bytes((58, 99))),
        "options that end behind the frame": (60, bytes((58, 200))),
    }
    for name, (first, chain) in chains.items():
        yield f"RA behind {name}", host.nd(advertises.but(first=first, chain=chain))
    first = fragment(58, more=True) + bytes((128, 0)) + bytes(30)
    yield "a ping that an RA overlaps", host.ipv6(first, 44, hops=255)
    for kind in _TAGS:
        yield f"RA behind two tags {kind:#x}", inner_tagged(host, plain, kind)
    yield "RA in SNAP", llc(host, plain, SNAP)
    yield "RA in 802.1H", llc(host, plain, BRIDGE_TUNNEL)
    yield "RA in SNAP, behind a tag", llc(host, plain, SNAP, b"\x81\0\0\0\x86\xdd")
    target = bytes(4) + ip(OTHER6) + ip("2001:db8::1")
    redirect = Nd(kind=137, mac=mac, source=host.link_local, dest=host.six, body=target)
    yield "redirect", host.nd(redirect)
    yield "redirect of IPv4", host.ipv4(bytes((5, 1)) + bytes(30), 1)
    yield "router advertisement of IPv4", host.ipv4(bytes((9, 0, 0, 0, 1, 2, 0, 99)), 1)


def _rogue_multicast_router(host: Host) -> Frames:
    """Queries, router discovery and PIM.

    Without snooping the switch does not distinguish an IGMP query of one group from a report.
    """
    four, six = host.four, host.link_local
    alert = bytes((148, 4, 0, 0))
    query = bytes((0x11, 100, 0xEE, 0x9B)) + bytes(4)
    groups = 0x01005E000001, 0x01005E00006A, 0x01005E00000D

    def igmp(source: str, dest: str, message: bytes, to: int) -> bytes:
        return host.frame(0x0800, ipv4(source, dest, message, 2, alert), to)

    for name, source in ("", four), (" without an address", "0.0.0.0"):
        yield f"IGMP query{name}", igmp(source, "224.0.0.1", query, groups[0])
    yield "IGMP query to one host", igmp(four, "224.0.0.1", query, VICTIM)
    yield "IGMP query by broadcast", igmp(four, "239.1.1.1", query, BROADCAST)
    hello = bytes((0x30, 20, 0, 0)) + bytes(4)
    yield "MRD of IPv4", igmp(four, "224.0.0.106", hello, groups[1])
    pim = bytes((0x20, 0, 0, 0)) + bytes(6)
    yield "PIM", host.frame(0x0800, ipv4(four, "224.0.0.13", pim, 103), groups[2])
    packet = ipv6(six, "ff02::d", pim, 103, 1)
    yield "PIM over IPv6", host.frame(0x86DD, packet, 0x33330000000D)
    for kind, octets in ((130, 28), (151, 8), (152, 8), (153, 8), (153, 4)):
        for chain in (b"", extension(58)):
            message = chain + bytes((kind,)) + bytes(octets - 1)
            packet = ipv6(six, "ff02::1", message, 0 if chain else 58, 1)
            name = "in options" if chain else "alone"
            yield (
                f"ICMPv6 {kind} of {octets} octets {name}",
                host.frame(0x86DD, packet, ALL_NODES),
            )


def _rogue_server(host: Host) -> Frames:
    mac, four = host.mac, host.four
    offer = Bootp(op=2, mac=OTHER, kind=dhcp.OFFER, yiaddr=OTHER4).octets
    for name, ports in {
        "": (67, 68),
        " from another port": (1000, 68),
        " to a relay": (67, 67),
    }.items():
        packet = ipv4(four, OTHER4, udp(four, OTHER4, ports, offer))
        yield f"DHCP offer{name}", ethernet(mac, VICTIM, 0x0800, packet, host.vid)
    packet = ipv4(four, OTHER4, udp(four, OTHER4, (67, 68), offer))
    first = ethernet(mac, VICTIM, 0x0800, fragmented4(packet, 0, True), host.vid)
    yield "DHCP offer in a fragment", first
    source, dest = host.link_local, dhcp.link_local(OTHER)
    answer = dhcp.message6(dhcp.ADVERTISE, 1, dhcp.duid(OTHER))
    for name, ports in {"": (547, 546), " from another port": (1000, 546)}.items():
        packet = ipv6(source, dest, udp(source, dest, ports, answer), 17, 64)
        yield f"DHCPv6 advertise{name}", ethernet(mac, VICTIM, 0x86DD, packet, host.vid)
    message = udp(source, dest, (547, 546), answer)
    packet = ipv6(source, dest, message, 44, 64, fragment(17, 0, True))
    yield "DHCPv6 advertise in a fragment", ethernet(mac, VICTIM, 0x86DD, packet, host.vid)
