"""What hosts and foreign switches send does a fabric no harm."""

from __future__ import annotations

import random
import struct

import pytest

from tests.support import frames
from tests.vswitchd.fabric.bed import (
    EDGES,
    LABEL,
    NUMBER,
    PAIR,
    RING,
    A,
    B,
    Bed,
    MakeBed,
    know,
)
from tests.vswitchd.test_fuzz_frames import MALFORMED

# isort: split
from ofapp.bridge.effects.fabric import Colour
from ofapp.bridge.fabric.address import source, to_member, to_tree
from ofapp.bridge.mac import format_mac
from ofapp.openflow.model.rule import TableId


def outer(destination: int, inner: bytes, member: int = 2) -> bytes:
    """A frame as members send it."""
    to, by = format_mac(destination), format_mac(source(NUMBER, member))
    return frames.ethernet(to, by, LABEL + inner, ethertype=0x8847)


def everywhere(bed: Bed, frame: bytes, but: tuple[int, int]) -> dict[tuple[int, int, bytes], int]:
    ports = {(at, port) for at in bed.members for port in EDGES} - {but}
    return {(at, port, frame): 1 for at, port in ports}


@pytest.mark.parametrize(
    "destination",
    [
        to_member(NUMBER, 1),
        to_member(NUMBER, 3),
        to_member(NUMBER, 3, 0, Colour.BLUE),
        to_tree(NUMBER, 2, 0),
        to_tree(NUMBER, 1, 0),
    ],
)
def test_an_outer_frame_of_a_host_is_an_ordinary_frame(make: MakeBed, destination: int) -> None:
    bed = make(RING)
    know(bed, 3)
    frame = outer(destination, frames.ethernet(B, A))
    plain = frames.ethernet(format_mac(destination), format_mac(source(NUMBER, 2)))
    for sent in (frame, plain):
        assert bed.send(1, 11, sent) == everywhere(bed, sent, (1, 11))


@pytest.mark.parametrize("labels", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", [0x8847, 0x8848])
def test_frames_with_labels_cross_as_they_are(make: MakeBed, labels: int, kind: int) -> None:
    """Inside MPLS they would end Open vSwitch 3.1."""
    bed = make(PAIR)
    stack = b"".join(struct.pack("!I", 77 << 12 | 64 | bottom << 8) for bottom in (0, 0, 0, 1))
    frame = frames.ethernet(B, A, stack[-4 * labels :] + bytes(40), ethertype=kind)
    for tags in ("", "81000007", "88a80007", "8100000781000008"):
        sent = frame[:12] + bytes.fromhex(tags) + frame[12:]
        assert bed.send(1, 11, sent) == everywhere(bed, sent, (1, 11))
        (_, _, crossed), *_ = bed.crossed
        assert len(crossed) == len(sent) + (14 if len(tags) > 8 else 22)  # one tag is the label
    know(bed, 2)
    assert bed.send(1, 11, frame) == {(2, 11, frame): 1}


@pytest.mark.parametrize(
    "frame",
    [
        frames.arp_request(A),
        frames.ethernet(B, A),
        frames.bpdu(A),
        outer(to_member(NUMBER + 1, 1), frames.ethernet(B, A)),
        outer(to_member(NUMBER, 77), frames.ethernet(B, A)),
        outer(to_tree(NUMBER, 3, 5), frames.arp_request(A)),
        outer(to_tree(NUMBER, 1, 0), frames.arp_request(A)),
        outer(to_tree(NUMBER, 3, 0), frames.arp_request(A)),
        frames.ethernet(format_mac(to_member(NUMBER, 1)), A),
        frames.ethernet(format_mac(to_member(NUMBER, 1)), A, ethertype=0x0800),
    ],
    ids=lambda frame: frame[:14].hex(),
)
def test_a_link_port_admits_nothing_else_and_counts_it(make: MakeBed, frame: bytes) -> None:
    """Port 1 leads to member 2, port 2 to member 3."""
    bed = make(RING)
    assert not bed.send(1, 1, frame)
    assert not bed.crossed
    member = bed.members[1]
    member.bridge.switch.settle()
    dropped = {(TableId.FABRIC, 0), (TableId.LEAVE, 0), (TableId.ADMISSION, 900)}
    assert sum(flow.packets for flow in member.flows() if flow[:2] in dropped) == 1


def test_a_frame_from_another_member_never_goes_on_to_a_third(make: MakeBed) -> None:
    """Member 1 still believes that the host is at 2, and 2 that it is at 3."""
    bed = make(RING)
    know(bed, 3)
    for inner in (frames.ethernet(B, A), frames.ethernet(frames.host(0xC), A)):
        frame = outer(to_member(NUMBER, 2), inner, member=1)
        bed.forget()
        bed.members[2].bridge.inject(1, frame)
        bed.carry()
        assert not bed.crossed
        assert {at for at, _, _ in bed.arrived()} <= {2}


def test_any_version_and_colour_reaches_the_member_that_it_is_for(make: MakeBed) -> None:
    bed = make(RING)
    know(bed, 2)
    inner = frames.ethernet(B, A)
    for version in (0, 5, 63):
        for colour in Colour:
            frame = outer(to_member(NUMBER, 2, version, colour), inner, member=1)
            assert bed.send(2, 1, frame) == {(2, 11, inner): 1}


TYPES = ("8100", "88a8", "0800", "0806", "86dd", "0026", "8847", "8848", "894f", "88cc", "8863")


def test_random_frames_harm_no_switch(make: MakeBed) -> None:
    """From hosts; and from link ports, as frames of the fabric with anything inside."""
    rng = random.Random(20261125)
    bed = make(PAIR)
    know(bed, 2)
    to = [frames.mac(frames.BROADCAST), frames.mac(B), bytes.fromhex("01005e010101")]

    def anything() -> bytes:
        tags = b"".join(
            bytes.fromhex(rng.choice(TYPES)) + rng.randbytes(2) for _ in range(rng.randrange(3))
        )
        head = rng.choice(to) + b"\x06" + rng.randbytes(5) + tags
        return head + bytes.fromhex(rng.choice(TYPES)) + rng.randbytes(rng.randrange(90))

    for at in range(0, 600, 50):
        batch = [*MALFORMED.values()] if at == 0 else [anything() for _ in range(50)]
        arrived = bed.send(1, 11, *batch)
        for frame in batch:
            here = sum(count for key, count in arrived.items() if key[2] == frame)
            assert here in (2 + len(EDGES), 1, 2, 0), frame.hex()
    destinations = (to_member(NUMBER, 2), to_tree(NUMBER, 1, 0), to_member(NUMBER, 2) | 1)
    for _ in range(12):
        inside = [
            rng.choice((LABEL, LABEL[:3] + b"\0", rng.randbytes(4), b"")) + anything()
            for _ in range(40)
        ]
        batch = [outer(rng.choice(destinations), each, member=1) for each in inside]
        batch += [frame[: rng.randrange(14, len(frame))] for frame in batch[:20]]
        bed.send(2, 1, *batch)
    frame = frames.ethernet(B, A)
    assert bed.send(1, 11, frame) == {(2, 11, frame): 1}
