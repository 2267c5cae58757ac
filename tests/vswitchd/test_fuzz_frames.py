"""Malformed frames from hosts: forwarded as OVS does, never learned wrongly, never harmful."""

from __future__ import annotations

import random
import struct

import pytest

from tests.support import frames
from tests.support.controller import Controller
from tests.support.hosts import halves, learn, learned_flows
from tests.support.ovs import LOCAL, Bridge

BAD = frames.host(0xBAD)
HEAD = frames.mac(frames.BROADCAST) + frames.mac(BAD)

MALFORMED = {
    "header-only": HEAD + b"\x08\x00",
    "arp-1-byte": HEAD + b"\x08\x06\x00",
    "arp-lengths": HEAD + b"\x08\x06" + struct.pack("!HHBBH", 1, 0x800, 255, 255, 1) + bytes(40),
    "ipv4-1-byte": HEAD + b"\x08\x00\x45",
    "ipv4-ihl-0": HEAD + b"\x08\x00\x40" + bytes(45),
    "ipv4-ihl-60": HEAD + b"\x08\x00\x4f" + bytes(25),
    "ipv4-total-length": HEAD + b"\x08\x00\x45\x00\xff\xff" + bytes(42),
    "igmp-cut": HEAD + b"\x08\x00\x46" + bytes(8) + b"\x02" + bytes(14),
    "ipv6-1-byte": HEAD + b"\x86\xdd\x60",
    "ipv6-hop-loop": HEAD + b"\x86\xdd\x60" + bytes(5) + b"\x00\xff" + bytes(32) + b"\x00\x00" * 8,
    "mld-cut": HEAD + b"\x86\xdd\x60" + bytes(5) + b"\x3a\x01" + bytes(32) + b"\x82",
    "llc-length-lies": HEAD + b"\x05\xdc\x42\x42\x03",
    "llc-length-0": HEAD + b"\x00\x00" + bytes(46),
    "snap-cut": HEAD + b"\x00\x05\xaa\xaa\x03\x00\x00",
    "tag-tci-only": HEAD + b"\x81\x00\x00\x07",
    "tag-cut": HEAD + b"\x81\x00\x00",
    "tags-all-the-way": HEAD + b"\x81\x00\x00\x07" * 11 + b"\x81\x00",
    "qinq": HEAD + b"\x88\xa8\x00\x07\x81\x00\x00\x08\x08\x00" + bytes(40),
    "vid-4095": HEAD + b"\x81\x00\x0f\xff\x08\x00" + bytes(42),
    "mpls-cut": HEAD + b"\x88\x47\x00",
    "lldp-cut": HEAD + b"\x88\xcc\x02\xff\x04",
    "eapol-cut": HEAD + b"\x88\x8e\x01",
    "nsh-cut": HEAD + b"\x89\x4f\x00",
    "longest": HEAD + b"\x88\xb5" + bytes(1500),
    "ethertype-0600": HEAD + b"\x06\x00",
}


@pytest.mark.parametrize("frame", MALFORMED.values(), ids=MALFORMED)
def test_malformed_frames_are_forwarded_and_harm_nobody(
    bridge: Bridge, controller: Controller, frame: bytes
) -> None:
    assert bridge.send(1, frame) == {2, 3, LOCAL}
    learn(controller, bridge, 1, port=2)
    assert controller.alive
    assert "Traceback" not in controller.log()
    # If its sender was learned, then where it is and in the VLAN that the switch itself sees:
    # known, it is not copied to the controller again.
    if halves(bridge, BAD) != (0, 0):
        (source, _) = learned_flows(bridge, BAD)
        bridge.inject(1, frame)
        bridge.switch.settle()
        (again, _) = learned_flows(bridge, BAD)
        assert again.packets == source.packets + 1
        assert "in_port=1," in source.match


@pytest.mark.parametrize("frame", [MALFORMED["tag-tci-only"], MALFORMED["tag-cut"]])
def test_a_cut_tag_does_not_put_a_host_into_a_vlan(
    bridge: Bridge, controller: Controller, frame: bytes
) -> None:
    """OVS takes such a frame for an untagged one; so must a bridge that learns from it."""
    bridge.inject(1, frame)
    learn(controller, bridge, 1, port=2)
    assert controller.where(bridge, BAD, 7) is None


def test_malformed_control_frames_from_a_known_host(bridge: Bridge, controller: Controller) -> None:
    learn(controller, bridge, 0xBAD, port=1)
    for frame in MALFORMED.values():
        bridge.inject(1, frame)
    head = frames.mac(frames.BPDU_GROUP) + frames.mac(BAD)
    for tail in (b"\x00\x00", b"\x00\x03\x42\x42\x03", b"\x00\x26\x42\x42\x03" + b"\xff" * 35):
        assert bridge.send(1, head + tail) == {2, 3, LOCAL}
    learn(controller, bridge, 1, port=2)
    assert bridge.send(2, frames.ethernet(BAD, frames.host(1))) == {1}


def test_random_frames(bridge: Bridge, controller: Controller) -> None:
    rng = random.Random(20261121)
    types = [b"\x81\x00", b"\x88\xa8", b"\x08\x00", b"\x08\x06", b"\x86\xdd", b"\x00\x26"]
    batch = [
        frames.mac(frames.BROADCAST)
        + b"\x06"
        + rng.randbytes(5)
        + rng.choice(types)
        + rng.randbytes(rng.randrange(80))
        for _ in range(300)
    ]
    bridge.forget_sent()
    bridge.inject(1, *batch)
    assert len(bridge.sent(2)) == len(batch)
    learn(controller, bridge, 1, port=2)
    assert controller.alive
    assert "Traceback" not in controller.log()
    for entry in controller.fdb(bridge, type="learned"):
        assert entry["mac"].startswith("06:") or entry["mac"] == frames.host(1)
        assert 0 <= entry["vlan"] <= 4095
