"""IGMP and MLD messages to the controller, by ingress port."""

from ofapp.openflow.model.rule import TableId
from ofapp.openflow.model.traps import trap_rules
from ofapp.openflow.pipeline.table import Table

SNOOP = Table(
    TableId.SNOOP,
    "snoop",
    "IGMP and MLD messages by ingress port: each port has its own meter.",
    tuple(trap_rules(TableId.SNOOP)),
)
