"""Events of IGMP and MLD snooping."""

from ofapp.bridge.event import INFO, SET, WARNING, EventKind

MCAST_SET = EventKind("mcast.set", INFO, SET, fields="...")
MCAST_PORT_SET = EventKind("mcast.port.set", INFO, SET, fields="...")
MCAST_QUERIER = EventKind("mcast.querier", INFO, "The querier of a VLAN changed.", fields="...")
MCAST_ROUTER = EventKind(
    "mcast.router",
    INFO,
    "A multicast router was discovered behind a port, or has gone.",
    fields="...",
)
MCAST_ROUTER_REFUSED = EventKind(
    "mcast.router.refused",
    WARNING,
    "A query or message of a multicast router was dropped on a port with `router: false`.",
    "Find the host that sends it, or allow routers at the port: `first_hop: {router: true}`.",
    "message vlan",
)
MCAST_LIMIT_REACHED = EventKind(
    "mcast.limit.reached",
    WARNING,
    "A port reached a limit of multicast groups or hosts; what exceeds it is refused.",
    "Raise the limit, or find the host that joins so many groups.",
    "limit",
)
MCAST_LIMIT_RECOVERED = EventKind(
    "mcast.limit.recovered", INFO, "The port is below its limit again.", fields="limit"
)
MCAST_VLANS = EventKind(
    "mcast.vlans",
    WARNING,
    "A port reached the limit of VLANs with multicast snooping; its other VLANs flood.",
    "See which host sends in that many VLANs.",
    "limit",
)
MCAST_VLANS_CLEARED = EventKind(
    "mcast.vlans.cleared", INFO, "The port may use snooping in further VLANs."
)
MCAST_CHANGES = EventKind(
    "mcast.changes",
    WARNING,
    "Topology changes keep coming; members are queried less often.",
    "Find the port that flaps: `ofapp events --kind stp`.",
    "changes",
)
MCAST_CHANGES_CLEARED = EventKind("mcast.changes.cleared", INFO, "Topology changes have ended.")
