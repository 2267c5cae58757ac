"""Who changed what, from what to what: as events, and in a log of its own.

Whatever carries a change out says so here (`record`), in words and with both values, at the very
place where it knows them; who asked for it is known to the greenlet that it happens in.  So two
requests that come at once are not taken for each other.  No secret passes through here: changes
are told by the names of their fields, and a body is never told as a whole.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel

from ofapp.bridge.event import Event, Severity
from ofapp.common.buckets import Buckets
from ofapp.common.printable import printable
from ofapp.controller.state.trail import Trail

SHOWN = 1000
"""Most changes of one request that are told; how many more there are is, too."""
DENIALS, DENIALS_RATE = 50, 0.1
"""Refusals of one caller that the log has at once, and a second from then on: whoever may do
nothing must not push out of it what others have done."""
IN_WORDS = 5
"""Of them in the event's sentence."""

_changes: ContextVar[list[str] | None] = ContextVar("changes", default=None)


def record(change: str) -> None:
    """This is being changed, if anybody keeps a record of it: once, and in a line."""
    changes = _changes.get()
    if changes is not None:
        changes.append(change)


def record_fields(about: str, old: BaseModel, changes: Mapping[str, Any]) -> None:
    """The same of fields of something, which had other values before."""
    if _changes.get() is None:
        return
    before = old.model_dump(mode="json")
    for name, value in changes.items():
        record(f"{about}: {name}: {_shown(before.get(name))} -> {_shown(value)}")


def _shown(value: Any) -> str:
    return "none" if value is None else json.dumps(value, ensure_ascii=False)


class Audit:
    """The trail of one controller."""

    def __init__(self, tell: Callable[[int | None, Event], None], trail: Trail) -> None:
        self._tell = tell
        self._trail = trail
        self._denials = Buckets(DENIALS, DENIALS_RATE)

    @contextmanager
    def act(self, who: str, role: str, address: str, what: str) -> Iterator[None]:
        """Around what somebody asked for."""
        self.begin()
        try:
            yield
        finally:
            self.end(who, role, address, what)

    def begin(self) -> None:
        """What this greenlet changes from now on is recorded."""
        _changes.set([])

    def end(self, who: str, role: str, address: str, what: str) -> None:
        """Tell what it was, if it was anything, and who asked for it."""
        changes = _changes.get() or []
        _changes.set(None)
        if changes:
            self._note("audit.change", who, role, address, what, changes)

    def denied(self, who: str, role: str, address: str, what: str) -> None:
        """Somebody who is known has asked for what they may not do."""
        self._note("audit.denied", who, role, address, what, [])

    def _note(
        self, kind: str, who: str, role: str, address: str, what: str, changes: list[str]
    ) -> None:
        more = max(0, len(changes) - SHOWN)
        told = [printable(change) for change in changes[:SHOWN]]
        data: dict[str, object] = {"who": who, "role": role, "from": address, "request": what}
        if kind == "audit.change":
            data |= {"changes": told} | ({"more": more} if more else {})
        words = "; ".join(told[:IN_WORDS]) or "refused, as this role may not do that"
        if len(changes) > IN_WORDS:
            words += f"; and {len(changes) - IN_WORDS} more"
        severity = Severity.INFO if kind == "audit.change" else Severity.WARNING
        message = f"{who} ({role}) from {address}: {what}: {words}"
        self._tell(None, Event(kind, message, severity, data=data))
        if kind == "audit.denied" and not self._denials.take(who, time.monotonic()):
            return
        moment = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._trail.add(json.dumps({"time": moment, "kind": kind} | data))
