"""First-hop security: which EtherTypes the hosts of a port may send."""

from collections.abc import Iterator

from ofapp.bridge.desired import DesiredPort
from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.flow import Flow, Match, in_port
from ofapp.openflow.model.rule import ONWARD, TableId, rule
from ofapp.openflow.model.traps import guarded
from ofapp.openflow.pipeline.table import Ingress, Table

_RULES = (
    rule(
        "admitted",
        100,
        "in_port eth_type",
        Feature.FIRST_HOP,
        "An EtherType that the port admits, behind the VLAN tag if there is one. Frames with an "
        "LLC header, also BPDUs where no spanning tree runs, have type 0x05ff in Open vSwitch.",
        ONWARD,
    ),
    rule("other", 0, "", Feature.FIRST_HOP, "Any other EtherType.", TableId.REFUSED),
)

_FLOWS = (Flow(TableId.TYPES, 0, (), Feature.FIRST_HOP, (), TableId.REFUSED),)


def _types(port: DesiredPort) -> tuple[int, ...] | None:
    guard = guarded(port)
    return None if guard is None else guard.types


def _port_flows(ingress: Ingress) -> Iterator[Flow]:
    here = in_port(ingress.port.number)
    for kind in _types(ingress.port) or ():
        match = here, Match("eth_type", kind)
        yield Flow(TableId.TYPES, 100, match, Feature.FIRST_HOP, (), ingress.onward)


TYPES = Table(
    TableId.TYPES,
    "types",
    "Which EtherTypes hosts may send (first-hop security). Only frames of ports that have a list "
    "of EtherTypes come here.",
    _RULES,
    flows=lambda desired, _metered: _FLOWS if desired.port_policies.checked else (),
    port_flows=_port_flows,
    passes=lambda port, _metered: _types(port) is not None,
)
