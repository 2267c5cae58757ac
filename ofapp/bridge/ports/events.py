"""Events of a bridge's ports."""

from ofapp.bridge.event import ERROR, INFO, SET, WARNING, EventKind

BRIDGE_CONFIGURED = EventKind(
    "bridge.configured", INFO, "The bridge runs with a changed configuration."
)
PORT_ADDED = EventKind("port.added", INFO, "A port was added to the switch.", fields="name")
PORT_REMOVED = EventKind("port.removed", INFO, "A port was removed from the switch.", fields="name")
PORT_RENAMED = EventKind("port.renamed", INFO, "A port was renamed.", fields="name")
PORT_AMBIGUOUS = EventKind(
    "port.ambiguous",
    WARNING,
    "Several ports of a switch have the same name, as OpenFlow has 15 characters of a name.",
    "Give the ports names that differ in their first 15 characters, or use their numbers.",
    "name numbers",
)
PORT_AMBIGUOUS_CLEARED = EventKind(
    "port.ambiguous.cleared",
    INFO,
    "No two ports of a switch have this name any more.",
    fields="name",
)
PORT_UP = EventKind("port.up", INFO, "The link of a port came up.", fields="name")
PORT_DOWN = EventKind(
    "port.down", INFO, "The link of a port went down.", "Check its cable.", "name"
)
PORT_SET = EventKind("port.set", INFO, SET, fields="...")
PORT_LIMIT = EventKind(
    "port.limit",
    ERROR,
    "The limit of ports of a bridge was reached; further ports stay closed.",
    "Remove ports, or use another bridge.",
)
PORT_LIMIT_CLEARED = EventKind("port.limit.cleared", INFO, "There is room for ports again.")
