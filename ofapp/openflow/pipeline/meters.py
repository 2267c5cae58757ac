"""Meters: what is counted and held back, by kind and port.

Each kind of frames for the controller and each kind of storm has a separate meter on every port, so
that none can crowd out another.  A meter's number says its port and kind.
"""

from collections.abc import Iterator

from ofapp.bridge.desired import Desired, DesiredPort
from ofapp.bridge.ports.port import LOCAL_PORT
from ofapp.openflow.model.flow import Meter, ToController
from ofapp.openflow.model.trap import MeterKind, Trap, TrapPort
from ofapp.openflow.model.traps import (
    ADDRESS,
    BROADCAST,
    LIMITED,
    MULTICAST,
    OWN,
    RATE_IN,
    SIGHTING,
    TRAPS,
    UNKNOWN_UNICAST,
)
from ofapp.openflow.pipeline.acl import acl_meters

_LOCAL = 0xFFFF  # LOCAL's port number is no meter id; OFPP_MAX ports end below
_OF_PORTS = tuple((trap, trap.of_port) for trap in TRAPS if trap.of_port is not None)
_KINDS = {kind.meter: kind for kind in LIMITED}

ADDRESS_METER = Meter(ADDRESS.meter << 16, ADDRESS.rate or 0)
"""The meter of a bridge's samples of IP addresses, for all ports together."""
OWN_METER = Meter(OWN.meter << 16, OWN.rate or 0)
"""The meter of frames with the bridge's own address as the source, for all ports together."""


def base_meters(desired: Desired) -> Iterator[Meter]:
    """The meters that belong to no port."""
    yield ADDRESS_METER
    yield OWN_METER
    yield from acl_meters(desired)


def port_meters(port: DesiredPort) -> Iterator[Meter]:
    """A port's meters: one for each kind of frames that it limits."""
    for trap, place in _OF_PORTS:
        if place(port) is not None:
            yield Meter(meter_id(port.number, trap), trap.rate or port.rate)
    storm = port.policy.storm
    rates = (
        (BROADCAST, storm.broadcast),
        (MULTICAST, storm.multicast),
        (UNKNOWN_UNICAST, storm.unknown_unicast),
    )
    for kind, rate in rates:
        if rate is not None:
            yield Meter(meter_id(port.number, kind), rate)
    if port.policy.rate_in is not None:
        yield Meter(meter_id(port.number, RATE_IN), port.policy.rate_in, kbps=True)


def trap_meter(trap: Trap, place: TrapPort) -> Meter:
    """The meter of a trap that is not of the bridge's ports."""
    assert trap.rate is not None
    return Meter(meter_id(place.port, trap), trap.rate)


def to_controller(port: int, trap: Trap, metered: bool) -> ToController:
    """The action that sends a port's frames of one kind to the controller."""
    return ToController(trap.octets, meter_id(port, trap) if metered else None)


def meter_id(port: int, kind: MeterKind = SIGHTING) -> int:
    """The meter of a port's frames of one kind: the port's number, above it the kind."""
    return kind.meter << 16 | (_LOCAL if port == LOCAL_PORT else port)


def metered(meter: int) -> tuple[int, MeterKind] | None:
    """The port and the kind of frames that a meter limits; None for another meter."""
    port, kind = meter & 0xFFFF, _KINDS.get(meter >> 16)
    if kind is None:
        return None
    return (LOCAL_PORT if port == _LOCAL else port), kind
