"""Connections before the end of their handshake, which are limited in time and number.

Any host that reaches the OpenFlow port can connect.  One that does no handshake but answers echoes
looks alive to os-ken, and a thousand of them kept a thousand descriptors [measured].
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any, Protocol

from os_ken.controller import controller

from ofapp.bridge.event import Event
from ofapp.common import hub
from ofapp.openflow.wire.channel import Channel
from ofapp.openflow.wire.events import OPENFLOW_FULL, OPENFLOW_FULL_CLEARED, OPENFLOW_UNINTRODUCED

PATIENCE = 20.0
"""Seconds for the handshake; those while the switch's messages wait here do not count."""
MOST = 2048
"""Connections before their handshake: more than there can be bridges may come at once."""
PERIOD = 1.0
"""Seconds between checks."""


class Caller(Protocol):
    """A connection."""

    address: Any

    @property
    def introduced(self) -> bool: ...

    @property
    def behind(self) -> bool: ...

    @property
    def dead(self) -> bool: ...

    def close(self) -> None: ...


class Reception:
    """tell: emits an event, about no bridge.

    counters: connections closed because they came to nothing (`late`), or were too many (`crowd`);
    times when no connection could be taken (`full`).
    """

    def __init__(self, tell: Callable[[int | None, Event], None]) -> None:
        self.counters: Counter[str] = Counter()
        self._tell = tell
        self._waiting: dict[Caller, float] = {}  # the first that came is first

    def come(self, caller: Caller, now: float) -> None:
        """Take in a connection; where there are too many, the peer with the most loses one."""
        self._waiting[caller] = now
        if len(self._waiting) <= MOST:
            return
        self.review(now)
        if len(self._waiting) > MOST:
            peers = Counter(map(_peer, self._waiting))
            ((peer, count),) = peers.most_common(1)
            oldest = next(caller for caller in self._waiting if _peer(caller) == peer)
            self._dismiss(oldest, "crowd", f"{count} of the {MOST} there may be are its peer's")

    def review(self, now: float) -> None:
        """Forget connections whose handshake is done; close those that take too long."""
        for caller, since in list(self._waiting.items()):
            if caller.introduced or caller.dead:
                del self._waiting[caller]
            elif caller.behind:
                self._waiting[caller] = now
            elif now - since >= PATIENCE:
                self._dismiss(caller, "late", f"it has not within {PATIENCE:.0f} s")

    def full(self, why: str) -> None:
        """No connection can be taken, for want of descriptors, say; "": one can again."""
        self.counters["full"] += bool(why)
        if why:
            message = f"no switch can connect: {why}; those that are connected are served"
            self._tell(None, OPENFLOW_FULL.event(message))
        else:
            self._tell(None, OPENFLOW_FULL_CLEARED.event("switches can connect again"))

    def watch(self) -> None:
        """Review periodically, for ever."""
        while True:
            hub.sleep(PERIOD)
            self.review(time.monotonic())

    def _dismiss(self, caller: Caller, counter: str, why: str) -> None:
        del self._waiting[caller]
        self.counters[counter] += 1
        message = f"closed a connection from {_peer(caller)} that has not introduced itself: {why}"
        data = {"peer": _peer(caller)}
        self._tell(None, OPENFLOW_UNINTRODUCED.event(message, data=data))
        caller.close()


def _peer(caller: Caller) -> str:
    address = caller.address
    return str(address[0]) if isinstance(address, tuple) and address else str(address)


def serve_with(admit: Callable[[Channel, int], bool], reception: Reception) -> None:
    """Make os-ken's listener give every connection a Channel.

    admit: asked once with the channel and its datapath id, before any app hears of it; False
        ends the connection.
    """

    def connected(socket: Any, address: Any) -> None:
        channel = Channel(socket, address, admit)
        reception.come(channel, time.monotonic())
        try:
            channel.serve()
        finally:
            channel.close()

    controller.datapath_connection_factory = connected
    hub.SwitchServer.told = staticmethod(reception.full)
