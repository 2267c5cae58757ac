"""IGMP and MLD messages to the controller, by ingress port."""

from __future__ import annotations

from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.flow import Flow, in_port
from ofapp.openflow.model.rule import Table, TableId, rule
from ofapp.openflow.pipeline.meters import Copy, to_controller

SNOOP = Table(
    TableId.SNOOP,
    "By which port an IGMP or MLD message came: each port has its own meter.",
    (
        rule(
            "snoop",
            100,
            "in_port",
            Feature.SNOOP,
            "The whole frame to the controller, and nowhere else.",
            actions="controller",
        ),
    ),
)


def snoop_flow(port: int, metered: bool) -> Flow:
    """The flow that sends a port's IGMP and MLD to the controller."""
    copy = to_controller(port, Copy.SNOOPED, metered)
    return Flow(TableId.SNOOP, 100, (in_port(port),), Feature.SNOOP, (copy,))
