"""A switch that talks rubbish harms neither the controller nor the other switches."""

from __future__ import annotations

import contextlib
import itertools
import random
import struct
from collections.abc import Iterator

import pytest

from ofapp.openflow.model.cookie import Feature, make_cookie
from ofapp.openflow.model.traps import SIGHTING
from tests.support import frames
from tests.support.controller import Controller
from tests.support.hosts import learn
from tests.support.ovs import Bridge, VSwitchd
from tests.support.waiting import wait_for
from tests.vswitchd import fakeswitch as of
from tests.vswitchd.fakeswitch import FakeSwitch, message

_dpids = itertools.count(0xBAD0000)
_hosts = itertools.count(0x100)

MISS = make_cookie(SIGHTING.feature)
LEARNED = make_cookie(Feature.LEARNED, 1)
IN_PORT_1 = struct.pack("!HHII4x", 1, 12, 0x80000004, 1)


def packet_in(match: bytes, data: bytes, cookie: int = MISS) -> bytes:
    """A packet-in with any match and data."""
    head = struct.pack("!IHBBQ", 0xFFFFFFFF, len(data), 1, 40, cookie)
    return message(of.PACKET_IN, head + match + b"\0\0" + data)


def flow_removed(match: bytes) -> bytes:
    """A FLOW_REMOVED of a learned address with any match."""
    head = struct.pack("!QHBBIIHHQQ", LEARNED, 200, 0, 40, 1, 0, 300, 0, 0, 0)
    return message(of.FLOW_REMOVED, head + match)


def flow_stats(body: bytes) -> bytes:
    """An unasked flow-stats reply."""
    return message(of.MULTIPART_REPLY, struct.pack("!HH4x", of.FLOW_STATS, 0) + body)


def multipart(kind: int, zeros: int, begin: bytes = b"") -> bytes:
    """An unasked multipart reply of little but zeros."""
    return message(of.MULTIPART_REPLY, struct.pack("!HH4x", kind, 0) + begin + bytes(zeros))


FRAME = frames.arp_request(frames.host(0xEE))
BEFORE_HANDSHAKE = {
    "http": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "zeros": bytes(64),
    "ones": b"\xff" * 64,
    "length-0": struct.pack("!BBHI", 4, 0, 0, 1),
    "length-7": struct.pack("!BBHI", 4, 0, 7, 1),
    "length-more-than-comes": struct.pack("!BBHI", 4, 0, 0xFFFF, 1) + bytes(100),
    "old-version": message(of.HELLO, version=1),
    "future-version": message(of.HELLO, version=77),
    "hello-element-of-length-0": message(of.HELLO, struct.pack("!HH", 1, 0)),
    "hello-element-cut-short": message(of.HELLO, struct.pack("!HH", 1, 400)),
    "no-hello": message(of.FEATURES_REPLY, struct.pack("!QIBBxxII", 1, 0, 254, 0, 0, 0)),
    "short-features": message(of.HELLO) + message(of.FEATURES_REPLY, b"\0\0\0"),
    "unasked-ports": message(of.HELLO)
    + message(of.MULTIPART_REPLY, struct.pack("!HH4x", of.PORT_DESC, 0) + bytes(63)),
    "half-a-header": b"\x04\x00\x00",
}
AFTER_HANDSHAKE = {
    "unknown-type": message(99, b"what?"),
    "empty-packet-in": message(of.PACKET_IN),
    "short-packet-in": message(of.PACKET_IN, struct.pack("!IHBBQ", 0, 4, 1, 40, MISS)),
    "packet-in-no-data": packet_in(IN_PORT_1, b""),
    "packet-in-13-bytes": packet_in(IN_PORT_1, FRAME[:13]),
    "packet-in-no-match": packet_in(struct.pack("!HH4x", 1, 4), FRAME),
    "packet-in-match-too-long": packet_in(struct.pack("!HH4x", 1, 0xFFF0), FRAME),
    "packet-in-match-length-0": packet_in(struct.pack("!HH4x", 1, 0), FRAME),
    "packet-in-bad-oxm": packet_in(struct.pack("!HHI", 1, 8, 0x800004FF), FRAME),
    "packet-in-foreign-cookie": packet_in(IN_PORT_1, b"\x81\x00", 7),
    "packet-in-unknown-port": packet_in(struct.pack("!HHII4x", 1, 12, 0x80000004, 4711), FRAME),
    "packet-in-group-source": packet_in(IN_PORT_1, b"\xff" * 60),
    "packet-in-cut-tag": packet_in(IN_PORT_1, FRAME[:12] + b"\x81\x00"),
    "empty-flow-removed": message(of.FLOW_REMOVED),
    "flow-removed-no-match": flow_removed(b""),
    "flow-removed-match-too-long": flow_removed(struct.pack("!HH4x", 1, 0xFFF0)),
    "flow-removed-match-length-0": flow_removed(struct.pack("!HH4x", 1, 0)),
    "flow-removed-bad-oxm": flow_removed(struct.pack("!HHI", 1, 8, 0x80000CFF)),
    "flow-removed-unknown-field": flow_removed(struct.pack("!HHIBxxx", 1, 9, 0x80001401, 6)),
    "flow-stats-length-0": flow_stats(bytes(56)),
    "flow-stats-cut-short": flow_stats(struct.pack("!HBx", 200, 40)),
    "multipart-3-bytes": message(of.MULTIPART_REPLY, b"\0\1\0"),
    "multipart-unknown": message(of.MULTIPART_REPLY, struct.pack("!HH4x", 0x7777, 0)),
    "multipart-half-a-port": message(
        of.MULTIPART_REPLY, struct.pack("!HH4x", of.PORT_DESC, 0) + of.port_desc(1, "x")[:33]
    ),
    "empty-port-status": message(of.PORT_STATUS),
    "port-status-unknown-reason": message(
        of.PORT_STATUS, struct.pack("!B7x", 200) + of.port_desc(9, "nine")
    ),
    "port-status-name-not-utf8": message(
        of.PORT_STATUS,
        struct.pack("!B7x", 0) + of.port_desc(9, "x").replace(b"x" + bytes(15), b"\xff" * 16),
    ),
    "empty-error": message(of.ERROR),
    "error-4-bytes": message(of.ERROR, b"\0\1\0\1"),
    "error-about-learned": message(of.ERROR, struct.pack("!HH", 5, 1), xid=0x0FA90000),
    "short-experimenter": message(of.EXPERIMENTER, b"\0\0"),
    "long-echo": message(of.ECHO_REQUEST, bytes(60000)),
    # Lists of things that give their own length: none of them may be 0, or a reader that trusts
    # it never comes to the end.  os-ken's does (4.2.2), and everybody waits with it.
    "hello-again-length-0": message(of.HELLO, bytes(8)),
    "flow-mod-length-0": message(14, bytes(100)),
    "queue-config-length-0": message(23, bytes(40)),
    "multipart-flow-length-0": multipart(1, 108),
    "multipart-group-length-0": multipart(6, 40),
    "multipart-group-desc-length-0": multipart(7, 8),
    "multipart-group-desc-bucket-length-0": multipart(7, 24, b"\0\x20\0\0\0\0\0\1"),
    "multipart-meter-length-0": multipart(9, 100),
    "multipart-meter-config-length-0": multipart(10, 8),
    "multipart-table-features-length-0": multipart(12, 100),
    "second-features": message(
        of.FEATURES_REPLY, struct.pack("!QIBBxxII", 0xBEEF, 0, 254, 0, 0, 0)
    ),
    "wrong-version": message(of.ECHO_REQUEST, version=1),
    "length-0": struct.pack("!BBHI", 4, 10, 0, 1),
    "zeros": bytes(64),
}


@pytest.fixture(scope="module")
def witness(vswitchd: VSwitchd, controller: Controller) -> Bridge:
    """A well-behaved switch that must notice nothing."""
    bridge = vswitchd.add_bridge(ports=2)
    controller.connect(bridge)
    return bridge


@pytest.fixture(autouse=True)
def _recover(witness: Bridge, controller: Controller) -> Iterator[None]:
    """No exception leaves a handler; and a test that hangs the controller fails alone."""
    mark = len(controller.log())
    yield
    reply = None
    with contextlib.suppress(OSError):
        reply = controller.api("GET", "/v1/bridges", timeout=2)
    if reply is None or not controller.alive:
        controller.restart()
        controller.wait_ready(witness)
    assert "Traceback" not in controller.log()[mark:]


def assert_undisturbed(witness: Bridge, controller: Controller) -> None:
    """The other switch learns as ever, on the connection it had."""
    number = next(_hosts)
    learn(controller, witness, number, port=1, seconds=3)
    assert controller.alive
    assert controller.bridge(witness)["connected"]


@pytest.mark.parametrize("rubbish", BEFORE_HANDSHAKE.values(), ids=BEFORE_HANDSHAKE)
def test_rubbish_before_the_handshake(
    witness: Bridge, controller: Controller, rubbish: bytes
) -> None:
    with FakeSwitch(controller.ofp_port) as fake:
        fake.send(rubbish)
        assert_undisturbed(witness, controller)
    assert_undisturbed(witness, controller)


@pytest.mark.parametrize("rubbish", AFTER_HANDSHAKE.values(), ids=AFTER_HANDSHAKE)
def test_rubbish_from_a_known_switch(
    witness: Bridge, controller: Controller, rubbish: bytes
) -> None:
    dpid = next(_dpids)
    with FakeSwitch(controller.ofp_port) as fake:
        fake.handshake(dpid)
        fake.serve(dpid, lull=0.05)
        fake.send(rubbish)
        fake.send(message(of.ECHO_REQUEST, b"still there?", xid=0x1234))
        answered_or_hung_up(fake)
        assert_undisturbed(witness, controller)


def answered_or_hung_up(fake: FakeSwitch) -> None:
    """The controller is done with what it was sent: it answers, or gives the switch up."""
    while (got := fake.receive()) is not None:
        if got[0] == of.ECHO_REPLY and got[2] == b"still there?":
            return
    assert fake.hung_up(0.1), "neither an answer nor a closed connection"


@pytest.mark.parametrize("kind", [1, 6, 7, 10, 11, 13])
@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 24, 64, 100])
def test_answers_that_are_cut_short_or_nothing_but_zeros(
    witness: Bridge, controller: Controller, kind: int, length: int
) -> None:
    """To what was asked, under its transaction id; every other question is answered well."""
    dpid = next(_dpids)
    with FakeSwitch(controller.ofp_port) as fake:
        fake.handshake(dpid)
        while (got := fake.receive(0.05)) is not None:
            type_, xid, body = got
            if type_ == of.MULTIPART_REQUEST and body[1] == kind:
                fake.send(message(of.MULTIPART_REPLY, body[:8] + bytes(length), xid))
                break
            fake.answer(type_, xid, body, dpid)
        assert_undisturbed(witness, controller)


def test_malformed_messages_are_counted(witness: Bridge, controller: Controller) -> None:
    dpid = next(_dpids)
    with FakeSwitch(controller.ofp_port) as fake:
        fake.handshake(dpid)
        fake.serve(dpid)
        before = malformed(controller, dpid)
        fake.send(AFTER_HANDSHAKE["packet-in-13-bytes"] + AFTER_HANDSHAKE["empty-port-status"])
        wait_for(lambda: malformed(controller, dpid) >= before + 2, "both to be counted")


def malformed(controller: Controller, dpid: int) -> int:
    """How many malformed messages of *dpid* were dropped."""
    counters = controller.get(f"/v1/bridges/{dpid:016x}")["counters"]
    return sum(count for name, count in counters.items() if "malformed" in name)


def test_random_mutations_of_good_messages(witness: Bridge, controller: Controller) -> None:
    rng = random.Random(20261121)
    good = [
        packet_in(IN_PORT_1, FRAME),
        flow_removed(struct.pack("!HHII4x", 1, 12, 0x80000004, 1)),
        message(of.PORT_STATUS, struct.pack("!B7x", 0) + of.port_desc(5, "five")),
        message(of.MULTIPART_REPLY, struct.pack("!HH4x", of.PORT_DESC, 0) + of.port_desc(1, "a")),
        flow_stats(
            struct.pack("!HBxIIHHHH4xQQQHH4x", 56, 40, 1, 0, 200, 300, 0, 1, MISS, 1, 1, 1, 4)
        ),
        message(of.ERROR, struct.pack("!HH", 4, 1) + bytes(64)),
        message(of.BARRIER_REPLY),
        message(of.ECHO_REPLY, b"x"),
    ]
    for _ in range(20):
        dpid = next(_dpids)
        with FakeSwitch(controller.ofp_port) as fake:
            fake.handshake(dpid)
            for _ in range(50):
                body = bytearray(rng.choice(good))
                for _ in range(rng.randrange(1, 6)):
                    body[rng.randrange(4, len(body))] = rng.randrange(256)
                body = body[: rng.randrange(8, len(body) + 1)]
                struct.pack_into("!H", body, 2, len(body))
                fake.send(bytes(body))
        assert controller.alive
    assert_undisturbed(witness, controller)


def test_half_a_message_holds_up_nobody(witness: Bridge, controller: Controller) -> None:
    dpid = next(_dpids)
    with FakeSwitch(controller.ofp_port) as fake:
        fake.handshake(dpid)
        fake.serve(dpid, lull=0.05)
        whole = packet_in(IN_PORT_1, FRAME)
        fake.send(whole[:20])
        assert_undisturbed(witness, controller)
        fake.send(whole[20:])
        path = f"/v1/bridges/{dpid:016x}/fdb"
        wait_for(
            lambda: controller.get(path, mac=frames.host(0xEE))["entries"],
            "the host",
            tick=lambda: fake.serve(dpid, lull=0.05),  # what the controller has yet to ask
        )


def test_a_crowd_of_silent_connections(witness: Bridge, controller: Controller) -> None:
    crowd = [FakeSwitch(controller.ofp_port) for _ in range(50)]
    try:
        assert_undisturbed(witness, controller)
    finally:
        for fake in crowd:
            fake.__exit__(None, None, None)
    assert_undisturbed(witness, controller)


@pytest.mark.parametrize("kind", [of.FLOW_STATS, of.PORT_DESC], ids=["flows", "ports"])
def test_an_answer_without_end_ends_its_connection_and_no_other(
    witness: Bridge, controller: Controller, kind: int
) -> None:
    dpid = next(_dpids)
    with FakeSwitch(controller.ofp_port) as fake:
        fake.handshake(dpid)
        asked = None
        while asked is None:
            got = fake.receive()
            assert got is not None, "it was not asked"
            type_, xid, body = got
            if type_ == of.MULTIPART_REQUEST and body[:2] == struct.pack("!H", kind):
                asked = xid
            else:
                fake.answer(type_, xid, body, dpid)
        entry = struct.pack("!HBxIIHHHH4xQQQHH4x", 56, 40, 1, 0, 200, 300, 0, 1, MISS, 1, 1, 1, 4)
        item = entry if kind == of.FLOW_STATS else of.port_desc(7, "seven")
        part = struct.pack("!HH4x", kind, 1) + item * (60_000 // len(item))
        for _ in range(1000):  # 60 MB
            fake.send(message(of.MULTIPART_REPLY, part, asked))
        assert fake.hung_up(20)
    wait_for(
        lambda: any(
            event["datapath_id"] == f"{dpid:016x}" for event in controller.events("openflow.fault")
        ),
        "the event",
    )
    assert_undisturbed(witness, controller)
