"""UDP datagrams (RFC 768) in Ethernet frames."""

from struct import pack
from typing import NamedTuple

from ofapp.bridge.packet.checksum import checksum, pseudo_header
from ofapp.bridge.packet.ip import UDP, Packet, read_ip
from ofapp.bridge.packet.malformed import Malformed

MTU = 1500
"""Most octets of an IP packet in an Ethernet frame (IEEE 802.3 3.2.7)."""

NOT_UDP = Malformed("udp_other")
TRUNCATED = Malformed("udp_truncated")


class Datagram(NamedTuple):
    """A whole datagram; at, end: where its payload is in the frame."""

    packet: Packet
    source_port: int
    dest_port: int
    at: int
    end: int


def read_udp(frame: bytes) -> Datagram | Malformed:
    """Read the headers of a datagram.

    The checksum is not verified: a virtual machine may leave it to a network card that it does not
    have (checksum offload), and the receiver verifies it.
    """
    packet = read_ip(frame)
    if isinstance(packet, Malformed):
        return packet
    if packet.protocol != UDP:
        return NOT_UDP
    at = packet.at
    if packet.end < at + 8:
        return TRUNCATED
    end = at + (frame[at + 4] << 8 | frame[at + 5])
    if end < at + 8 or packet.end < end:
        return TRUNCATED
    source_port, dest_port = frame[at] << 8 | frame[at + 1], frame[at + 2] << 8 | frame[at + 3]
    return Datagram(packet, source_port, dest_port, at + 8, end)


def with_payload(
    frame: bytes, datagram: Datagram, payload: bytes, ports: tuple[int, int] | None = None
) -> bytes | None:
    """Make the frame with another payload, and other UDP ports if given; lengths and checksums fit.

    IP options and extension headers stay.  None if the packet would be longer than it was, and
    above `MTU`.
    """
    packet = datagram.packet
    start = packet.header
    length = 8 + len(payload)
    whole = packet.at + length - start
    if whole > max(MTU, packet.end - start):
        return None
    header = bytearray(frame[start : packet.at])
    if len(packet.source) == 4:
        header[2:4] = pack("!H", whole)
        header[10:12] = b"\0\0"
        header[10:12] = pack("!H", checksum(header))
    else:
        header[4:6] = pack("!H", whole - 40)
    source, dest = ports or (datagram.source_port, datagram.dest_port)
    udp = pack("!HHHH", source, dest, length, 0)
    total = checksum(pseudo_header(packet.source, packet.dest, length, UDP) + udp + payload)
    udp = udp[:6] + pack("!H", total or 0xFFFF)  # 0 would mean no checksum
    return frame[:start] + header + udp + payload
