"""Events of first-hop security.

Bindings that come and go are counters, since hosts cause as many as they like.
"""

from ofapp.bridge.event import INFO, SET, WARNING, EventKind

FIRST_HOP_SET = EventKind("first_hop.set", INFO, SET, fields="...")
FIRST_HOP_PORT_SET = EventKind("first_hop.port.set", INFO, SET, fields="...")
BINDINGS_FULL = EventKind(
    "bindings.full",
    WARNING,
    "The limit of bindings of the bridge, a port or a VLAN was reached.",
    "Find the host that asks for many addresses (`ofapp binding show`), or raise `max_bindings`.",
    "limit vlan",
)
BINDINGS_FULL_CLEARED = EventKind(
    "bindings.full.cleared",
    INFO,
    "There is room for bindings again.",
    fields="limit vlan refused",
)
BINDINGS_REFUSED = EventKind(
    "bindings.refused",
    WARNING,
    "A port's frames were refused: their address, role or EtherType is not allowed there.",
    "`ofapp binding refused` lists what was claimed; `ofapp binding add` allows an address.",
    "claim mac vlan address bound_port bound_mac samples passed reason ethertype",
)
BINDINGS_CONFLICT = EventKind(
    "bindings.conflict",
    WARNING,
    "A host claims an address that is bound to another one, and does not get it.",
    "See which of the two hosts is to have the address; `ofapp binding remove` frees it.",
    "mac vlan address origin bound_port bound_mac",
)
BINDINGS_REPLACED = EventKind(
    "bindings.replaced",
    WARNING,
    "A binding of a user has replaced that of another host, which has lost the address.",
    "Give that host another address if the host is still in use.",
    "mac vlan address origin bound_port bound_mac",
)
BINDINGS_MOVED = EventKind(
    "bindings.moved",
    INFO,
    "Bindings have moved with their host to another port, or to another host.",
    fields="mac vlan addresses from_port from_mac from_bridge",
)
