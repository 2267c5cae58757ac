"""The table where beacons are found, and dropped on ports that are closed for them."""

from __future__ import annotations

from collections.abc import Iterator

from ofapp.openflow.model.beacon import NUMBER

from ofapp.openflow.model.flow import Flow, in_port
from ofapp.openflow.model.rule import ONWARD, rule
from ofapp.openflow.model.traps import trap_rules
from ofapp.openflow.pipeline.table import Ingress, Table

FEATURE = 0x41


def _flows(ingress: Ingress) -> Iterator[Flow]:
    yield Flow(NUMBER, 1, (in_port(ingress.port.number),), FEATURE, (), ingress.onward)


BEACON = Table(
    NUMBER,
    "beacon",
    "Ports that are closed for beacons.",
    (
        rule("closed", 10, "in_port eth_type", FEATURE, "A beacon: dropped."),
        *trap_rules(NUMBER),
        rule("rest", 1, "in_port", FEATURE, "Everything else.", ONWARD),
    ),
    port_flows=_flows,
    passes=lambda port, metered: bool(port.wanted("beacon")),
)
