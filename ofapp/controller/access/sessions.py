"""Sessions of the page: what a browser is given for a token, so that the page need not keep that.

A session's key is made when somebody logs in, never taken from who asks (session fixation), and is
kept as its hash, as tokens are.  It ends with its token, when nobody has used it for a while, and
in any case after a day's work; and with this process.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import OrderedDict
from dataclasses import dataclass

IDLE = 30 * 60.0
"""Seconds without a request after which it ends."""
LONGEST = 12 * 3600.0
"""Seconds after which it ends in any case."""
OF_TOKEN, MOST = 16, 512
"""At a time, of one token and together; the one unused for the longest makes room."""


@dataclass(slots=True)
class Session:
    """token: its name and hash, as another may get the name; opened, used: as `time.time()`."""

    token: str
    digest: bytes
    opened: float
    used: float

    def over(self, now: float) -> bool:
        """Whether its time has come."""
        return now - self.used >= IDLE or now - self.opened >= LONGEST


class Sessions:
    """Those that are open, the one unused for the longest first."""

    def __init__(self) -> None:
        self._open: OrderedDict[bytes, Session] = OrderedDict()

    def __len__(self) -> int:
        return len(self._open)

    def open(self, token: str, digest: bytes, now: float) -> str:
        """A new one; gives its key."""
        for key in [key for key, session in self._open.items() if session.over(now)]:
            del self._open[key]
        own = [key for key, session in self._open.items() if session.digest == digest]
        if len(own) >= OF_TOKEN:
            del self._open[own[0]]
        elif len(self._open) >= MOST:
            self._open.popitem(last=False)
        made = secrets.token_urlsafe(32)
        self._open[_hash(made)] = Session(token, digest, now, now)
        return made

    def find(self, key: str, now: float) -> Session | None:
        """The open session with this key."""
        session = self._open.get(_hash(key))
        return None if session is None or session.over(now) else session

    def use(self, key: str, now: float) -> Session | None:
        """The same, which is not idle with that."""
        session = self.find(key, now)
        if session is not None:
            session.used = now
            self._open.move_to_end(_hash(key))
        return session

    def close(self, key: str) -> None:
        """It is over."""
        self._open.pop(_hash(key), None)


def _hash(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()
