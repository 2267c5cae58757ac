"""Test frames: what a router, a bridge and a tester look at."""

from __future__ import annotations

import struct

import pytest
from os_ken.lib.packet import ethernet, ipv4, packet, udp

from ofapp.bench.frames import FORTH, Flow, Side, frame, mac


@pytest.mark.parametrize("size", [64, 128, 1518, 9000])
def test_a_frame_has_its_size_without_the_checksum(size: int) -> None:
    assert len(frame(FORTH, size)) == size - 4


def test_headers_are_what_they_should_be() -> None:
    back = Flow(mac(Side.TX, 7), mac(Side.RX, 300), Side.RX)
    parsed = packet.Packet(frame(back, 256, port=4547, payload=b"abcd"))
    link, network, transport = (
        parsed.get_protocol(kind) for kind in (ethernet.ethernet, ipv4.ipv4, udp.udp)
    )
    assert (link.dst, link.src) == ("02:0b:01:00:00:07", "02:0b:02:00:01:2c")
    assert (network.src, network.dst) == ("198.19.0.2", "198.18.0.2")
    assert (network.total_length, network.ttl) == (256 - 18, 64)
    assert (transport.dst_port, transport.total_length) == (4547, 256 - 38)
    assert parsed.protocols[-1].startswith(b"abcd")


def test_the_header_checksum_is_right() -> None:
    total = sum(struct.unpack("!10H", frame(FORTH, 64)[14:34]))
    while total >> 16:
        total = (total >> 16) + (total & 0xFFFF)
    assert total == 0xFFFF


def test_hosts_are_distinct_and_unicast() -> None:
    hosts = {mac(side, host) for side in Side for host in (0, 1, 255, 256, 65536, 99_999)}
    assert len(hosts) == 12
    assert all(len(host) == 6 and host[0] & 3 == 2 for host in hosts)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="no room"):
        frame(FORTH, 60)
    with pytest.raises(ValueError, match="no room"):
        frame(FORTH, 64, payload=bytes(20))
    with pytest.raises(ValueError, match="host"):
        mac(Side.TX, 1 << 24)
