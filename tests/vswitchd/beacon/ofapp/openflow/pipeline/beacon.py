"""Ports that are closed for beacons: the switch drops them."""

from __future__ import annotations

from collections.abc import Iterator

from ofapp.bridge.beacon.on_bridge import CLOSED
from ofapp.openflow.model.beacon import FRAMES

from ofapp.openflow.model.flow import Flow, in_port
from ofapp.openflow.model.rule import ONWARD, rule
from ofapp.openflow.pipeline.table import Ingress, Table

NUMBER, FEATURE = 5, 0x41


def _flows(ingress: Ingress) -> Iterator[Flow]:
    here = in_port(ingress.port.number)
    yield Flow(NUMBER, 10, (here, FRAMES), FEATURE)
    yield Flow(NUMBER, 1, (here,), FEATURE, (), ingress.onward)


BEACON = Table(
    NUMBER,
    "beacon",
    "Ports that are closed for beacons.",
    (
        rule("closed", 10, "in_port eth_type", FEATURE, "A beacon: dropped."),
        rule("rest", 1, "in_port", FEATURE, "Everything else.", ONWARD),
    ),
    port_flows=_flows,
    passes=lambda port, metered: port.wanted("beacon") == CLOSED,
)
