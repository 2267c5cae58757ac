"""IPv4 and IPv6 packets in Ethernet frames."""

from typing import NamedTuple

from ofapp.bridge.packet.ethernet import IPV4, IPV6, Ethernet, read_ethernet
from ofapp.bridge.packet.malformed import Malformed

HOP_BY_HOP, TCP, UDP, ROUTING, FRAGMENT, AUTHENTICATION = 0, 6, 17, 43, 44, 51
ICMPV6, OPTIONS = 58, 60

NOT_IP = Malformed("ip_other")
TRUNCATED = Malformed("ip_truncated")
FRAGMENTED = Malformed("ip_fragment")


class Packet(NamedTuple):
    """A whole IP packet.

    source, dest: 4 or 16 octets, which is its version; hops: TTL or hop limit.
    protocol: protocol of the upper layer, behind all extension headers (RFC 8200 4).
    header: where the IP header is in the frame; at, end: where the upper layer is.
    """

    ethernet: Ethernet
    source: bytes
    dest: bytes
    hops: int
    protocol: int
    header: int
    at: int
    end: int


def read_ip(frame: bytes, cut: bool = False) -> Packet | Malformed:
    """Read the IP headers of a frame; fragments are refused, whole ones (RFC 6946) as well.

    cut: the frame may lack octets at its end, as a sample does.
    The checksum of an IPv4 header is not verified, as the switch has done so.
    """
    ethernet = read_ethernet(frame)
    if isinstance(ethernet, Malformed):
        return ethernet
    if ethernet.ethertype == IPV4:
        return _ipv4(frame, ethernet, cut)
    return _ipv6(frame, ethernet, cut) if ethernet.ethertype == IPV6 else NOT_IP


def _ipv4(frame: bytes, ethernet: Ethernet, cut: bool) -> Packet | Malformed:
    at = ethernet.at
    if len(frame) < at + 20:
        return TRUNCATED
    length = (frame[at] & 0x0F) * 4
    end = at + (frame[at + 2] << 8 | frame[at + 3])
    if cut:
        end = min(end, len(frame))
    if frame[at] >> 4 != 4 or length < 20 or end < at + length or len(frame) < end:
        return TRUNCATED
    if frame[at + 6] & 0x3F or frame[at + 7]:
        return FRAGMENTED
    source, dest = frame[at + 12 : at + 16], frame[at + 16 : at + 20]
    return Packet(
        ethernet, source, dest, frame[at + 8], frame[at + 9], header=at, at=at + length, end=end
    )


def _ipv6(frame: bytes, ethernet: Ethernet, cut: bool) -> Packet | Malformed:
    header = ethernet.at
    at = header + 40
    if len(frame) < at or frame[header] >> 4 != 6:
        return TRUNCATED
    end = at + (frame[header + 4] << 8 | frame[header + 5])
    if cut:
        end = min(end, len(frame))
    if len(frame) < end:
        return TRUNCATED
    protocol = frame[header + 6]
    while protocol in (HOP_BY_HOP, ROUTING, AUTHENTICATION, OPTIONS):
        if end < at + 8:
            return TRUNCATED
        words = frame[at + 1]
        after = at + (4 * (words + 2) if protocol == AUTHENTICATION else 8 * (words + 1))
        if end < after:
            return TRUNCATED
        protocol, at = frame[at], after
    if protocol == FRAGMENT:
        return FRAGMENTED
    source, dest = frame[header + 8 : header + 24], frame[header + 24 : header + 40]
    return Packet(
        ethernet, source, dest, frame[header + 7], protocol, header=header, at=at, end=end
    )
