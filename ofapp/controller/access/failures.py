"""Failed logins: counted, logged and rate-limited by peer.

No request is delayed: after too many failures a peer is refused at once, with any credentials,
until some seconds have passed without a failure.  So it costs no greenlet, and does not affect
other peers.  A token that was used from there before is still accepted.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable

from ofapp.bridge.event import Event
from ofapp.common.buckets import MOST, Buckets
from ofapp.controller.access.events import (
    API_LOGIN_LIMITED,
    API_LOGIN_LIMITED_CLEARED,
    API_LOGIN_REJECTED,
)

BURST, EVERY = 10, 5.0
"""Burst of failures of one peer, and seconds for each further one."""

Emit = Callable[[int | None, Event], None]


class Failures:
    """counts: rejected logins, by reason."""

    def __init__(self, emit: Emit) -> None:
        self.counts: Counter[str] = Counter()
        self._emit = emit
        self._buckets = Buckets(BURST, 1 / EVERY)
        self._limited: OrderedDict[str, float] = OrderedDict()  # peers, and until when

    def limited(self, peer: str, now: float) -> bool:
        """Whether this peer has to try later; now: monotonic."""
        until = self._limited.get(peer)
        if until is None:
            return False
        if now < until:
            return True
        del self._limited[peer]
        event = API_LOGIN_LIMITED_CLEARED.event(f"{peer} may try to log in again")
        self._emit(None, event)
        return False

    def failed(self, peer: str, why: str, now: float) -> None:
        """Count and log invalid credentials of a peer."""
        self.counts[why] += 1
        message = f"a login from {peer} was rejected: {why}"
        data = {"peer": peer, "why": why}
        self._emit(None, API_LOGIN_REJECTED.event(message, data=data))
        if not self._buckets.take(peer, now):
            self._limited[peer] = now + EVERY
            if len(self._limited) > MOST:
                self._limited.popitem(last=False)
            message = f"{peer} has failed to log in too often, and has to wait for {EVERY:g} s"
            event = API_LOGIN_LIMITED.event(message, data={"peer": peer})
            self._emit(None, event)
