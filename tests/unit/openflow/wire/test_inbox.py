"""What is read is sorted by how urgent it is: no storm stands before a BPDU."""

import itertools
import struct
from collections import Counter

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

import ofapp.common.hub  # noqa: F401

# isort: split
from os_ken.ofproto import ofproto_v1_3 as ofp

from ofapp.openflow.model.cookie import Feature, make_cookie
from ofapp.openflow.model.trap import Trap
from ofapp.openflow.model.traps import ADDRESS, BPDU, LACP, SIGHTING, SNOOPED
from ofapp.openflow.wire.inbox import (
    BATCH,
    SAVED,
    Batch,
    BrokenStreamError,
    Frame,
    Inbox,
    IpSampling,
    Message,
)
from tests.unit.openflow.wire.test_channel import flow_removed, message, packet_in


def frame(port: int, text: bytes = b"hello", trap: Trap = BPDU) -> bytes:
    """A frame of a protocol, as a flow of that trap sends it here."""
    match = struct.pack("!HHII4x", 1, 12, 0x80000004, port)
    serial = 4095 if trap is LACP else 0
    head = struct.pack("!IHBBQ", 0xFFFFFFFF, len(text), 1, 0, make_cookie(trap.feature, serial))
    return message(ofp.OFPT_PACKET_IN, head + match + b"\0\0" + text)


def port_status(port: int) -> bytes:
    return message(ofp.OFPT_PORT_STATUS, struct.pack("!B7xI60x", 2, port))


def multipart(kind: int, size: int = 0) -> bytes:
    return message(ofp.OFPT_MULTIPART_REPLY, struct.pack("!HH4x", kind, 0) + bytes(size), 9)


ECHO = message(ofp.OFPT_ECHO_REQUEST, b"12345678", 5)
ERROR = message(ofp.OFPT_ERROR, struct.pack("!HH", 5, 1), 6)
BARRIER = message(ofp.OFPT_BARRIER_REPLY, b"", 7)


def sorted_into(stream: bytes, cuts: list[int] | None = None) -> tuple[Inbox, Counter[str]]:
    counters: Counter[str] = Counter()
    inbox = Inbox(counters)
    for begin, end in itertools.pairwise([0, *sorted(set(cuts or [])), len(stream)]):
        inbox.feed(stream[begin:end])
    return inbox, counters


def everything(inbox: Inbox) -> list[object]:
    """All that waits, in the order in which a connection takes it."""
    found: list[object] = [*inbox.take_echoes()]
    while inbox:
        if frames := inbox.take_frames(10):
            found += frames
        elif item := inbox.take_prompt():
            found.append(item)
        else:
            item = inbox.take_bulk()
            found += [*item.expired, *item.samples] if isinstance(item, Batch) else [item]
    return found


def kinds(found: list[object]) -> str:
    """In short: e(cho), f(rame), m(essage), s(ample), x (expired)."""
    letters = {Message: "m", Frame: "f"}
    return "".join(
        "e"
        if isinstance(item, Message) and item.type == ofp.OFPT_ECHO_REQUEST
        else letters.get(type(item), "s" if type(item) is tuple else "x")
        for item in found
    )


@pytest.mark.parametrize(
    "storm",
    [
        flow_removed(1, 10, 5),
        packet_in(1, 10),
        ERROR,
        multipart(ofp.OFPMP_FLOW, 56),
        multipart(ofp.OFPMP_METER, 40),
        port_status(99),
        packet_in(1, 10) + flow_removed(1, 10, 5) + ERROR,
    ],
)
@pytest.mark.parametrize("trap", [BPDU, LACP, SNOOPED])
def test_echoes_and_protocols_come_before_any_storm(storm: bytes, trap: Trap) -> None:
    inbox, _ = sorted_into(storm * 700 + frame(3, trap=trap) + ECHO + storm)
    assert [echo.xid for echo in inbox.take_echoes()] == [5]
    assert inbox.take_frames(10) == [Frame(trap, 3, b"hello")]


def test_answers_and_ports_come_before_what_is_said_in_bulk() -> None:
    inbox, _ = sorted_into(flow_removed(1, 10, 5) * 3 + BARRIER + port_status(4) + ERROR)
    assert kinds(everything(inbox)) == "mmmxxx"


def test_an_answer_that_spanning_tree_waits_for_comes_before_all_else() -> None:
    inbox, _ = sorted_into(b"")
    xid = int.from_bytes(BARRIER[4:8], "big")
    inbox.urgent.add(xid)
    inbox.feed(port_status(4) * 3 + BARRIER)
    assert [answer.xid for answer in inbox.take_echoes()] == [xid]
    assert kinds(everything(inbox)) == "mmm"


def test_so_does_the_report_of_a_fixed_flow_that_was_deleted() -> None:
    fixed = bytearray(flow_removed(1, 10, 5, reason=2))
    fixed[8:16] = make_cookie(Feature.PORT).to_bytes(8, "big")
    expired = bytearray(fixed)
    expired[18] = 1
    foreign = bytearray(fixed)
    foreign[8] = 0x77
    learned = flow_removed(1, 10, 5)
    stream = learned * 3 + fixed + learned + expired + foreign + packet_in(1, 10) + fixed
    inbox, _ = sorted_into(bytes(stream))
    assert [item.data for item in inbox.take_echoes()] == [bytes(fixed)] * 2
    assert kinds(everything(inbox)) == "mmxxxxs"


def test_a_bpdu_does_not_overtake_news_of_its_own_port() -> None:
    stream = port_status(3) + frame(3, b"a") + frame(4, b"b") + ERROR + frame(3, b"c")
    found = everything(sorted_into(stream)[0])
    assert [getattr(item, "data", b"")[:1] for item in found if isinstance(item, Frame)] == [
        *(b"b", b"a", b"c")
    ]
    assert kinds(found) == "fmfmf"


def test_nor_the_list_of_all_ports() -> None:
    inbox, _ = sorted_into(multipart(ofp.OFPMP_PORT_DESC) + frame(3))
    assert inbox.take_frames(10) == []
    assert kinds(everything(inbox)) == "mf"
    inbox.feed(frame(3))
    assert len(inbox.take_frames(10)) == 1


def test_who_is_seen_and_ages_out_keeps_the_order() -> None:
    stats = multipart(ofp.OFPMP_FLOW)
    stream = packet_in(1, 1) + flow_removed(1, 1, 5) + packet_in(2, 1) + stats + packet_in(3, 1)
    assert kinds(everything(sorted_into(stream)[0])) == "sxsms"


def test_a_batch_is_bounded() -> None:
    inbox, _ = sorted_into(packet_in(1, 10) * (3 * BATCH))
    sizes = []
    while isinstance(batch := inbox.take_bulk(), Batch):
        sizes.append(len(batch.samples))
    assert sizes == [BATCH] * 3


def test_a_frame_that_looks_like_a_bpdu_inside_is_none() -> None:
    """A host can send any bytes, and 64 of them are copied here."""
    forged = frame(3)[8:]
    match = struct.pack("!HHII4x", 1, 12, 0x80000004, 1)
    head = struct.pack("!IHBBQ", 0xFFFFFFFF, 80, 1, 40, make_cookie(SIGHTING.feature))
    seen = message(ofp.OFPT_PACKET_IN, head + match + b"\0\0" + forged.ljust(64, b"\0"))
    assert kinds(everything(sorted_into(seen * 50)[0])) == "s" * 50


PARTS = [
    *(packet_in(1, 10), packet_in(2, 11)[:60], flow_removed(1, 10, 5), flow_removed(1, 9, 5, 2)),
    *(
        frame(3),
        frame(4, b"x" * 52),
        frame(5, trap=SNOOPED),
        frame(6, trap=LACP),
        ECHO,
        ERROR,
        BARRIER,
    ),
    *(port_status(3), port_status(8), multipart(ofp.OFPMP_FLOW, 56), multipart(13, 64)),
    message(ofp.OFPT_PACKET_IN, b""),
    message(ofp.OFPT_PACKET_IN, bytes(16)),
]
PARTS = [part[:2] + struct.pack("!H", len(part)) + part[4:] for part in PARTS]


@given(
    st.lists(st.tuples(st.sampled_from(PARTS), st.integers(1, 9)), max_size=12),
    st.lists(st.integers(1, 2000), max_size=6),
)
def test_nothing_is_lost_or_said_twice_however_it_is_chopped(
    parts: list[tuple[bytes, int]], cuts: list[int]
) -> None:
    stream = b"".join(part * times for part, times in parts)
    one_by_one: list[object] = []
    for part, times in parts:
        one_by_one += everything(sorted_into(part)[0]) * times
    inbox, _ = sorted_into(stream, [cut for cut in cuts if cut < len(stream)])
    found = everything(inbox)
    assert sorted(map(repr, found)) == sorted(map(repr, one_by_one))
    assert inbox.weight == 0

    def about_hosts(items: list[object]) -> list[object]:
        return [item for item in items if kinds([item]) in "sx"]

    def of_port(items: list[object], port: int) -> list[object]:
        return [item for item in items if isinstance(item, Frame) and item.port == port]

    assert about_hosts(found) == about_hosts(one_by_one)
    for port in (3, 4, 5):
        assert of_port(found, port) == of_port(one_by_one, port)


@settings(max_examples=300)
@given(st.lists(st.binary(max_size=300), max_size=6))
def test_garbage_is_sorted_or_refused(chunks: list[bytes]) -> None:
    inbox = Inbox(Counter())
    try:
        for chunk in chunks:
            inbox.feed(chunk)
    except BrokenStreamError:
        return
    everything(inbox)
    assert inbox.weight == 0


def test_a_message_does_not_keep_all_that_came_with_it() -> None:
    inbox, _ = sorted_into(flow_removed(1, 10, 5) + ECHO * 3000)
    inbox.take_echoes()
    assert len(inbox._bulk[0][0]) < 200


def test_frames_of_sightings_are_reported_as_many_as_somebody_is_curious_about() -> None:
    frames = [packet_in(3, mac)[42:] for mac in range(1, 6)]
    stream = flow_removed(9, 1, 1) + b"".join(packet_in(3, mac) for mac in range(1, 6))
    inbox, _ = sorted_into(stream)
    inbox.ip_sampling = IpSampling(0)
    first = inbox.take_bulk()
    assert isinstance(first, Batch)
    assert (len(first.samples), first.frames) == (5, [])
    inbox.ip_sampling = IpSampling(3)
    inbox.feed(stream)
    batch = inbox.take_bulk()
    assert isinstance(batch, Batch)
    assert batch.sampled == [(3, frame) for frame in frames[:2]]  # of the first three messages
    assert inbox.ip_sampling.left == 1


def test_samples_of_ip_addresses_are_bulk_and_are_bounded_too() -> None:
    stream = b"".join(
        frame(port, b"arp" + bytes(60), ADDRESS) + packet_in(3, port) for port in (1, 2, 3)
    )
    inbox, counters = sorted_into(stream)
    inbox.ip_sampling = IpSampling(4)  # the first two sightings and the first two samples
    batch = inbox.take_bulk()
    assert isinstance(batch, Batch)
    assert (len(batch.samples), len(batch.sampled)) == (3, 2)
    assert batch.frames == [Frame(ADDRESS, port, b"arp" + bytes(60)) for port in (1, 2)]
    assert (inbox.ip_sampling.left, counters) == (0, {})
    assert inbox.take_bulk() is None


def test_sampling_is_allowed_again_with_time_and_not_saved_up_for_long() -> None:
    sampling = IpSampling(0)
    sampling.renew(0.0004)
    assert sampling.left == 0
    for step in range(1, 101):
        sampling.renew(step * 0.0005)
    assert 49 <= sampling.left <= 51
    sampling.renew(1e6)
    assert sampling.left == SAVED
