"""Events of beacons."""

from __future__ import annotations

from ofapp.bridge.event import INFO, SET, WARNING, EventKind

BEACON_SET = EventKind("beacon.set", INFO, SET, fields="...")
BEACON_PORT_SET = EventKind("beacon.port.set", INFO, SET, fields="...")
BEACON_CLOSED = EventKind(
    "beacon.closed",
    WARNING,
    "A port has sent as many beacons as it may.",
    "Raise the limit (`beacon.limit`).",
    "heard",
)
