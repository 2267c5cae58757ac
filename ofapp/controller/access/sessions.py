"""Sessions of the page: a browser gets one for a token, so that the page need not store the token.

A session's key is generated at login, never taken from the client (session fixation), and stored
as a hash, as tokens are.  A session ends with its token, when it is idle for a while, in any case
after a day's work, and with this process.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import OrderedDict
from dataclasses import dataclass

IDLE = 30 * 60.0
"""Seconds without a request after which a session ends."""
LONGEST = 12 * 3600.0
"""Seconds after which a session ends in any case."""
OF_TOKEN, MOST = 16, 512
"""Most sessions of one token and in all; a new one replaces the one unused for the longest."""


@dataclass(slots=True)
class BrowserSession:
    """token, digest: name and hash, as names are reused; opened, used: as `time.time()`."""

    token: str
    digest: bytes
    opened: float
    used: float

    def over(self, now: float) -> bool:
        """Whether the session has expired."""
        return now - self.used >= IDLE or now - self.opened >= LONGEST


class Sessions:
    """Open sessions, the one unused for the longest first."""

    def __init__(self) -> None:
        self._open: OrderedDict[bytes, BrowserSession] = OrderedDict()

    def __len__(self) -> int:
        return len(self._open)

    def open(self, token: str, digest: bytes, now: float) -> str:
        """Open a session; gives its key."""
        for key in [key for key, session in self._open.items() if session.over(now)]:
            del self._open[key]
        keys = [key for key, session in self._open.items() if session.digest == digest]
        if len(keys) >= OF_TOKEN:
            del self._open[keys[0]]
        elif len(self._open) >= MOST:
            self._open.popitem(last=False)
        made = secrets.token_urlsafe(32)
        self._open[_hash(made)] = BrowserSession(token, digest, now, now)
        return made

    def find(self, key: str, now: float) -> BrowserSession | None:
        """The open session with this key."""
        session = self._open.get(_hash(key))
        return None if session is None or session.over(now) else session

    def use(self, key: str, now: float) -> BrowserSession | None:
        """The open session with this key, noting its use."""
        session = self.find(key, now)
        if session is not None:
            session.used = now
            self._open.move_to_end(_hash(key))
        return session

    def close(self, key: str) -> None:
        """End a session."""
        self._open.pop(_hash(key), None)


def _hash(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()
