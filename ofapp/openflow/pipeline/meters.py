"""Meters: what is counted and held back, kind by kind and port by port.

Each kind of copy for the controller and each kind of storm has a meter of its own on every port, so
that none can crowd out another.  A meter's number says whose it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.ports import LOCAL_PORT
from ofapp.openflow.model.flow import Meter
from ofapp.openflow.pipeline.acl_flows import acl_meters

BPDU_RATE = 100
"""BPDUs of one port, a second, that reach the controller; a neighbour sends one in two seconds."""
SNOOP_RATE = 500
"""IGMP, MLD and router messages of one port, a second, that reach the controller."""
_LOCAL = 0xFFFF  # LOCAL's port number is no meter id; OFPP_MAX ports end below


class Copy(IntEnum):
    """The kinds of frames that are metered: the first three are copies for the controller."""

    SIGHTING = 0
    BPDU = 1
    SNOOPED = 2
    BROADCAST = 3
    MULTICAST = 4
    UNKNOWN_UNICAST = 5


def desired_meters(bridge: Bridge) -> Iterator[Meter]:
    """The meters that the flows point to."""
    for port in sorted(bridge.relay.states):
        yield from port_meters(bridge, port)
    yield from acl_meters(bridge)


def port_meters(bridge: Bridge, port: int) -> Iterator[Meter]:
    """A port's: one for its sightings, one for its BPDUs and so on."""
    yield sighting_meter(bridge, port)
    if bridge.traps(port):
        yield Meter(meter_id(port, Copy.BPDU), BPDU_RATE)
    if bridge.multicasting is not None:
        yield Meter(meter_id(port, Copy.SNOOPED), SNOOP_RATE)
    storm = bridge.reach.policy(port).storm
    rates = {
        Copy.BROADCAST: storm.broadcast,
        Copy.MULTICAST: storm.multicast,
        Copy.UNKNOWN_UNICAST: storm.unknown_unicast,
    }
    for kind, rate in rates.items():
        if rate is not None:
            yield Meter(meter_id(port, kind), rate)


def sighting_meter(bridge: Bridge, port: int) -> Meter:
    """That of a port's sightings."""
    return Meter(meter_id(port), bridge.sighting_rate(port))


def meter_id(port: int, copy: Copy = Copy.SIGHTING) -> int:
    """The meter of a port's copies of one kind: the port's number, above it the kind."""
    return copy << 16 | (_LOCAL if port == LOCAL_PORT else port)


def metered(meter: int) -> tuple[int, Copy] | None:
    """The port and the kind of copies that a meter is for; None for somebody else's meter."""
    port, kind = meter & 0xFFFF, meter >> 16
    if kind > max(Copy):
        return None
    return (LOCAL_PORT if port == _LOCAL else port), Copy(kind)
