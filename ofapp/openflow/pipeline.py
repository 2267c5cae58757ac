"""The pipeline, declared: tables, the kinds of flow that each may hold, and where they lead.

Every flow this package sends is one of these rules; `check` refuses any other, so a mistake in
a builder shows in the first test and not as a complaint of a switch.  PIPELINE.md beside this
file shows the same tables with the flows of a real switch, and a test compares the two.

No frame waits for the controller: a frame from an unknown source is copied to it (`source/miss`)
and goes on to the destination table in the same pass.
"""

from __future__ import annotations

from ofapp.openflow.cookie import Feature
from ofapp.openflow.flow import Flow
from ofapp.openflow.rule import Rule, Table, TableId
from ofapp.openflow.tables.admission import ADMISSION
from ofapp.openflow.tables.destination import DESTINATION
from ofapp.openflow.tables.multicast import MULTICAST, SNOOP
from ofapp.openflow.tables.source import SOURCE

__all__ = ["FLOOD_GROUP", "PIPELINE", "PipelineError", "Rule", "Table", "TableId", "check"]

FLOOD_GROUP = 1

PIPELINE = (ADMISSION, SOURCE, DESTINATION, MULTICAST, SNOOP)

_RULES = {
    (table.id, rule.priority, rule.feature, rule.match): rule
    for table in PIPELINE
    for rule in table.rules
}


class PipelineError(ValueError):
    """A flow that the pipeline does not declare."""


def check(flow: Flow) -> Rule:
    """The rule that the flow is an instance of; PipelineError when there is none."""
    fields = frozenset(match.field for match in flow.match)
    rule = _RULES.get((TableId(flow.table), flow.priority, Feature(flow.feature), fields))
    if rule is None:
        raise PipelineError(f"no rule of table {TableId(flow.table).name} declares {flow}")
    if flow.goto not in rule.goto:
        raise PipelineError(f"rule {rule.name} leads to {rule.goto}, not to {flow.goto}")
    kinds = {action.kind for action in flow.actions}
    if not kinds <= rule.actions:
        raise PipelineError(f"rule {rule.name} may not apply {sorted(kinds - rule.actions)}")
    return rule
