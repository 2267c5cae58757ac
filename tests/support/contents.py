"""What a switch is to hold."""

from __future__ import annotations

from ofapp.bridge.desired import Desired
from ofapp.openflow.model.flow import Flow
from ofapp.openflow.pipeline.entries import GroupNumbers
from ofapp.openflow.switch.program import program


def wanted_flows(desired: Desired, metered: bool) -> list[Flow]:
    """All flows that a switch is to hold, except learned addresses and versions of a plan."""
    return [*program(desired, metered, GroupNumbers()).flows.values()]
