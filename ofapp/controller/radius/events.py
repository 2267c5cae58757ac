"""Events of the RADIUS client."""

from __future__ import annotations

from ofapp.bridge.event import ERROR, EventKind

SECRET = EventKind(
    "radius.secret",
    ERROR,
    "The secret that is shared with RADIUS servers cannot be read: no host is authenticated.",
    "Write the secret into the first line of the file `secret_file`, which ofapp must be able to"
    " read.",
    "file why",
)
