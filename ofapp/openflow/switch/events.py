"""Events of one connected switch: its master, its flows, its input."""

from ofapp.bridge.event import ERROR, INFO, WARNING, EventKind

BRIDGE_READY = EventKind(
    "bridge.ready", INFO, "The switch has all flows and groups that its bridge wants."
)
BRIDGE_STANDBY = EventKind(
    "bridge.standby",
    WARNING,
    "Another controller is master of the switch; this one is on standby.",
    "Nothing if that is intended; otherwise remove one from `ovs-vsctl get-controller`.",
    "owner reason",
)
BRIDGE_TAKEOVER = EventKind(
    "bridge.takeover", INFO, "This controller became master of a switch.", fields="owner"
)
BRIDGE_LOST = EventKind(
    "bridge.lost",
    WARNING,
    "Another controller became master of the switch.",
    "Nothing in a cluster; otherwise see which controllers the switch is given.",
)
OPENFLOW_THROTTLED = EventKind(
    "openflow.throttled",
    WARNING,
    "A switch sends faster than it can be served; its input is throttled.",
    "Find the storm: `ofapp port show BRIDGE -s --watch 2`.",
)
OPENFLOW_THROTTLED_CLEARED = EventKind(
    "openflow.throttled.cleared", INFO, "The switch's input is not throttled any more."
)
OPENFLOW_FAULT = EventKind(
    "openflow.fault",
    ERROR,
    "A connection was closed because of a defect of ofapp; the switch connects again.",
    "Report it with the log.",
)
