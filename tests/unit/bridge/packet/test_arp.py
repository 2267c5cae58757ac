"""ARP messages."""

import pytest

from ofapp.bridge.packet.arp import REPLY, REQUEST, read_arp
from ofapp.bridge.packet.ethernet import Ethernet
from ofapp.bridge.packet.malformed import Malformed
from tests.support.dhcp_frames import BROADCAST, Arp, dad, ip

HOST, OTHER = 0x5254_0000_0007, 0x5254_0000_0008
ASKED = Arp(HOST, "10.0.0.7", "10.0.0.1")


@pytest.mark.parametrize("vid", [0, 7])
@pytest.mark.parametrize("operation", [REQUEST, REPLY])
def test_a_message(operation: int, vid: int) -> None:
    frame = Arp(HOST, "10.0.0.7", "10.0.0.1", operation, OTHER).frame(vid=vid)
    ethernet = Ethernet(vid, HOST, BROADCAST, b"\x08\x06", 18 if vid else 14)
    expected = (ethernet, operation, HOST, ip("10.0.0.7"), OTHER, ip("10.0.0.1"))
    assert read_arp(frame) == expected
    assert read_arp(frame + bytes(18)) == expected


def test_the_sender_may_differ_from_the_frames_source() -> None:
    arp = read_arp(ASKED.frame(mac=OTHER))
    assert not isinstance(arp, Malformed)
    assert (arp.ethernet.mac, arp.sender_mac) == (OTHER, HOST)


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (ASKED.frame()[:13], "ethernet_truncated"),
        (ASKED.frame()[:-1], "arp_truncated"),
        (ASKED.frame(vid=7)[:-1], "arp_truncated"),
        (ASKED.frame()[:14] + b"\0\6" + ASKED.frame()[16:], "arp_other"),
        (ASKED.frame()[:18] + b"\x08" + ASKED.frame()[19:], "arp_other"),
        (dad(HOST, "fe80::7").frame, "arp_other"),
    ],
)
def test_malformed_messages(frame: bytes, reason: str) -> None:
    assert read_arp(frame) == Malformed(reason)
