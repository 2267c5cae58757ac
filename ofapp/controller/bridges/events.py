"""Events of bridges that connect, disconnect and are forgotten."""

from __future__ import annotations

from ofapp.bridge.event import ERROR, INFO, WARNING, EventKind

BRIDGE_CONNECTED = EventKind("bridge.connected", INFO, "A switch connected and was identified.")
BRIDGE_DISCONNECTED = EventKind(
    "bridge.disconnected",
    WARNING,
    "The connection to a switch ended; the switch forwards what it knows.",
    "See `ovs-vsctl show` on its host, and whether it reaches the controller.",
)
BRIDGE_DUPLICATE = EventKind(
    "bridge.duplicate",
    ERROR,
    "A second switch with the datapath id of a connected one was refused.",
    "Set other_config:datapath-id on one of the two.",
    "refused running",
)
BRIDGE_RESERVED = EventKind(
    "bridge.reserved",
    WARNING,
    "A switch was refused: a fabric that it has left keeps its datapath id.",
    "Give the switch another datapath id, by the command in the event.",
    "fabric refused",
)
BRIDGE_LIMIT = EventKind(
    "bridge.limit",
    WARNING,
    "A switch was refused: the controller's limit of bridges was reached.",
    "Forget absent bridges (`ofapp bridge forget`), or raise the limit.",
)
BRIDGE_FORGOTTEN = EventKind(
    "bridge.forgotten", INFO, "All stored data of an absent bridge was deleted."
)
BRIDGE_GIVEN_UP = EventKind(
    "bridge.given-up", INFO, "A connection was closed in favour of another one."
)
BRIDGE_NAME_GIVEN_UP = EventKind(
    "bridge.name-given-up", INFO, "An absent bridge lost its name to a new bridge."
)
CONTROLLER_STALLED = EventKind(
    "controller.stalled",
    WARNING,
    "The controller did not run for a while; protocol timers were paused.",
    "See what used its CPU.",
    "...",
)
RECORDING_FULL = EventKind(
    "controller.recording-full",
    WARNING,
    "The recording has its most octets; from now on the last minutes of each bridge are kept.",
    "Save it by `ofapp record FILE`; a restart with --record begins the next one.",
    "octets",
)
