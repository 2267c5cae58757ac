"""Events of LLDP."""

from ofapp.bridge.event import INFO, SET, WARNING, EventKind

LLDP_SET = EventKind("lldp.set", INFO, SET, fields="...")
LLDP_PORT_SET = EventKind("lldp.port.set", INFO, SET, fields="...")
LLDP_NEIGHBOUR = EventKind("lldp.neighbour", INFO, "A neighbour was heard.", fields="...")
LLDP_NEIGHBOUR_CHANGED = EventKind(
    "lldp.neighbour.changed", INFO, "A neighbour announces changed information.", fields="..."
)
LLDP_NEIGHBOUR_GONE = EventKind("lldp.neighbour.gone", INFO, "A neighbour is gone.", fields="...")
LLDP_LIMIT = EventKind(
    "lldp.limit",
    WARNING,
    "The limit of stored neighbours of a port was reached.",
    "See what is behind that port.",
    "...",
)
LLDP_LIMIT_CLEARED = EventKind(
    "lldp.limit.cleared", INFO, "There is room for neighbours again.", fields="..."
)
LLDP_FORGED = EventKind(
    "lldp.forged",
    WARNING,
    "A frame claims to be of a bridge of this controller, and is not.",
    "See what is behind that port: it repeats or forges LLDP.",
    "...",
)
