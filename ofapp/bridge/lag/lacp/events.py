"""Events of LACP."""

from ofapp.bridge.event import BY_ITSELF, INFO, WARNING, EventKind

LACP_PARTNER = EventKind(
    "lacp.partner", INFO, "The LACP partner of a member was discovered or changed.", fields="..."
)
LACP_SILENT = EventKind(
    "lacp.silent",
    WARNING,
    "A partner is silent, but its member is still used.",
    "Check the other end.",
    "lag seconds",
)
LACP_SILENT_CLEARED = EventKind(
    "lacp.silent.cleared", INFO, "The partner is heard again.", fields="lag"
)
LACP_EXPIRED = EventKind(
    "lacp.expired",
    WARNING,
    "A partner was silent for the whole timeout (802.1AX-2014 6.4.12).",
    "Check the other end.",
    "lag seconds",
)
LACP_DEFAULTED = EventKind(
    "lacp.defaulted",
    WARNING,
    "A port that runs LACP hears no partner.",
    "Turn LACP on at the other end, or use `lacp: off` at both.",
    "lag",
)
LACP_STRANGER = EventKind(
    "lacp.stranger",
    WARNING,
    "A member hears another partner than the rest of its aggregation.",
    "See the cabling: all members must lead to one system and key.",
    "lag partner_system",
)
LACP_LOOP = EventKind(
    "lacp.loop", WARNING, "A member hears its own system.", "Remove the loop there.", "lag"
)
LACP_CHURN = EventKind(
    "lacp.churn", WARNING, "Actor and partner do not agree.", "Check both ends.", "lag side"
)
LACP_HELD_BACK = EventKind(
    "lacp.held_back",
    WARNING,
    "A partner changes its state too often; the member is held back.",
    BY_ITSELF,
    "lag count",
)
LACP_DROPPED = EventKind(
    "lacp.dropped",
    WARNING,
    "A malformed LACPDU was ignored.",
    "See what is connected to the port.",
    "lag reason",
)
LACP_UNTOLD = EventKind(
    "lacp.untold",
    WARNING,
    "Events of a member were only counted.",
    "See what the other end does: it changes too often.",
    "lag count",
)
