"""Ethernet, IP and UDP headers: what is read, and what is malformed."""

import pytest

from ofapp.bridge.packet.ip import Packet, read_ip
from ofapp.bridge.packet.malformed import Malformed
from ofapp.bridge.packet.udp import Datagram, read_udp, with_payload
from tests.support.dhcp_frames import ethernet, ip, ipv4, ipv6, link_local, udp

HOST, PEER = 0x5254_0000_0007, 0x5254_0000_0001
V4 = ipv4("10.0.0.7", "10.0.0.1", udp("10.0.0.7", "10.0.0.1", (68, 67), b"data"))
SOURCE = link_local(HOST)
V6 = ipv6(SOURCE, "ff02::1:2", udp(SOURCE, "ff02::1:2", (546, 547), b"data"), 17, 64)


def frame4(packet: bytes = V4, vid: int = 0) -> bytes:
    return ethernet(HOST, PEER, 0x0800, packet, vid)


def frame6(packet: bytes = V6, vid: int = 0) -> bytes:
    return ethernet(HOST, PEER, 0x86DD, packet, vid)


def changed(packet: bytes, **at: int) -> bytes:
    """With other octets, by position: `_3=7`."""
    octets = bytearray(packet)
    for position, value in at.items():
        octets[int(position[1:])] = value
    return bytes(octets)


@pytest.mark.parametrize("vid", [0, 1, 4094])
def test_a_datagram_of_ipv4(vid: int) -> None:
    frame = frame4(vid=vid).ljust(70, b"\0")  # padded
    datagram = read_udp(frame)
    assert isinstance(datagram, Datagram)
    packet = datagram.packet
    assert (packet.ethernet.vid, packet.ethernet.mac, packet.ethernet.dest) == (vid, HOST, PEER)
    assert (packet.source, packet.dest, packet.hops) == (ip("10.0.0.7"), ip("10.0.0.1"), 64)
    assert (datagram.source_port, datagram.dest_port) == (68, 67)
    assert frame[datagram.at : datagram.end] == b"data"


@pytest.mark.parametrize("vid", [0, 7])
def test_a_datagram_of_ipv6(vid: int) -> None:
    frame = frame6(vid=vid).ljust(70, b"\0")
    datagram = read_udp(frame)
    assert isinstance(datagram, Datagram)
    assert (datagram.packet.source, datagram.packet.dest) == (ip(SOURCE), ip("ff02::1:2"))
    assert frame[datagram.at : datagram.end] == b"data"


def test_headers_before_a_datagram() -> None:
    body = udp(SOURCE, "ff02::1:2", (546, 547), b"data")
    chain = bytes((43, 0)) + bytes(6)  # hop-by-hop
    chain += bytes((51, 1)) + bytes(14)  # routing
    chain += bytes((60, 4)) + bytes(22)  # authentication, in units of four octets less two
    chain += bytes((17, 0)) + bytes(6)  # destination options
    frame = frame6(ipv6(SOURCE, "ff02::1:2", body, 0, chain=chain))
    datagram = read_udp(frame)
    assert isinstance(datagram, Datagram)
    assert frame[datagram.at : datagram.end] == b"data"
    made = with_payload(frame, datagram, b"other data")
    assert made == frame6(
        ipv6(
            SOURCE, "ff02::1:2", udp(SOURCE, "ff02::1:2", (546, 547), b"other data"), 0, 255, chain
        )
    )


MALFORMED = {
    "ethernet_truncated": [b"", frame4()[:13], frame4(vid=7)[:15], frame4(vid=7)[:17]],
    "ethernet_nested": [
        ethernet(HOST, PEER, 0x8100, b"\0\7\x08\0" + V4, 7),
        ethernet(HOST, PEER, 0x88A8, b"\0\7\x08\0" + V4, 7),
        ethernet(HOST, PEER, len(V4) + 8, b"\xaa\xaa\3\0\0\0\x08\0" + V4),
        ethernet(HOST, PEER, len(V4) + 8, b"\xaa\xaa\3\0\0\0\x08\0" + V4, 7),
    ],
    "ip_other": [ethernet(HOST, PEER, 0x0806, V4)],
    "ip_truncated": [
        frame4(V4[:19]),
        frame4(V4[:-1]),
        frame4(changed(V4, _0=0x65)),
        frame4(changed(V4, _0=0x44)),
        frame4(changed(V4, _3=19)),
        frame6(V6[:39]),
        frame6(V6[:-1]),
        frame6(changed(V6, _0=0x40)),
        frame6(ipv6(SOURCE, SOURCE, b"", 0, chain=b"\x11\0" + bytes(5))),
        frame6(ipv6(SOURCE, SOURCE, b"", 0, chain=b"\x11\1" + bytes(13))),
        frame6(ipv6(SOURCE, SOURCE, b"", 51, chain=b"\x11\1" + bytes(9))),
    ],
    "ip_fragment": [
        frame4(changed(V4, _6=0x20)),
        frame4(changed(V4, _6=0x1F)),
        frame4(changed(V4, _7=1)),
        frame6(ipv6(SOURCE, SOURCE, b"", 44, chain=bytes((17, 0)) + bytes(6))),
        frame6(ipv6(SOURCE, SOURCE, b"", 60, chain=bytes((44, 0)) + bytes(6) + b"\x11" + bytes(7))),
    ],
    "udp_other": [frame4(changed(V4, _9=6)), frame6(changed(V6, _6=6))],
    "udp_truncated": [
        frame4(ipv4("10.0.0.7", "10.0.0.1", bytes(7))),
        frame4(changed(V4, _25=7)),
        frame4(changed(V4, _25=13)),
        frame6(changed(V6, _45=13)),
    ],
}


@pytest.mark.parametrize(
    ("reason", "frame"), [(reason, each) for reason, all_ in MALFORMED.items() for each in all_]
)
def test_malformed_frames(reason: str, frame: bytes) -> None:
    assert read_udp(frame) == Malformed(reason)


def test_the_flag_against_fragmentation_is_no_fragment() -> None:
    assert isinstance(read_udp(frame4(changed(V4, _6=0x40))), Datagram)


def test_a_sample_may_be_cut_off() -> None:
    long = udp("10.0.0.7", "10.0.0.1", (68, 67), bytes(400))
    for frame in (
        frame4(ipv4("10.0.0.7", "10.0.0.1", long)),
        frame6(ipv6(SOURCE, "::1", long, 17)),
    ):
        sample = frame[:128]
        assert read_ip(sample) == Malformed("ip_truncated")
        packet = read_ip(sample, cut=True)
        assert isinstance(packet, Packet)
        assert (packet.protocol, packet.end) == (17, 128)


@pytest.mark.parametrize("frame", [frame4(), frame4(vid=7), frame6(), frame6(vid=7)])
def test_another_payload_has_fitting_lengths_and_checksums(frame: bytes) -> None:
    datagram = read_udp(frame)
    assert isinstance(datagram, Datagram)
    assert with_payload(frame, datagram, b"data") == frame
    for payload in (b"", b"x", bytes(1452)):
        made = with_payload(frame, datagram, payload, (1, 2))
        assert made is not None
        vid = datagram.packet.ethernet.vid
        if len(datagram.packet.source) == 4:
            body = udp("10.0.0.7", "10.0.0.1", (1, 2), payload)
            assert made == frame4(ipv4("10.0.0.7", "10.0.0.1", body), vid)
        else:
            body = udp(SOURCE, "ff02::1:2", (1, 2), payload)
            assert made == frame6(ipv6(SOURCE, "ff02::1:2", body, 17, 64), vid)


def test_a_payload_that_does_not_fit() -> None:
    frame = frame4()
    datagram = read_udp(frame)
    assert isinstance(datagram, Datagram)
    assert with_payload(frame, datagram, bytes(1472)) is not None
    assert with_payload(frame, datagram, bytes(1473)) is None
    jumbo = frame4(ipv4("10.0.0.7", "10.0.0.1", udp("10.0.0.7", "10.0.0.1", (68, 67), bytes(4000))))
    datagram = read_udp(jumbo)
    assert isinstance(datagram, Datagram)
    assert with_payload(jumbo, datagram, bytes(4000)) == jumbo
    assert with_payload(jumbo, datagram, bytes(4001)) is None


def test_a_checksum_is_never_missing() -> None:
    """A sum of zero is sent as all ones (RFC 768)."""
    frame = frame4()
    datagram = read_udp(frame)
    assert isinstance(datagram, Datagram)
    sums = set()
    for number in range(0x10000):
        made = with_payload(frame, datagram, number.to_bytes(2, "big"))
        assert made is not None
        sums.add(made[datagram.at - 2 : datagram.at])
    assert b"\0\0" not in sums
    assert b"\xff\xff" in sums
    assert len(sums) == 0xFFFF
