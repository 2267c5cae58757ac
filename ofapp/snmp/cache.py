"""Cached answers of the controller about a bridge: a walk requests one object at a time.

What is made of an answer is kept with it, so that it is made once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from ofapp.snmp.objects import Json

T = TypeVar("T")
Get = Callable[[str, Mapping[str, str | int | None]], Json]
"""The body of a GET of this path with this query."""

FRESH, FRESH_FDB = 5.0, 30.0
"""Seconds that an answer is good for; the forwarding database may be large."""
PAGE = 5000


class Answers:
    """Cached answers about one bridge.  path: path of the bridge in the API."""

    def __init__(self, path: str, get: Get, clock: Callable[[], float] = time.monotonic) -> None:
        self._path, self._get, self._clock = path, get, clock
        self._kept: dict[str, tuple[float, Any]] = {}

    def bridge(self) -> Json:
        """Return the answer about the bridge itself."""
        return self._ask("", {})

    def ports(self) -> list[Json]:
        """Its ports with their counters, without members of aggregations, by number."""
        listed = self._ask("/ports", {"counters": "true"})["ports"]
        return [port for port in listed if port["lag"] is None and not port["local"]]

    def stp(self) -> Json:
        """Its spanning tree."""
        return self._ask("/stp", {})

    def vlans(self) -> Json:
        """Its VLANs, and those of its ports."""
        return self._ask("/vlans", {})

    def fdb(self) -> list[Json]:
        """All entries of its forwarding database."""
        return self.kept("/fdb", FRESH_FDB, self._entries)

    def kept(self, what: str, seconds: float, make: Callable[[], T]) -> T:
        """Return the cached result of `make` if it is recent enough, or call it."""
        now = self._clock()
        known = self._kept.get(what)
        if known is None or now - known[0] > seconds:
            known = self._kept[what] = (now, make())
        made: T = known[1]
        return made

    def _ask(self, below: str, query: Mapping[str, str | int | None]) -> Json:
        return self.kept(below, FRESH, lambda: self._get(self._path + below, query))

    def _entries(self) -> list[Json]:
        entries: list[Json] = []
        cursor: str | None = None
        while True:
            page = self._get(f"{self._path}/fdb", {"limit": PAGE, "cursor": cursor})
            entries += page["entries"]
            cursor = page["next"]
            if cursor is None:
                return entries
