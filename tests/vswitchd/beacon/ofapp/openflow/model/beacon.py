"""Beacons for the controller: frames of an experimental EtherType."""

from __future__ import annotations

from ofapp.bridge.beacon.on_bridge import OPEN

from ofapp.bridge.desired import DesiredPort
from ofapp.openflow.model.flow import Match
from ofapp.openflow.model.rule import TableId
from ofapp.openflow.model.trap import Place, Trap, TrapRule

FRAMES = Match("eth_type", 0x88B6)


def _where_open(port: DesiredPort) -> Place | None:
    return Place(port.number) if port.wanted("beacon") == OPEN else None


BEACON = Trap(
    name="beacon",
    feature=0x40,
    meter=40,
    rate=50,
    rule=TrapRule(TableId.ADMISSION, "beacon", 940, "Beacons.", (FRAMES,)),
    of_port=_where_open,
    event="beacon",
    what="beacons",
)
