"""The flow of a port that is closed for beacons."""

from __future__ import annotations

from ofapp.bridge.beacon.effects import ClosedPort
from ofapp.openflow.model.beacon import FRAMES, NUMBER
from ofapp.openflow.pipeline.beacon import FEATURE

from ofapp.openflow.model.flow import Flow, in_port
from ofapp.openflow.pipeline.part import NOTHING, Context, Kind, Part


def _made(port: ClosedPort, _context: Context) -> Part:
    if not port.closed:
        return NOTHING
    return Part(port, (Flow(NUMBER, 10, (in_port(port.port), FRAMES), FEATURE),))


CLOSED = Kind(lambda port: ("beacon", port.port), _made)
