"""Events of spanning tree."""

from ofapp.bridge.event import BY_ITSELF, DEBUG, ERROR, INFO, SET, WARNING, EventKind

STP_SET = EventKind("stp.set", INFO, SET, fields="...")
STP_PORT_SET = EventKind("stp.port.set", INFO, SET, fields="...")
STP_STATE = EventKind("stp.state", INFO, "A port's state changed.", fields="old new role reason")
STP_ROLE = EventKind("stp.role", INFO, "A port's role changed.", fields="old new reason")
STP_ROOT = EventKind(
    "stp.root", INFO, "The root changed.", fields="old new root_port root_path_cost"
)
STP_TOPOLOGY_CHANGE = EventKind(
    "stp.topology-change", INFO, "A topology change was detected or heard.", fields="cause count"
)
STP_EDGE = EventKind("stp.edge", INFO, "A port is an edge port now, or no longer.")
STP_MIGRATION = EventKind(
    "stp.migration", INFO, "A port speaks STP or RSTP as its neighbour.", fields="version"
)
STP_BPDU_GUARD = EventKind(
    "stp.bpdu-guard",
    WARNING,
    "A port was closed or reopened: a BPDU arrived on a port that must not receive any.",
    "See what is connected there; then `ofapp stp recover`.",
    "guard active count",
    others=(INFO, ERROR),
)
STP_ROOT_GUARD = EventKind(
    "stp.root-guard",
    WARNING,
    "A port was closed or reopened: a superior root was announced where none is allowed.",
    f"See what is connected there; {BY_ITSELF}",
    "guard active count",
    others=(INFO, ERROR),
)
STP_LOOP_GUARD = EventKind(
    "stp.loop-guard",
    WARNING,
    "A port was closed or reopened: BPDUs stopped without a link failure.",
    f"See what is connected there; {BY_ITSELF}",
    "guard active count",
    others=(INFO, ERROR),
)
STP_SELF_LOOP = EventKind(
    "stp.self-loop",
    WARNING,
    "A port was closed or reopened: the bridge received its own BPDUs.",
    "See what is connected there; remove the loop there.",
    "guard active count",
    others=(INFO, ERROR),
)
STP_BPDU_SENT = EventKind(
    "stp.bpdu.sent", DEBUG, "A BPDU was sent (`ofapp stp trace`).", fields="..."
)
STP_BPDU_RECEIVED = EventKind(
    "stp.bpdu.received", DEBUG, "A BPDU was received (`ofapp stp trace`).", fields="..."
)
STP_BPDU_DROPPED = EventKind(
    "stp.bpdu.dropped",
    WARNING,
    "A malformed BPDU was ignored.",
    "See what is connected to the port.",
    "reason",
)
