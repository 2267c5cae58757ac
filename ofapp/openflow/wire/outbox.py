"""The send queue of one connection.

A sender never waits for the peer.  What was queued goes out together: with the
hub's next pass at the latest, as far as the socket takes it, and the rest from a greenlet.
Few connections ever have such a rest, so that to send costs no change of greenlets.

A fence is asked here, right before each system call that sends: however long the process was
stopped before, nothing that was meant for another time goes out.
"""

from collections.abc import Callable
from typing import Any

from ofapp.common import hub

PIECE = 1 << 14
"""Bytes between two questions to a fence, where the peer takes them slowly."""


def _nothing() -> None: ...


class FencedError(OSError):
    """The queued messages may not be sent any more."""


class Outbox:
    """The queue.  sent: called when something was sent.

    size: bytes that are not sent yet.
    """

    def __init__(self, socket: Any, sent: Callable[[], None]) -> None:
        self.size = 0
        self._socket = socket
        self._sent = sent
        self._parts: list[bytes] = []
        self._last = False
        self._ended = False
        self._flushes = False
        self._sending = False
        self._holds: Callable[[], bool] | None = None
        self._ready = hub.Event()
        self._drained = hub.Event()

    def put(self, data: bytes, last: bool = False) -> None:
        """Queue data; last: `run` ends when it is sent."""
        self._last |= last
        if data:
            self._parts.append(data)
            self.size += len(data)
        if (data or last) and not self._flushes:
            self._flushes = True
            hub.call_soon(self._flush_soon)

    def hold(self) -> None:
        """Keep what is put until `release`; the queue must be empty before."""
        self._flushes = True

    def release(self) -> None:
        """Send at once what was put meanwhile."""
        self._flushes = False
        self.flush()

    def fence(self, holds: Callable[[], bool]) -> None:
        """Send only while `holds` is true; once it is not, `run` ends with FencedError."""
        self._holds = holds

    def flush(self) -> None:
        """Send at once as much as the socket takes."""
        if self._sending or self._ended:
            return
        if self._parts and not self._last and (self._holds is None or self._holds()):
            data = b"".join(self._parts)
            count = hub.send_now(self._socket, data)
            self._parts = [data[count:]] if count < len(data) else []
            self._went(count)
        if self._parts or self._last:
            self._ready.set()

    def drained(self, size: int) -> None:
        """Wait until no more than so many bytes are unsent; returns at once when it is so."""
        while self.size > size and not self._ended:
            self._drained.clear()
            self._drained.wait()

    def run(self) -> None:
        """Send what the socket did not take at once, until the last.

        Raises OSError and FencedError.
        """
        try:
            while not self._ended:
                self._ready.wait()
                self._ready.clear()
                self._sending = True
                while self._parts:
                    data = b"".join(self._parts)
                    self._parts = []
                    self._send_all(data)
                    self._went(len(data))
                self._sending = False
                if self._last:
                    break
        finally:
            self.end()

    def end(self) -> None:
        """End: nothing can be sent any more."""
        self._ended = True
        self._sent = _nothing  # breaks a reference cycle that only the garbage collector would find
        self._parts = []
        self.size = 0
        self._drained.set()
        self._ready.set()

    def _send_all(self, data: bytes) -> None:
        if self._holds is None:
            self._socket.sendall(data)
            return
        left = memoryview(data)
        while left:
            if not self._holds():
                raise FencedError("what was to be sent may not be any more")
            left = left[self._socket.send(left[:PIECE]) :]

    def _flush_soon(self) -> None:
        self._flushes = False
        self.flush()

    def _went(self, count: int) -> None:
        if count:
            self.size -= count
            self._drained.set()
            self._sent()
