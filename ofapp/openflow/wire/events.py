"""Events of OpenFlow connections."""

from ofapp.bridge.event import ERROR, INFO, WARNING, EventKind

OPENFLOW_UNINTRODUCED = EventKind(
    "openflow.unintroduced",
    WARNING,
    "Connections to the OpenFlow port ended before a switch was identified.",
    "Find out which peer connects there.",
    "...",
)
OPENFLOW_FULL = EventKind(
    "openflow.full",
    ERROR,
    "No further switch can connect.",
    "Raise the limit of open files of the controller.",
)
OPENFLOW_FULL_CLEARED = EventKind("openflow.full.cleared", INFO, "Switches can connect again.")
OPENFLOW_REFUSED = EventKind(
    "openflow.refused",
    ERROR,
    "The switch refused a flow, group or meter.",
    "`ofapp bridge show -j` has all that it refuses; mostly a table is full.",
    "what why",
    others=(WARNING,),
)
OPENFLOW_REFUSED_CLEARED = EventKind(
    "openflow.refused.cleared", INFO, "The switch accepts it now.", fields="what why count"
)
