"""The catalogue of events: every kind that the controller logs, and what to do about it.

`ofapp events --kinds`, `/v1/events/kinds` and the test of the alert rules read it.  A test fails
for an event that is not in it, or that has another severity or other fields.
"""

from __future__ import annotations

from collections.abc import Mapping

from ofapp.controller.event_kinds.bridge import BRIDGE
from ofapp.controller.event_kinds.kind import EventKind
from ofapp.controller.event_kinds.service import SERVICE

__all__ = ["KINDS", "EventKind"]

KINDS: Mapping[str, EventKind] = {kind.name: kind for kind in (*BRIDGE, *SERVICE)}
