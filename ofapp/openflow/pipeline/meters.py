"""Meters: what is counted and held back, by kind and port.

Each kind of copy for the controller and each kind of storm has a separate meter on every port, so
that none can crowd out another.  A meter's number says its port and kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import IntEnum

from ofapp.bridge.desired import Desired, DesiredPort
from ofapp.bridge.lag.desired import DesiredLag
from ofapp.bridge.ports.port import LOCAL_PORT
from ofapp.openflow.model.flow import Flow, Meter, ToController
from ofapp.openflow.pipeline.acl import acl_meters

BPDU_RATE = 100
"""BPDUs of one port, a second, that reach the controller; a neighbour sends one in two seconds."""
SNOOP_RATE = 500
"""IGMP, MLD and router messages of one port, a second, that reach the controller."""
LACP_RATE = 50
"""LACPDUs and markers of one member, a second, that reach the controller; a partner sends one."""
LLDP_RATE = 20
"""LLDPDUs of one port, a second, that reach the controller; a neighbour sends one in 30 seconds."""
ADDRESS_RATE = 10
"""ARP and neighbour solicitations of one bridge, a second, that are copied to the controller."""
COPY_LENGTH = 64
ADDRESS_LENGTH = 96
"""Up to the target of a neighbour solicitation (RFC 4861 4.3), with two tags."""
WHOLE_FRAME = 0xFFFF  # OFPCML_NO_BUFFER
_LOCAL = 0xFFFF  # LOCAL's port number is no meter id; OFPP_MAX ports end below


class Copy(IntEnum):
    """The kinds of frames that are metered: storms, and copies for the controller."""

    SIGHTING = 0
    BPDU = 1
    SNOOPED = 2
    BROADCAST = 3
    MULTICAST = 4
    UNKNOWN_UNICAST = 5
    LACP = 6
    LLDP = 7
    ADDRESS = 8


APART = (Copy.LACP, Copy.LLDP, Copy.ADDRESS)
"""Kinds that do not come and go with the bridge's ports: the switch's own ports', the bridge's."""
ADDRESS_METER = Meter(Copy.ADDRESS << 16, ADDRESS_RATE)
"""The meter of a bridge's samples of IP addresses, for all ports together."""


def desired_meters(desired: Desired) -> Iterator[Meter]:
    """The meters that the flows point to."""
    for port in desired.ports:
        yield from port_meters(port)
    for lag in desired.lags:
        yield from lag_meters(lag)
    yield from map(lldp_meter, desired.lldp)
    yield ADDRESS_METER
    yield from acl_meters(desired)


def port_meters(port: DesiredPort) -> Iterator[Meter]:
    """A port's meters: one for its sightings, one for its BPDUs and so on."""
    yield sighting_meter(port)
    if port.hello_time:
        yield Meter(meter_id(port.number, Copy.BPDU), BPDU_RATE)
    if port.snoops:
        yield Meter(meter_id(port.number, Copy.SNOOPED), SNOOP_RATE)
    storm = port.policy.storm
    rates = {
        Copy.BROADCAST: storm.broadcast,
        Copy.MULTICAST: storm.multicast,
        Copy.UNKNOWN_UNICAST: storm.unknown_unicast,
    }
    for kind, rate in rates.items():
        if rate is not None:
            yield Meter(meter_id(port.number, kind), rate)


def lag_meters(lag: DesiredLag) -> Iterator[Meter]:
    """One for the LACPDUs of each member."""
    return (Meter(meter_id(member, Copy.LACP), LACP_RATE) for member in lag.lacp)


def lldp_meter(port: int) -> Meter:
    """The meter of a port's LLDPDUs."""
    return Meter(meter_id(port, Copy.LLDP), LLDP_RATE)


def sighting_meter(port: DesiredPort) -> Meter:
    """The meter of a port's sightings."""
    return Meter(meter_id(port.number), port.rate)


def metered_by(flows: Iterable[Flow]) -> Iterator[int]:
    """The meters of the copies that these flows make for the controller."""
    for flow in flows:
        for action in flow.actions:
            if isinstance(action, ToController) and action.meter is not None:
                yield action.meter


def to_controller(port: int, copy: Copy, metered: bool) -> ToController:
    """The copy of a port's frame for the controller: the head alone for an unknown source."""
    length = COPY_LENGTH if copy is Copy.SIGHTING else WHOLE_FRAME
    return ToController(length, meter_id(port, copy) if metered else None)


def meter_id(port: int, copy: Copy = Copy.SIGHTING) -> int:
    """The meter of a port's copies of one kind: the port's number, above it the kind."""
    return copy << 16 | (_LOCAL if port == LOCAL_PORT else port)


def metered(meter: int) -> tuple[int, Copy] | None:
    """The port and the kind of copies that a meter is for; None for a meter that is not ours."""
    port, kind = meter & 0xFFFF, meter >> 16
    if kind > max(Copy):
        return None
    return (LOCAL_PORT if port == _LOCAL else port), Copy(kind)
