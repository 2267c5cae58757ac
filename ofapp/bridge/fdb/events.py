"""Events of the forwarding database."""

from __future__ import annotations

from ofapp.bridge.event import INFO, WARNING, EventKind

FDB_LIMIT = EventKind(
    "fdb.limit",
    WARNING,
    "An address was not learned: the limit of the bridge, a port or a VLAN was reached.",
    "Find the host behind the port that sends many addresses, or limit the port:"
    " `ofapp port set BRIDGE PORT --fdb-max-learned 100`. If they are all real hosts, raise"
    " `fdb_max_learned`.",
    "limit vlan drop learned",
)
FDB_LIMIT_CLEARED = EventKind(
    "fdb.limit.cleared", INFO, "Addresses can be learned again.", fields="limit vlan refused"
)
FDB_HELD = EventKind(
    "fdb.held",
    WARNING,
    "An address that moves too often is held down on its last port.",
    "Look for a loop, a duplicate address or an unnamed bond; `ofapp fdb release` ends it.",
    "mac vlan port elsewhere reason until moves seconds",
)
FDB_HELD_CLEARED = EventKind(
    "fdb.held.cleared",
    INFO,
    "An address is not held down any more.",
    fields="mac vlan port elsewhere reason until moves seconds",
)
FDB_HELD_LIMIT = EventKind(
    "fdb.held.limit",
    WARNING,
    "The limit of held-down addresses was reached; others may flap.",
    "Find the loop: `ofapp fdb held` has the ports.",
    "limit",
)
FDB_HELD_LIMIT_CLEARED = EventKind(
    "fdb.held.limit.cleared", INFO, "Addresses can be held down again."
)
FDB_OWN_ADDRESS = EventKind(
    "fdb.own_address",
    WARNING,
    "A port has received frames with the bridge's own address as the source.",
    "Look for a loop behind the port, or for a host with the same MAC address, such as a cloned"
    " virtual machine; `ofapp fdb show` has the bridge's address as local.",
    "mac vlan frames",
)
FDB_IP_FULL = EventKind(
    "fdb.ip_full",
    WARNING,
    "The table of the hosts' IP addresses is full.",
    "Find the host that claims many addresses: `ofapp fdb show`.",
    "hosts",
)
FDB_IP_FULL_CLEARED = EventKind(
    "fdb.ip_full.cleared", INFO, "There is room for IP addresses of hosts again."
)
