"""Rates of what leaves by ports: each port with a rate has a meter behind its egress checks.

A meter is part of a flow, not of an action, and drops the frame with all that the switch would do
with it afterwards.  So the meter gets a separate copy of the frame, which comes back to the egress
table: a flood reaches the other ports although one meter drops.  Frames of the controller and
copies for mirrors do not pass the egress table, so no rate holds for them.

Open vSwitch's queues (QoS) would delay frames where a meter drops them.  But only its database sets
them, they do not work on every kind of port, and BPDUs would wait in them.
"""

from collections.abc import Iterable, Iterator

from ofapp.bridge.desired import Desired
from ofapp.bridge.relay.policies import PortPolicies
from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.flow import (
    Clone,
    Flow,
    Match,
    Meter,
    Resubmit,
    Separate,
    SetRegister,
    in_port,
    register,
)
from ofapp.openflow.model.rule import Register, TableId, rule
from ofapp.openflow.model.traps import RATE_OUT
from ofapp.openflow.pipeline.meters import meter_id
from ofapp.openflow.pipeline.table import Table

_LIMITED = 2
_NOT_LIMITED = Match(f"reg{Register.FLOODED.value}", 0, _LIMITED)
"""A frame that has not passed the meter of the port that it leaves by."""


def rate_meters(policies: PortPolicies, ports: Iterable[int]) -> Iterator[Meter]:
    """The meters of those of the ports that have a rate for what leaves."""
    for port, rate in _rates(policies, ports):
        yield Meter(meter_id(port, RATE_OUT), rate, kbps=True)


def _rates(policies: PortPolicies, ports: Iterable[int]) -> Iterator[tuple[int, int]]:
    """The ports with a rate for what leaves, each with its rate in kbit/s."""
    for port in filter(policies.takes_part, ports):
        if (rate := policies.policy(port).rate_out) is not None:
            yield port, rate


def rate_flows(policies: PortPolicies, ports: Iterable[int]) -> Iterator[Flow]:
    """The flows by which frames pass the meters of `rate_meters`, innermost table first."""
    limited = [port for port, _ in _rates(policies, ports)]
    for port in limited:
        here, back = register(Register.EGRESS, port), (Resubmit(TableId.EGRESS),)
        meter = meter_id(port, RATE_OUT)
        yield Flow(TableId.RATE, 100, (here,), Feature.EGRESS, back, meter=meter)
        if not policies.policy(port).hairpin:
            yield Flow(TableId.EGRESS, 260, (in_port(port), here), Feature.EGRESS)
        through = SetRegister(Register.FLOODED, _LIMITED), Resubmit(TableId.RATE), Separate()
        copied = (Clone(through),)
        yield Flow(TableId.EGRESS, 250, (here, _NOT_LIMITED), Feature.EGRESS, copied)
    if limited:
        yield Flow(TableId.RATE, 0, (), Feature.EGRESS)


def _flows(desired: Desired, metered: bool) -> Iterable[Flow]:
    return rate_flows(desired.port_policies, desired.numbers) if metered else ()


RATE = Table(
    TableId.RATE,
    "rate",
    "Rates of what leaves by ports. `reg0` is the egress port.",
    (
        rule(
            "limited",
            100,
            "reg0",
            Feature.EGRESS,
            "A copy of a frame, out of a port with a rate: the port's meter drops it, or it goes "
            "back to the egress table.",
            actions="resubmit",
        ),
        rule("unlimited", 0, "", Feature.EGRESS, "No such port: drop."),
    ),
    flows=_flows,
)
