"""Events of kinds that only tests have."""

from __future__ import annotations

from collections.abc import Mapping

from ofapp.bridge.event import NO_DATA, Event, EventKind, Severity, Text


def made_event(
    kind: str,
    text: Text,
    severity: Severity = Severity.INFO,
    port: int | None = None,
    data: Mapping[str, object] = NO_DATA,
) -> Event:
    """An event of a kind that is not in the catalogue."""
    return EventKind(kind, severity, "").event(text, port, data)
