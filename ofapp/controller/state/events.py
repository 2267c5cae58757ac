"""Events of stored documents and of the audit trail."""

from __future__ import annotations

from ofapp.bridge.event import ERROR, INFO, WARNING, EventKind

STATE_UNSAVED = EventKind(
    "state.unsaved",
    ERROR,
    "What was set at run time cannot be saved; a restart would lose it.",
    "Make room on the disk, or see why etcd does not answer.",
    "error",
)
STATE_SAVED = EventKind("state.saved", INFO, "What could not be saved is saved.")
STATE_DAMAGED = EventKind(
    "state.damaged",
    ERROR,
    "A stored document cannot be read and was set aside.",
    "Restore it from a backup, or make the settings again.",
    "file",
    others=(WARNING,),
)
STATE_LIMIT = EventKind(
    "state.limit", WARNING, "More is stored than is kept.", "Forget absent bridges."
)
AUDIT_CHANGE = EventKind("audit.change", INFO, "A user changed something.", fields="...")
AUDIT_DENIED = EventKind(
    "audit.denied",
    WARNING,
    "A change was refused for lack of rights.",
    "Give the user a token of another role, if the change is meant.",
    "...",
)
AUDIT_UNSAVED = EventKind(
    "audit.unsaved", ERROR, "The audit trail cannot be written.", "Make room on the disk.", "error"
)
AUDIT_SAVED = EventKind("audit.saved", INFO, "The audit trail is written again.", fields="lost")
