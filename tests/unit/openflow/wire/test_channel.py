"""The channel's receive side, on a socket that is a list: any chopping, any garbage."""

import gc
import itertools
import socket
import struct
import weakref
from collections.abc import Iterator
from typing import Any

import hypothesis.strategies as st
import pytest
from eventlet.patcher import original
from hypothesis import given, settings

from ofapp.common import hub

# isort: split
from os_ken.controller.handler import (
    CONFIG_DISPATCHER,
    DEAD_DISPATCHER,
    HANDSHAKE_DISPATCHER,
    MAIN_DISPATCHER,
)
from os_ken.ofproto import ofproto_v1_3 as ofp
from os_ken.ofproto import ofproto_v1_3_parser as parser

from ofapp.openflow.model.cookie import make_cookie
from ofapp.openflow.model.trap import Trap
from ofapp.openflow.model.traps import BPDU, SIGHTING
from ofapp.openflow.pipeline import flows
from ofapp.openflow.wire import channel as channel_module
from ofapp.openflow.wire.channel import (
    BACKLOG,
    FRAMES,
    READ_SIZE,
    READS,
    THROTTLED_AFTER,
    UNINTRODUCED,
    Channel,
)
from ofapp.openflow.wire.inbox import BATCH
from ofapp.openflow.wire.messages import codec, parse
from ofapp.openflow.wire.refusals import Refusal
from ofapp.openflow.wire.requests import ask_once
from tests.support.waiting import wait_for

SILENT = 0.05
"""Seconds, longer than a socket's time limit."""


class FakeSocket:
    """Gives out chunks, then says that the other side is gone."""

    def __init__(self, chunks: list[bytes]) -> None:
        self.chunks = chunks

    def recv(self, _size: int) -> bytes:
        return self.chunks.pop(0) if self.chunks else b""

    def __getattr__(self, _name: str) -> Any:
        return lambda *_args: None


class Heard:
    """A listener that writes down."""

    def __init__(self) -> None:
        self.log: list[tuple[str, Any]] = []

    def on_learned(self, samples: list[Any], expired: list[Any]) -> None:
        self.log += [("expired", tuple(notice)) for notice in expired]
        self.log += [("sample", sample) for sample in samples]

    def on_sampled(self, frames: list[tuple[int, bytes]]) -> None:
        pass

    def on_frames(self, trap: Trap, frames: list[tuple[int, bytes]]) -> None:
        self.log.append((trap.name, [port for port, _ in frames]))

    def on_throttled(self, throttled: bool) -> None:
        self.log.append(("throttled", throttled))

    def on_fault(self, error: Exception) -> None:
        self.log.append(("fault", str(error)))

    def on_deleted(self) -> None:
        self.log.append(("deleted", None))

    def on_refused(self, refusal: Refusal) -> None:
        self.log.append(("error", (refusal.what, refusal.why)))

    def on_port_news(self, messages: list[bytes]) -> None:
        self.log += [("port", len(message)) for message in messages]


def message(type_: int, body: bytes, xid: int = 0) -> bytes:
    return struct.pack("!BBHI", ofp.OFP_VERSION, type_, 8 + len(body), xid) + body


def packet_in(port: int, mac: int) -> bytes:
    match = struct.pack("!HHII4x", 1, 12, 0x80000004, port)
    frame = b"\xff" * 6 + mac.to_bytes(6, "big") + b"\x08\x06" + bytes(50)
    head = struct.pack("!IHBBQ", 0xFFFFFFFF, len(frame), 1, 40, make_cookie(SIGHTING.feature))
    return message(ofp.OFPT_PACKET_IN, head + match + b"\0\0" + frame)


def flow_removed(port: int, mac: int, serial: int, reason: int = 0) -> bytes:
    _, source = flows.learned_flows(port, 0, mac, serial, 300)
    match = codec.add_flow(source)[48:-8]
    head = struct.pack("!QHBBIIHHQQ", source.cookie, 200, reason, 40, 0, 0, 300, 0, 1, 1)
    return message(ofp.OFPT_FLOW_REMOVED, head + match)


REFUSED = codec.add_flow(flows.learned_flows(1, 0, 10, 5, 300)[1])
STREAM = (
    packet_in(1, 10)
    + packet_in(2, 11)
    + flow_removed(1, 10, 5)
    + flow_removed(1, 99, 5, reason=2)
    + packet_in(3, 10)
    + message(ofp.OFPT_ERROR, struct.pack("!HH", 5, 1) + REFUSED[:64])
    + message(ofp.OFPT_PORT_STATUS, bytes(72))
    + packet_in(4, 12)
)
STORY = [
    ("sample", (1, 0, 10)),
    ("sample", (2, 0, 11)),
    ("expired", (0, 10, 5)),
    ("sample", (3, 0, 10)),
    ("error", ("a flow of table source (learned)", "the table is full")),
    ("port", 80),
    ("sample", (4, 0, 12)),
]


def channel(
    chunks: list[bytes], admit: bool = True, state: str = MAIN_DISPATCHER
) -> tuple[Channel, Heard]:
    made = Channel(FakeSocket(chunks), ("192.0.2.1", 1), lambda _channel, _dpid: admit)
    made.max_unreplied_echo_requests = 0  # the launcher, once imported, has it send some
    made.set_version(ofp.OFP_VERSION)
    made.set_state(state)
    heard = Heard()
    made.listener = heard
    return made, heard


def by_host(log: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """What concerns the addresses, in order; other messages may be told before a batch is."""
    return [item for item in log if item[0] in ("sample", "expired")]


@given(st.lists(st.integers(1, len(STREAM) - 1), max_size=8))
def test_however_the_stream_is_chopped_the_story_is_the_same(cuts: list[int]) -> None:
    edges = [0, *sorted(set(cuts)), len(STREAM)]
    pairs = itertools.pairwise(edges)
    made, heard = channel([STREAM[begin:end] for begin, end in pairs])
    made.serve()
    assert sorted(map(repr, heard.log)) == sorted(map(repr, STORY))
    assert by_host(heard.log) == by_host(STORY)
    assert made.counters["refused_flow_mods"] == 1


def test_what_a_frame_tells_besides_is_read_when_its_host_is_learned() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        # The reader lets no other task have a turn meanwhile.
        far = original("socket").create_connection(server.getsockname())
        near, _ = server.accept()
    far.sendall(packet_in(1, 10))
    far.shutdown(socket.SHUT_WR)
    gone_out: list[bytes] = []

    class Learns(Heard):
        def on_learned(self, samples: list[Any], expired: list[Any]) -> None:
            made.send(b"its flows")

        def on_sampled(self, frames: list[tuple[int, bytes]]) -> None:
            gone_out.append(far.recv(100, socket.MSG_DONTWAIT))

    with near, far:
        made = Channel(near, ("192.0.2.1", 1), lambda _channel, _dpid: True)
        made.set_version(ofp.OFP_VERSION)
        made.set_state(MAIN_DISPATCHER)
        made.listener = Learns()
        made.serve()
    assert [said[8:] for said in gone_out] == [b"its flows"], "after its hello"


@pytest.fixture(autouse=True, scope="module")
def _short_patience() -> Iterator[None]:
    """Parsers that never end are given up sooner, to save the tests' time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parse, "BUDGET", 0.01)
        yield


@settings(max_examples=200)
@given(
    st.lists(st.binary(max_size=120), max_size=5),
    st.integers(0, 30).filter(lambda type_: type_ != ofp.OFPT_FEATURES_REPLY),
)
def test_garbage_is_counted_and_ends_no_more_than_this_connection(
    garbage: list[bytes], type_: int
) -> None:
    made, _ = channel([*garbage], state=CONFIG_DISPATCHER)
    made.serve()
    framed = [message(type_, body) for body in garbage]
    made, heard = channel([*framed, packet_in(7, 77)], state=CONFIG_DISPATCHER)
    made.serve()
    assert ("sample", (7, 0, 77)) in heard.log or made.state == DEAD_DISPATCHER


def test_a_list_without_end_ends_the_connection_and_not_the_controller() -> None:
    """os-ken steps over a meter band by the length it gives, here 0, and again, and again."""
    endless = message(ofp.OFPT_MULTIPART_REPLY, struct.pack("!HH4x", 10, 0) + bytes(8))
    made, heard = channel([endless + packet_in(7, 77)], state=CONFIG_DISPATCHER)
    made.serve()
    assert made.counters["malformed_messages"] == 1
    assert made.state == DEAD_DISPATCHER
    assert heard.log == []


def test_a_switch_that_does_not_introduce_itself_may_say_little() -> None:
    said = [packet_in(1, 10) * 600] * 40
    made, _ = channel(said, state=HANDSHAKE_DISPATCHER)
    size = len(said[0])
    made.serve()
    assert made.state == DEAD_DISPATCHER
    assert (40 - len(said)) * size <= UNINTRODUCED + READ_SIZE


def test_an_impossible_length_ends_the_connection() -> None:
    made, heard = channel([b"\x04\x0a\x00\x03\x00\x00\x00\x00" + packet_in(1, 10)])
    made.serve()
    assert made.counters["malformed_messages"] == 1
    assert heard.log == []


def test_a_truncated_sighting_is_counted() -> None:
    short = packet_in(1, 10)[:50]
    short = short[:2] + struct.pack("!H", len(short)) + short[4:]
    made, heard = channel([short])
    made.serve()
    assert made.counters["malformed_packet_ins"] == 1
    assert heard.log == []


def test_sightings_before_anybody_listens_are_counted() -> None:
    made, _ = channel([packet_in(1, 10)])
    made.listener = None
    made.serve()
    assert made.counters["packet_ins_before_ready"] == 1


@pytest.mark.parametrize("features", [struct.pack("!QIBB2xII", 7, 0, 254, 0, 0, 0), b"\0" * 4])
def test_a_switch_that_is_not_admitted_is_let_go(features: bytes) -> None:
    made, heard = channel([message(ofp.OFPT_FEATURES_REPLY, features), packet_in(1, 10)], False)
    made.serve()
    assert made.state == DEAD_DISPATCHER
    assert heard.log == []


def test_replies_go_to_whoever_asked() -> None:
    reply = message(ofp.OFPT_MULTIPART_REPLY, bytes(16), xid=42)
    made, _ = channel([reply + reply, reply])
    got: list[bytes] = []
    made.request(42, b"", got.append)
    made.serve()
    assert got == [reply, reply, reply]


def bpdu(port: int) -> bytes:
    match = struct.pack("!HHII4x", 1, 12, 0x80000004, port)
    head = struct.pack("!IHBBQ", 0xFFFFFFFF, 60, 1, 0, make_cookie(BPDU.feature))
    return message(ofp.OFPT_PACKET_IN, head + match + bytes(62))


def test_bpdus_of_one_read_are_heard_together_before_the_storm_they_came_in() -> None:
    storm = flow_removed(1, 10, 5) * 300
    made, heard = channel([storm + bpdu(1) + storm + bpdu(2)])
    made.serve()
    assert heard.log[0] == ("bpdu", [1, 2])
    assert len(heard.log) == 601


def test_an_echo_is_answered_before_the_storm_it_came_in() -> None:
    made, heard = channel([flow_removed(1, 10, 5) * 300 + message(2, b"there?", xid=8)])
    answered: list[tuple[bytes, int]] = []

    def send(data: bytes, close_socket: bool = False) -> bool:
        answered.append((bytes(data), len(heard.log)))
        return True

    made.send = send  # type: ignore[method-assign]
    made.serve()
    hello, echo = answered
    assert hello[0][1] == ofp.OFPT_HELLO
    assert echo == (message(3, b"there?", xid=8), 0)
    assert len(heard.log) == 300


class SlowClock:
    """Every look at it takes a millisecond."""

    now = 0.0

    def __call__(self) -> float:
        self.now += 0.001
        return self.now


def test_work_is_done_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """With any input of a switch, others get their turn after so many messages of it."""
    clock = SlowClock()
    monkeypatch.setattr(channel_module.time, "perf_counter", clock)
    made, heard = channel([])
    made.receive(packet_in(1, 10) * 5000)
    slices = [len(heard.log)]
    while made.may_work():
        before = len(heard.log)
        made.work()
        slices.append(len(heard.log) - before)
    assert sum(slices) == 5000
    assert max(slices) <= 3 * BATCH


def test_frames_of_protocols_beyond_a_budget_wait_their_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(channel_module.time, "perf_counter", SlowClock())
    made, heard = channel([])
    made.turn()  # another task may not work now
    made.receive(bpdu(1) * 600)
    at_once = sum(len(ports) for _, ports in heard.log)
    assert 0 < at_once <= 60 * FRAMES
    for _ in range(100):
        made.receive(bpdu(1) * 600)
    assert sum(len(ports) for _, ports in heard.log) < 10_000
    while made.may_work():
        made.work()
    assert sum(len(ports) for _, ports in heard.log) == 101 * 600


def test_who_says_more_than_can_be_done_is_reported_once_and_when_it_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [100.0]
    monkeypatch.setattr(channel_module.time, "monotonic", lambda: now[0])
    made, heard = channel([])
    for _ in range(5):
        made.receive(packet_in(1, 10) * 20_000)
        made.work()
        now[0] += THROTTLED_AFTER
    assert [item for item in heard.log if item[0] == "throttled"] == [("throttled", True)]
    while made.may_work():
        made.work()
    assert [item for item in heard.log if item[0] == "throttled"] == [
        ("throttled", True),
        ("throttled", False),
    ]
    assert made.counters["lags"] == 1


def test_nobody_is_read_from_whose_words_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel_module, "MOST_UNREAD", 1 << 19)
    said = [flow_removed(1, 10, 5) * 800] * 60
    made, heard = channel(said)
    made._outbox.size = BACKLOG + 1  # so that bulk waits
    reader = hub.spawn(made._recv_loop)
    for _ in range(100):
        hub.sleep(0)
    assert 1 << 19 < made._inbox.weight < (1 << 19) + READS * READ_SIZE
    assert said, "all was read"
    made._outbox.size = 0
    while made.may_work():
        made.work()
        hub.sleep(0)
    reader.wait()
    # On a busy machine an event says as well that the switch has to wait.
    assert [kind for kind, _ in heard.log].count("expired") == 60 * 800


def test_an_error_in_what_hears_ends_the_connection_and_is_reported() -> None:
    made, heard = channel([bpdu(1), packet_in(1, 10)])

    def fail(_trap: object, _frames: object) -> None:
        raise ValueError("not expected")

    heard.on_frames = fail  # type: ignore[method-assign]
    made.serve()
    assert heard.log == [("fault", "not expected")]
    assert made.state == DEAD_DISPATCHER
    assert Channel.open == 0


@pytest.mark.parametrize("asked", [False, True], ids=["", "and is asked something then"])
def test_a_connection_that_has_ended_is_not_left_to_the_garbage_collector(asked: bool) -> None:
    """Each that is asked something after its end had kept itself, and all that is its switch's."""

    def silence(_size: int) -> bytes:
        hub.sleep(0)  # while its other greenlets begin
        return b""

    made, _ = channel([])
    made.socket.recv = silence
    gone = weakref.ref(made)
    gc.disable()
    try:
        made.serve()
        if asked:
            ask_once(made, parser.OFPBarrierRequest(made), print)
        del made
        for _ in range(5):  # in which its greenlets end
            hub.sleep(0)
        assert gone() is None
    finally:
        gc.enable()


def test_a_connection_that_was_silent_is_not_left_to_the_garbage_collector() -> None:
    listening = hub.listen(("127.0.0.1", 0))
    theirs = socket.create_connection(listening.getsockname())
    ours, _ = listening.accept()
    listening.close()
    made = Channel(ours, "test", lambda _channel, _id: True)
    ours.settimeout(SILENT / 5)
    gone = weakref.ref(made)
    gc.disable()
    try:
        serving = hub.spawn(made.serve)
        del made, ours
        hub.sleep(SILENT)
        theirs.close()
        serving.wait()
        del serving
        wait_for(
            lambda: gone() is None, "the connection to be forgotten", tick=lambda: hub.sleep(0)
        )
    finally:
        gc.enable()
