"""The pipeline, declared: tables, the kinds of flow that each may hold, and where they lead.

Every flow this package sends is one of these rules; `check` refuses any other, so a mistake in
a builder shows in the first test and not as a complaint of a switch.  PIPELINE.md beside this
file shows the same tables with the flows of a real switch, and a test compares the two.

No frame waits for the controller: a frame from an unknown source is copied to it (`source/miss`)
and goes on to the destination table in the same pass.
"""

from __future__ import annotations

from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.flow import Flow
from ofapp.openflow.model.rule import Rule, Table, TableId
from ofapp.openflow.pipeline.acl import ACL
from ofapp.openflow.pipeline.admission import ADMISSION, STORM, VLAN
from ofapp.openflow.pipeline.destination import DESTINATION, EGRESS, FLOOD
from ofapp.openflow.pipeline.multicast import MULTICAST, SNOOP
from ofapp.openflow.pipeline.owner import OWNER
from ofapp.openflow.pipeline.source import SOURCE

__all__ = ["FLOOD_GROUP", "PIPELINE", "PipelineError", "Rule", "Table", "TableId", "check"]

FLOOD_GROUP = 1
"""Where frames flood to on a bridge without VLANs, and in VLANs that are like most."""
VLAN_GROUPS = 0x0D000000
"""Flood sets of VLANs, by the lowest VID of the class (see `ofapp.bridge.reach`)."""
PORT_GROUPS = 0x0E000000
"""What leads to a port by way of the egress table, by the port's number."""
ENTRY_GROUPS = 0x0F000000
"""Multicast entries."""
_GROUPS_END = 0x10000000


def is_our_group(group: int) -> bool:
    """Whether a group's number is one that this package gives."""
    return group == FLOOD_GROUP or VLAN_GROUPS <= group < _GROUPS_END


PIPELINE = (
    *(ADMISSION, VLAN, STORM, ACL, SOURCE, DESTINATION, MULTICAST, SNOOP, FLOOD, EGRESS),
    OWNER,
)

_RULES = {
    (table.id, rule.priority, rule.feature, rule.match): rule
    for table in PIPELINE
    for rule in table.rules
}


_OPEN = {table.id: [rule for rule in table.rules if rule.optional] for table in PIPELINE}


class PipelineError(ValueError):
    """A flow that the pipeline does not declare."""


def find_rule(table: int, priority: int, feature: int, fields: frozenset[str]) -> Rule | None:
    """The rule that flows of this kind are instances of."""
    rule = _RULES.get((TableId(table), priority, Feature(feature), fields))
    if rule is not None:
        return rule
    kinds = _OPEN[TableId(table)]
    return next((kind for kind in kinds if kind.allows(priority, feature, fields)), None)


def check(flow: Flow) -> Rule:
    """The rule that the flow is an instance of; PipelineError when there is none."""
    fields = frozenset(match.field for match in flow.match)
    rule = find_rule(flow.table, flow.priority, flow.feature, fields)
    if rule is None:
        raise PipelineError(f"no rule of table {TableId(flow.table).name} declares {flow}")
    if flow.goto not in rule.goto:
        raise PipelineError(f"rule {rule.name} leads to {rule.goto}, not to {flow.goto}")
    kinds = {action.kind for action in flow.actions}
    if not kinds <= rule.actions:
        raise PipelineError(f"rule {rule.name} may not apply {sorted(kinds - rule.actions)}")
    return rule
