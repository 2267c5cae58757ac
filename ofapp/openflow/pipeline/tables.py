"""The pipeline, declared: tables, the kinds of flow that each may hold, and where they lead.

Every flow this package sends is one of these rules; `check` refuses any other, so a mistake in
a builder shows in the first test and not as a complaint of a switch.  PIPELINE.md beside this
file shows the same tables with the flows of a real switch, and a test compares the two.

No frame waits for the controller: a frame from an unknown source is copied to it (`source/miss`)
and goes on to the destination table in the same pass.
"""

from dataclasses import replace

from ofapp.openflow.model.flow import Flow
from ofapp.openflow.model.rule import ONWARD, Rule
from ofapp.openflow.pipeline.access import ACCESS
from ofapp.openflow.pipeline.acl import ACL
from ofapp.openflow.pipeline.admission import ADMISSION
from ofapp.openflow.pipeline.answer import ANSWER, VOUCH
from ofapp.openflow.pipeline.away import AWAY, TRAPS
from ofapp.openflow.pipeline.claims import CLAIMS
from ofapp.openflow.pipeline.destination import DESTINATION
from ofapp.openflow.pipeline.egress import EGRESS
from ofapp.openflow.pipeline.fabric.crossing import ENTER, LEAVE, OUTER, UNKNOWN
from ofapp.openflow.pipeline.fabric.forwarding import FABRIC, HOP
from ofapp.openflow.pipeline.flood import FLOOD
from ofapp.openflow.pipeline.guard import CHECKED, GUARD, REFUSED
from ofapp.openflow.pipeline.lag import LAG
from ofapp.openflow.pipeline.mark import MARK
from ofapp.openflow.pipeline.multicast import MULTICAST
from ofapp.openflow.pipeline.nested import NESTED
from ofapp.openflow.pipeline.own import OWN
from ofapp.openflow.pipeline.owner import OWNER
from ofapp.openflow.pipeline.rate import RATE
from ofapp.openflow.pipeline.snoop import SNOOP
from ofapp.openflow.pipeline.source import SOURCE
from ofapp.openflow.pipeline.states import COMMIT, STATES, TRACK
from ofapp.openflow.pipeline.storm import STORM
from ofapp.openflow.pipeline.table import Table
from ofapp.openflow.pipeline.types import TYPES
from ofapp.openflow.pipeline.vlan import VLAN

_DECLARED = (
    ADMISSION,
    ACCESS,
    VLAN,
    MARK,
    STORM,
    TYPES,
    CLAIMS,
    TRAPS,
    AWAY,
    GUARD,
    REFUSED,
    CHECKED,
    ACL,  # its flows are not those of ports: they lead to the source table, so it stands before it
    TRACK,
    STATES,
    COMMIT,
    NESTED,
    SOURCE,
    OWN,
    ANSWER,
    VOUCH,
    DESTINATION,
    MULTICAST,
    SNOOP,
    UNKNOWN,
    FLOOD,
    EGRESS,
    RATE,
    LAG,
    ENTER,
    OUTER,
    FABRIC,
    HOP,
    LEAVE,
    OWNER,
)
"""All tables in the order in which frames pass them.  A new one needs an entry here and no more."""


def _resolved(table: Table) -> Table:
    """The table, with the tables that follow it in the place of `ONWARD`."""
    later = _DECLARED[_DECLARED.index(table) + 1 :]
    onward = tuple(each.id for each in later if each.passes is not None)
    rules = (
        replace(rule, goto=(*(to for to in rule.goto if to != ONWARD), *onward))
        if ONWARD in rule.goto
        else rule
        for rule in table.rules
    )
    return replace(table, rules=tuple(rules))


PIPELINE = tuple(map(_resolved, _DECLARED))
NAMES = {table.id: table.name for table in PIPELINE}

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
    rule = _RULES.get((table, priority, feature, fields))
    if rule is not None:
        return rule
    kinds = _OPEN[table]
    return next((kind for kind in kinds if kind.allows(priority, feature, fields)), None)


def check(flow: Flow) -> Rule:
    """The rule that the flow is an instance of; PipelineError when there is none."""
    fields = frozenset(match.field for match in flow.match)
    rule = find_rule(flow.table, flow.priority, flow.feature, fields)
    if rule is None:
        raise PipelineError(f"no rule of table {NAMES[flow.table]} declares {flow}")
    if flow.goto not in rule.goto:
        raise PipelineError(f"rule {rule.name} leads to {rule.goto}, not to {flow.goto}")
    kinds = {action.kind for action in flow.actions}
    if not kinds <= rule.actions:
        raise PipelineError(f"rule {rule.name} may not apply {sorted(kinds - rule.actions)}")
    return rule
