"""Frames with the bridge's own address as the source: a loop, or a host with the same address."""

from collections.abc import Iterator

from ofapp.bridge.desired import Desired
from ofapp.bridge.effects.fabric import FABRIC_PORT
from ofapp.bridge.ports.port import LOCAL_PORT
from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.flow import Flow, ToController, in_port
from ofapp.openflow.model.rule import TableId, rule
from ofapp.openflow.model.traps import OWN as TRAP
from ofapp.openflow.pipeline.meters import OWN_METER
from ofapp.openflow.pipeline.table import Ingress, Table

_RULES = (
    rule(
        "local",
        100,
        "in_port",
        Feature.PORT,
        "From the bridge's host itself, also by other members of a fabric: pass.",
        TableId.DESTINATION,
    ),
    rule(
        "looped",
        0,
        "",
        TRAP.feature,
        "From any other port, a few heads a second to the controller, which warns and names the "
        "port. The frame passes, as on the Linux bridge.",
        TableId.DESTINATION,
        "controller",
    ),
)


def _looped(_desired: Desired, metered: bool) -> tuple[Flow, ...]:
    copy = (ToController(TRAP.octets, OWN_METER.id),) if metered else ()
    return (Flow(TableId.OWN, 0, (), TRAP.feature, copy, TableId.DESTINATION),)


def _local(ingress: Ingress) -> Iterator[Flow]:
    number = ingress.port.number
    if number in (LOCAL_PORT, FABRIC_PORT):
        match = (in_port(number),)
        yield Flow(TableId.OWN, 100, match, Feature.PORT, (), TableId.DESTINATION)


OWN = Table(
    TableId.OWN,
    "own",
    "Frames with the bridge's own address as the source; no other frame comes here.",
    _RULES,
    flows=_looped,
    port_flows=_local,
)
