"""Access lists, applied to a frame by its ingress port.

A list's flows are there if the configuration gives it to a port, whether that port is there or
not: a port that comes back finds the list's counters as they were.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from ofapp.bridge.desired import Desired, DesiredPort
from ofapp.bridge.params import acl
from ofapp.bridge.params.policy import AclMatch, AclRule
from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.flow import (
    TO_BRIDGES,
    Action,
    Flow,
    Match,
    Meter,
    in_port,
    register,
)
from ofapp.openflow.model.rule import ONWARD, Register, Rule, TableId, rule
from ofapp.openflow.model.traps import controlled
from ofapp.openflow.pipeline.egress import out_by
from ofapp.openflow.pipeline.mark import set_dscp, set_pcp
from ofapp.openflow.pipeline.nested import DROP_NESTED, TAGS
from ofapp.openflow.pipeline.table import Ingress, Table

TOP = 60000
"""The priority of rules that no earlier one meets."""

_METERS = 1 << 30
"""Meters of rules: this, and the rule's number of 30 bits; those of ports are all below."""

UNLISTED = 20
TO_TRACK = 10
"""The priority of the flows of lists with states, which have their rules in another table."""


def list_rules(onward: TableId) -> tuple[Rule, ...]:
    """The rules of a table with access lists; onward: where frames go that pass."""
    return (
        rule(
            "acl-rule",
            TOP,
            "reg3",
            Feature.ACL,
            "A rule: pass, optionally with another DSCP or PCP, or drop; optionally with a copy "
            "for a mirror. Frames above "
            "the rate of its meter are dropped. Rules that cannot match the same frame "
            "share a priority, so that adding or removing one moves only rules that "
            "depend on its place. A frame that passes by its Ethernet type must have no second tag "
            "that the switch reads: with one tag read, the type is that of the second tag.",
            (onward, None),
            "output register resubmit clone address",
            lowest=TOP - acl.MAX_FLOWS,
            optional=acl.FIELDS,
            drops=True,
        ),
        rule(
            acl.IMPLICIT,
            0,
            "reg3",
            Feature.ACL,
            "Frames that no rule of the list matches: drop.",
        ),
    )


_RULES = (
    rule(
        "bpdu",
        TOP + 1,
        "eth_dst",
        Feature.ACL,
        "BPDUs that pass (see `bpdu-pass`) are subject to no list: the neighbours' spanning "
        "trees must see each other while the controller is disconnected.",
        TableId.SOURCE,
    ),
    *list_rules(TableId.SOURCE),
    rule(
        "unlisted",
        UNLISTED,
        "in_port reg3",
        Feature.ACCESS,
        "Frames of hosts without a list, on a port where a RADIUS server has given one to another "
        "host.",
        ONWARD,
    ),
    rule(
        "states",
        TO_TRACK,
        "reg3",
        Feature.ACL,
        "A list with rules that match the state of a connection: its rules are in table `states`.",
        TableId.TRACK,
    ),
)


def acl_number(name: str) -> int:
    """The list's number in `Register.ACL`."""
    return acl.list_number(name)


def acl_flows(desired: Desired, metered: bool) -> Iterator[Flow]:
    """The flows of all lists in table `acl`.  A mirror whose port is absent gets nothing."""
    if desired.lists:
        yield Flow(TableId.ACL, TOP + 1, (TO_BRIDGES,), Feature.ACL, (), TableId.SOURCE)
    for name, rules in desired.lists.items():
        if acl.stateful(rules):
            match = (register(Register.ACL, acl_number(name)),)
            yield Flow(TableId.ACL, TO_TRACK, match, Feature.ACL, (), TableId.TRACK)
        else:
            yield from rule_flows(desired, name, metered)


def rule_flows(desired: Desired, name: str, metered: bool) -> Iterator[Flow]:
    """The flows of a list's rules, in the table where it has them."""
    rules = desired.lists[name]
    table = TableId.STATES if acl.stateful(rules) else TableId.ACL
    yield _implicit(name, table)
    for entry, flows in zip(rules, _flows(name, rules, metered, table), strict=True):
        to = None if entry.mirror is None else desired.mirrors.get(entry.mirror)
        if to is None:
            yield from flows
        else:
            copy = out_by(desired.port_policies, to)
            yield from (replace(flow, actions=(*flow.actions, *copy)) for flow in flows)


def acl_meters(desired: Desired) -> Iterator[Meter]:
    """The meters of rules with a rate."""
    for name, rules in desired.lists.items():
        for entry in rules:
            if entry.rate is not None:
                yield Meter(rule_meter(name, entry.name), entry.rate)


def rule_meter(name: str, rule: str) -> int:
    """The meter of a rule of the list called `name`."""
    return _METERS | acl.rule_number(name, rule)


def is_rule_meter(meter: int) -> bool:
    """Whether a meter is that of a rule."""
    return bool(meter & _METERS) and not meter >> 31


@lru_cache(256)
def _flows(
    name: str, rules: tuple[AclRule, ...], metered: bool, table: TableId
) -> tuple[tuple[Flow, ...], ...]:
    """Each rule's flows, without copies for mirrors."""
    strict = any(_types(each) & TAGS and not rule.allow for rule in rules for each in rule.matches)
    onward = TableId.COMMIT if table == TableId.STATES else TableId.SOURCE
    base = Flow(table, TOP, (register(Register.ACL, acl_number(name)),), Feature.ACL, recount=True)
    return tuple(
        tuple(
            _flow(
                replace(
                    base,
                    actions=_marks(entry),
                    priority=TOP - level,
                    goto=onward if entry.allow else None,
                    serial=acl.rule_number(name, entry.name),
                    meter=rule_meter(name, entry.name)
                    if metered and entry.rate is not None
                    else None,
                ),
                matches,
                strict,
            )
            for matches, level in zip(entry.matches, levels, strict=True)
        )
        for entry, levels in zip(rules, acl.levels(rules), strict=True)
    )


def _marks(entry: AclRule) -> tuple[Action, ...]:
    dscp = () if entry.dscp is None else (set_dscp(entry.dscp),)
    return dscp if entry.pcp is None else (*dscp, set_pcp(entry.pcp))


def _types(match: tuple[AclMatch, ...]) -> frozenset[int]:
    """The Ethernet type that a match has, if it has one."""
    return frozenset(each.value for each in match if each.field == "eth_type")


def _flow(rule: Flow, matches: tuple[AclMatch, ...], strict: bool) -> Flow:
    """The flow of one alternative of a rule.  strict: the list drops frames with a second tag."""
    match = tuple(Match(m.field, m.value, m.mask) for m in matches)
    by_type = strict or _types(matches) - TAGS
    nested = (DROP_NESTED,) if rule.goto is not None and by_type else ()
    return replace(rule, match=(*rule.match, *match), actions=(*nested, *rule.actions))


def _implicit(name: str, table: TableId) -> Flow:
    serial = acl.rule_number(name, acl.IMPLICIT)
    match = (register(Register.ACL, acl_number(name)),)
    return Flow(table, 0, match, Feature.ACL, serial=serial, recount=True)


def _port_flows(ingress: Ingress) -> Iterator[Flow]:
    """The flow by which hosts without a list pass a port where others have one."""
    if _some_listed(ingress.port) and ingress.port.policy.acl is None:
        match = in_port(ingress.port.number), register(Register.ACL, 0)
        yield Flow(TableId.ACL, UNLISTED, match, Feature.ACCESS, (), ingress.onward)


def _some_listed(port: DesiredPort) -> bool:
    """Whether a server has given an access list to a host of the port."""
    admission = controlled(port)
    return admission is not None and admission.lists


ACL = Table(
    TableId.ACL,
    "acl",
    "Access lists. `reg3` selects the list, so each list is here once for all "
    "its ports. Only frames of ports with a list, or with a host that has one, come here.",
    _RULES,
    flows=acl_flows,
    port_flows=_port_flows,
    passes=lambda port, _metered: port.policy.acl is not None or _some_listed(port),
)
