"""The adapter to the concurrency library: events, and sending without waiting."""

from __future__ import annotations

import struct
from typing import Any

from ofapp.common import hub

# isort: split
import pytest
from eventlet.green import socket, ssl
from os_ken.controller.handler import MAIN_DISPATCHER
from os_ken.ofproto import ofproto_v1_3 as ofp

from ofapp.openflow.wire.channel import Channel
from ofapp.osken import server
from tests.support.waiting import wait_for


def passes(count: int) -> None:
    for _ in range(count):
        hub.sleep(0)


def connection() -> tuple[Any, Any]:
    """Both ends."""
    listening = hub.listen(("127.0.0.1", 0))
    theirs = socket.create_connection(listening.getsockname())
    ours, _ = listening.accept()
    listening.close()
    return ours, theirs


def test_whoever_waits_for_an_event_goes_on_when_it_is_set() -> None:
    event, log = hub.Event(), []

    def wait(name: str, patience: float | None) -> None:
        log.append((name, event.wait(patience)))

    for name in "ab":
        hub.spawn(wait, name, None)
    hub.spawn(wait, "impatient", 0.01)
    killed = hub.spawn(wait, "killed", None)
    wait_for(lambda: log, "a timeout to end", sleep=hub.sleep)
    assert log == [("impatient", False)]
    hub.kill(killed)
    event.set()
    assert log == [("impatient", False)], "in the hub's next pass"
    passes(3)
    assert sorted(log) == [("a", True), ("b", True), ("impatient", False)]
    assert event.wait(), "at once, until it is cleared"
    event.clear()
    assert not event.wait(0)


def test_an_event_that_is_set_and_cleared_at_once_lets_go_all_the_same() -> None:
    event, log = hub.Event(), []
    hub.spawn(lambda: log.append(event.wait()))
    passes(2)
    event.set()
    event.clear()
    passes(3)
    assert len(log) == 1


def test_what_fails_in_a_pass_keeps_nothing_else_from_being_called() -> None:
    log: list[str] = []

    def fail() -> None:
        raise ValueError("a test")

    hub.call_soon(lambda: log.append("first"))
    hub.call_soon(fail)
    hub.call_soon(lambda: log.append("second"))
    passes(2)
    assert log == ["first", "second"]
    hub.call_soon(lambda: hub.call_soon(lambda: log.append("later")))
    passes(3)
    assert log[2:] == ["later"]


def test_who_pauses_and_is_ended_meanwhile_is_not_woken_up() -> None:
    log: list[str] = []

    def run() -> None:
        try:
            hub.pause()
        finally:
            hub.sleep(0.02)
            log.append("over")

    pausing = hub.spawn(run)
    hub.sleep(0)
    hub.kill(pausing)
    hub.call_soon(lambda: log.append("others"))
    hub.pause()
    assert log == ["others"]
    wait_for(lambda: log == ["others", "over"], "its end", sleep=hub.sleep)


def test_what_is_sent_leaves_in_the_next_pass_and_what_there_is_no_room_for_later() -> None:
    ours, theirs = connection()
    made = Channel(ours, ("192.0.2.1", 1), lambda _channel, _dpid: True)
    made.max_unreplied_echo_requests = 0  # the launcher, once imported, has it send some
    serving = hub.spawn(made.serve)
    passes(2)
    made.send(b"one")
    made.send(b"two")
    passes(2)
    hello, said = theirs.recv(8), theirs.recv(100)
    assert hello[1] == ofp.OFPT_HELLO
    assert said == b"onetwo"
    much = bytes(range(256)) * 20_000
    made.send(much)
    passes(3)
    made.send(b"last")
    got = b""
    while len(got) < len(much) + 4:
        got += theirs.recv(1 << 20)
    assert got == much + b"last"
    made.drained(0)
    hub.kill(serving)
    theirs.close()


def test_who_sends_to_a_closed_connection_hears_of_it() -> None:
    ours, theirs = connection()
    made = Channel(ours, ("192.0.2.1", 1), lambda _channel, _dpid: True)
    hub.spawn(made.serve)
    passes(2)
    theirs.close()
    wait_for(lambda: not made.send(b"one"), "the end to be known", sleep=hub.sleep)
    assert made.dead
    assert not made.send(b"two")


def test_what_a_message_brings_about_leaves_before_anything_else_is_done() -> None:
    ours, theirs = connection()
    made = Channel(ours, ("192.0.2.1", 1), lambda _channel, _dpid: True)
    made.set_version(ofp.OFP_VERSION)
    made.set_state(MAIN_DISPATCHER)
    made.request(7, b"question", lambda _reply: made.send(b" and more") and None)
    passes(2)
    theirs.setblocking(False)
    assert theirs.recv(100) == b"question"
    made.receive(struct.pack("!BBHI", ofp.OFP_VERSION, ofp.OFPT_BARRIER_REPLY, 8, 7))
    assert theirs.recv(100) == b" and more"
    ours.close()
    theirs.close()


@pytest.mark.parametrize("said", [b"", b"GET / HTTP/1.1\r\n\r\n"], ids=["nothing", "no TLS"])
def test_a_peer_that_leaves_or_speaks_no_tls_is_reported_in_a_line(
    said: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """It was an uncaught exception with its traceback, for each connection."""
    listening = hub.listen(("127.0.0.1", 0))
    with socket.create_connection(listening.getsockname()) as client:
        client.sendall(said)
    peer, address = listening.accept()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served: list[object] = []
    server._shake_hands(context, lambda *_: served.append(_), peer, address)
    assert served == []
    (record,) = caplog.records
    assert "no TLS handshake: " in record.getMessage()
    assert record.exc_info is None
    assert peer.fileno() == -1
    listening.close()
