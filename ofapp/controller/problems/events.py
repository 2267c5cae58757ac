"""Events of problems that begin and end."""

from __future__ import annotations

from ofapp.bridge.event import ERROR, INFO, WARNING, EventKind

BEGAN = EventKind(
    "problem.began",
    WARNING,
    "Something is wrong from now on; `ofapp problems` lists all that is.",
    "The event has a command as `remedy`; `ofapp problems` says more.",
    "id problem remedy",
    others=(ERROR, INFO),
)
ENDED = EventKind(
    "problem.ended", INFO, "A problem does not stand any more.", fields="id problem remedy"
)
