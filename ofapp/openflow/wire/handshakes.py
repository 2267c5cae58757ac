"""Connections before the end of their handshake, which are limited in time and number.

Any host that reaches the OpenFlow port can connect.  One that does no handshake but answers echoes
looks alive to os-ken, and a thousand of them kept a thousand descriptors [measured].
"""

import time
from collections import Counter
from collections.abc import Callable
from typing import Any, Protocol

from ofapp.bridge.event import Event
from ofapp.common import hub
from ofapp.common.peer import host
from ofapp.openflow.wire.channel import Channel
from ofapp.openflow.wire.events import OPENFLOW_FULL, OPENFLOW_FULL_CLEARED, OPENFLOW_UNINTRODUCED
from ofapp.osken import server

PATIENCE = 20.0
"""Seconds for the handshake; those while the switch's messages wait here do not count."""
MOST = 2048
"""Connections before their handshake: more than there can be bridges may come at once."""
PERIOD = 1.0
"""Seconds between checks."""


class Pending(Protocol):
    """A connection, as far as its handshake goes."""

    address: Any

    @property
    def introduced(self) -> bool: ...

    @property
    def behind(self) -> bool: ...

    @property
    def dead(self) -> bool: ...

    def close(self) -> None: ...


class Handshakes:
    """Connections before the end of their handshake.  emit: emits an event, about no bridge.

    counters: connections closed because they came to nothing (`late`), or were too many (`crowd`);
    times when no connection could be taken (`full`).
    """

    def __init__(self, emit: Callable[[int | None, Event], None]) -> None:
        self.counters: Counter[str] = Counter()
        self._emit = emit
        self._waiting: dict[Pending, float] = {}  # the first that came is first

    def add(self, connection: Pending, now: float) -> None:
        """Add a connection; where there are too many, close one of the peer with the most."""
        self._waiting[connection] = now
        if len(self._waiting) <= MOST:
            return
        self.review(now)
        if len(self._waiting) > MOST:
            peers = Counter(host(each.address) for each in self._waiting)
            ((peer, count),) = peers.most_common(1)
            oldest = next(
                connection for connection in self._waiting if host(connection.address) == peer
            )
            self._close(oldest, "crowd", f"{count} of the {MOST} there may be are its peer's")

    def review(self, now: float) -> None:
        """Forget connections whose handshake is done; close those that take too long."""
        for connection, since in list(self._waiting.items()):
            if connection.introduced or connection.dead:
                del self._waiting[connection]
            elif connection.behind:
                self._waiting[connection] = now
            elif now - since >= PATIENCE:
                self._close(connection, "late", f"it has not within {PATIENCE:.0f} s")

    def report_full(self, why: str) -> None:
        """Report that no connection can be accepted, and why; "": one can again."""
        self.counters["full"] += bool(why)
        if why:
            message = f"no switch can connect: {why}; those that are connected are served"
            self._emit(None, OPENFLOW_FULL.event(message))
        else:
            self._emit(None, OPENFLOW_FULL_CLEARED.event("switches can connect again"))

    def watch(self) -> None:
        """Review periodically."""
        while True:
            hub.sleep(PERIOD)
            self.review(time.monotonic())

    def _close(self, connection: Pending, counter: str, why: str) -> None:
        peer = host(connection.address)
        del self._waiting[connection]
        self.counters[counter] += 1
        message = f"closed a connection from {peer} that has not introduced itself: {why}"
        data = {"peer": peer}
        self._emit(None, OPENFLOW_UNINTRODUCED.event(message, data=data))
        connection.close()


def serve_with(admit: Callable[[Channel, int], bool], handshakes: Handshakes) -> None:
    """Make os-ken's listener give every connection a Channel.

    admit: asked once with the channel and its datapath id, before any app hears of it; False
        ends the connection.
    """

    def connected(socket: Any, address: Any) -> None:
        channel = Channel(socket, address, admit)
        handshakes.add(channel, time.monotonic())
        try:
            channel.serve()
        finally:
            channel.close()

    server.serve_with(connected)
    server.SwitchServer.report = staticmethod(handshakes.report_full)
