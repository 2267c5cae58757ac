"""IGMP and MLD messages to the controller, by ingress port."""

from __future__ import annotations

from ofapp.openflow.model.rule import Table, TableId
from ofapp.openflow.model.traps import trap_rules

SNOOP = Table(
    TableId.SNOOP,
    "By which port an IGMP or MLD message came: each port has its own meter.",
    tuple(trap_rules(TableId.SNOOP)),
)
