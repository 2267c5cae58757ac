"""Failed logins: counted, told of, and slowed down by who tries.

Nobody waits: a peer that has failed too often is answered at once that it is to try later, whatever
it has brought, until some seconds have passed without a failure of its.  So it costs no greenlet,
and no other peer anything; and who comes with the token that was used from there before is let in.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable

from ofapp.bridge.event import Event, Severity
from ofapp.common.buckets import MOST, Buckets

BURST, EVERY = 10, 5.0
"""Failures of one peer at once, and seconds for each from then on."""

Tell = Callable[[int | None, Event], None]


class Failures:
    """counts: rejected logins, by why."""

    def __init__(self, tell: Tell) -> None:
        self.counts: Counter[str] = Counter()
        self._tell = tell
        self._buckets = Buckets(BURST, 1 / EVERY)
        self._limited: OrderedDict[str, float] = OrderedDict()  # peers, and until when

    def limited(self, peer: str, now: float) -> bool:
        """Whether this peer is to try later; now: monotonic."""
        until = self._limited.get(peer)
        if until is None:
            return False
        if now < until:
            return True
        del self._limited[peer]
        event = Event("api.login.limited.cleared", f"{peer} may try to log in again")
        self._tell(None, event)
        return False

    def failed(self, peer: str, why: str, now: float) -> None:
        """It has brought nothing that counts."""
        self.counts[why] += 1
        message = f"a login from {peer} was rejected: {why}"
        data = {"peer": peer, "why": why}
        self._tell(None, Event("api.login.rejected", message, Severity.WARNING, data=data))
        if not self._buckets.take(peer, now):
            self._limited[peer] = now + EVERY
            if len(self._limited) > MOST:
                self._limited.popitem(last=False)
            message = f"{peer} has failed to log in too often, and has to wait for {EVERY:g} s"
            event = Event("api.login.limited", message, Severity.WARNING, data={"peer": peer})
            self._tell(None, event)
