"""Beacons for the controller: frames of an experimental EtherType."""

from __future__ import annotations

from ofapp.bridge.desired import DesiredPort
from ofapp.openflow.model.flow import Match
from ofapp.openflow.model.trap import Trap, TrapPort, TrapRule

NUMBER, FRAMES = 6, Match("eth_type", 0x88B6)


def _where_enabled(port: DesiredPort) -> TrapPort | None:
    return TrapPort(port.number) if port.wanted("beacon") else None


BEACON = Trap(
    name="beacon",
    feature=0x40,
    meter=40,
    rate=50,
    rule=TrapRule(NUMBER, "beacon", 5, "Beacons.", (FRAMES,)),
    of_port=_where_enabled,
    event="beacon",
    what="beacons",
)
