"""How a frame leaves by a port when nothing more is asked: straight, or by a member of it."""

from __future__ import annotations

from ofapp.bridge.ports.policies import PortPolicies
from ofapp.openflow.model.flow import Action, Forwarding, Output, Resubmit, SetRegister
from ofapp.openflow.model.rule import Register, TableId


def out_by(policies: PortPolicies, port: int) -> tuple[Action, ...]:
    """The actions that send a frame out of a port, which may be an aggregation's."""
    return through(port) if port in policies.aggregated else (Output(port),)


def through(lag: int) -> tuple[Forwarding, ...]:
    """The actions that send a frame out of one of an aggregation's members."""
    return SetRegister(Register.EGRESS, lag), Resubmit(TableId.LAG)
