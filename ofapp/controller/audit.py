"""The audit trail: who changed what, with old and new value, as events and in a separate log.

The code that makes a change records it here (`record`), in words and with both values, where it
has them.  The greenlet of the request knows the user, so that simultaneous requests are not mixed
up.  No secret passes through here: changes are recorded by the names of their fields, and a body
is never recorded as a whole.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.event import Event, EventKind
from ofapp.common.buckets import Buckets
from ofapp.common.printable import printable
from ofapp.controller.state.events import AUDIT_CHANGE, AUDIT_DENIED
from ofapp.controller.state.trail import Trail

SHOWN = 1000
"""Most changes of one request that are listed; the number of further ones is given."""
DENIALS, DENIALS_RATE = 50, 0.1
"""Burst of logged refusals of one caller, and their rate per second: a caller without rights must
not push the changes of others out of the log."""
IN_WORDS = 5
"""Most changes in the event's message."""

_changes: ContextVar[list[str] | None] = ContextVar("changes", default=None)


def record(change: str) -> None:
    """Record a change, once and in one line, where a request is being recorded."""
    changes = _changes.get()
    if changes is not None:
        changes.append(change)


def record_of(bridge: Bridge, change: str) -> None:
    """Record a change of a bridge."""
    record(f"{bridge.name} ({bridge.datapath_id:016x}): {change}")


def field_changes(about: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str, ...]:
    """Changed fields of an object in words, with their old and new values, as JSON has them."""
    return tuple(
        f"{about}: {name}: {_shown(old.get(name))} -> {_shown(value)}"
        for name, value in new.items()
    )


def _shown(value: Any) -> str:
    return "none" if value is None else json.dumps(value, ensure_ascii=False)


class Audit:
    """The audit trail of one controller."""

    def __init__(self, emit: Callable[[int | None, Event], None], trail: Trail) -> None:
        self._emit = emit
        self._trail = trail
        self._denials = Buckets(DENIALS, DENIALS_RATE)

    @contextmanager
    def act(self, who: str, role: str, address: str, what: str) -> Iterator[None]:
        """Record the changes of one request, as a context manager."""
        self.begin()
        try:
            yield
        finally:
            self.end(who, role, address, what)

    def begin(self) -> None:
        """Record the changes of this greenlet from now on."""
        _changes.set([])

    def end(self, who: str, role: str, address: str, what: str) -> None:
        """Log the recorded changes, if any, and who requested them."""
        changes = _changes.get() or []
        _changes.set(None)
        if changes:
            self._note(AUDIT_CHANGE, who, role, address, what, changes)

    def denied(self, who: str, role: str, address: str, what: str) -> None:
        """Log a request that was refused because the user's role does not permit it."""
        self._note(AUDIT_DENIED, who, role, address, what, [])

    def _note(
        self, kind: EventKind, who: str, role: str, address: str, what: str, changes: list[str]
    ) -> None:
        more = max(0, len(changes) - SHOWN)
        shown = [printable(change) for change in changes[:SHOWN]]
        data: dict[str, object] = {"who": who, "role": role, "from": address, "request": what}
        if kind is AUDIT_CHANGE:
            data |= {"changes": shown} | ({"more": more} if more else {})
        words = "; ".join(shown[:IN_WORDS]) or "refused: this role may not do that"
        if len(changes) > IN_WORDS:
            words += f"; and {len(changes) - IN_WORDS} more"
        message = f"{who} ({role}) from {address}: {what}: {words}"
        self._emit(None, kind.event(message, data=data))
        if kind is AUDIT_DENIED and not self._denials.take(who, time.monotonic()):
            return
        moment = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._trail.add(json.dumps({"time": moment, "kind": kind.name} | data))
