"""Events of stored documents and of the audit trail."""

from __future__ import annotations

from ofapp.bridge.event import ERROR, INFO, WARNING, EventKind

STATE_UNSAVED = EventKind(
    "state.unsaved",
    ERROR,
    "Run-time settings cannot be saved; a restart would lose them.",
    "Make room on the disk, or see why etcd does not answer.",
    "error",
)
STATE_SAVED = EventKind(
    "state.saved", INFO, "Settings that could not be saved before are saved now."
)
STATE_DAMAGED = EventKind(
    "state.damaged",
    ERROR,
    "A stored document cannot be read and was set aside.",
    "Restore it from a backup, or make the settings again.",
    "file",
    others=(WARNING,),
)
STATE_LIMIT = EventKind(
    "state.limit",
    WARNING,
    "The limit of stored documents was reached; further ones are not kept.",
    "Forget absent bridges.",
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
