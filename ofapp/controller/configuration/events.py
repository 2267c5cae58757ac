"""Events of the configuration."""

from __future__ import annotations

from ofapp.bridge.event import ERROR, INFO, WARNING, EventKind

CONFIG_RELOADED = EventKind(
    "config.reloaded", INFO, "The configuration file was read again.", fields="..."
)
CONFIG_REFUSED = EventKind(
    "config.refused",
    ERROR,
    "The configuration file is invalid; the running configuration stays in effect.",
    "`ofapp config check FILE` has every mistake.",
    "...",
)
CONFIG_INCOMPLETE = EventKind(
    "config.incomplete",
    ERROR,
    "The configuration file lost most of its content, or its end mark.",
    "If that is meant: `ofapp config reload --force`.",
)
CONFIG_AMBIGUOUS = EventKind(
    "config.ambiguous",
    ERROR,
    "The file has two sections for a bridge: by its name and by its datapath id.",
    "Remove one of the two.",
    "entries",
)
CONFIG_SKIPPED = EventKind(
    "config.skipped",
    WARNING,
    "Part of the configuration could not be applied to a bridge.",
    "Change the file as the message says.",
)
CONFIG_RESTORED = EventKind(
    "config.restored",
    INFO,
    "Parameters that were set at run time were restored.",
    "`ofapp config reload --reset` takes them back.",
    "settings",
)
CONFIG_SET = EventKind(
    "config.set",
    INFO,
    "Settings of a bridge were changed at run time, several at once.",
    fields="changes",
)
