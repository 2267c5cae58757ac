"""What is to be sent while a fence does not hold never reaches the switch."""

import contextlib
from collections.abc import Iterator

import pytest

from ofapp.common import hub
from ofapp.openflow.wire.outbox import FencedError, Outbox


@pytest.fixture
def pair() -> Iterator[tuple[hub.socket.socket, hub.socket.socket]]:
    ours, theirs = hub.socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def received(peer: hub.socket.socket, count: int = 0) -> bytes:
    """So many octets; without, all that has come, and comes within a moment."""
    data = b""
    peer.settimeout(10 if count else 0.05)
    with contextlib.suppress(TimeoutError):
        while (len(data) < count or not count) and (more := peer.recv(1 << 20)):
            data += more
    return data


def test_it_is_asked_when_octets_leave_and_not_when_they_are_given(
    pair: tuple[hub.socket.socket, hub.socket.socket],
) -> None:
    ours, theirs = pair
    outbox, holds = Outbox(ours, lambda: None), True
    outbox.fence(lambda: holds)
    running = hub.spawn(outbox.run)
    outbox.put(b"in time")
    assert received(theirs, 7) == b"in time"
    outbox.put(b"too late")
    holds = False  # (a process that was stopped here, for a minute)
    assert received(theirs) == b""
    running.wait()
    holds = True
    outbox.put(b"once over it is over")
    assert received(theirs) == b""


def test_what_a_slow_peer_has_not_taken_in_time_it_does_not_get(
    pair: tuple[hub.socket.socket, hub.socket.socket],
) -> None:
    ours, theirs = pair
    outbox, left = Outbox(ours, lambda: None), 1
    failed: list[Exception] = []

    def holds() -> bool:
        nonlocal left
        left -= 1
        return left > 0

    outbox.fence(holds)
    hub.watch(failed.append, outbox.run)
    left = 4  # of the questions
    outbox.put(bytes(1 << 22))
    assert len(received(theirs)) < 1 << 22
    assert isinstance(failed[0], FencedError)


def test_without_a_fence_all_of_it_arrives(
    pair: tuple[hub.socket.socket, hub.socket.socket],
) -> None:
    ours, theirs = pair
    outbox = Outbox(ours, lambda: None)
    hub.spawn(outbox.run)
    outbox.put(bytes(1 << 22))
    assert len(received(theirs, 1 << 22)) == 1 << 22
