"""Access lists, applied to a frame by its ingress port.

A list's flows are there if the configuration gives it to a port, whether that port is there or
not: a port that comes back finds the list's counters as they were.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from ofapp.bridge.desired import Desired
from ofapp.bridge.params import acl
from ofapp.bridge.params.policy import AclMatch, AclRule
from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.flow import TO_BRIDGES, Flow, Match, Meter, register
from ofapp.openflow.model.rule import Register, TableId, rule
from ofapp.openflow.pipeline.egress import out_by
from ofapp.openflow.pipeline.nested import DROP_NESTED, TAGS
from ofapp.openflow.pipeline.table import Table

TOP = 60000
"""The priority of rules that no earlier one meets."""

_METERS = 1 << 30
"""Meters of rules: this, and the rule's number of 30 bits; those of ports are all below."""

_RULES = (
    rule(
        "bpdu",
        TOP + 1,
        "eth_dst",
        Feature.ACL,
        "BPDUs that pass (see `bpdu-pass`) are subject to no list: the neighbours' spanning "
        "trees must see each other while the controller is away.",
        TableId.SOURCE,
    ),
    rule(
        "rule",
        TOP,
        "reg3",
        Feature.ACL,
        "A rule: pass or drop, optionally with a copy for a mirror; frames above "
        "the rate of its meter are dropped. Rules that cannot match the same frame "
        "share a priority, so that adding or removing one moves only rules that "
        "depend on its place. A frame that passes by its Ethernet type must have no second tag "
        "that the switch reads: with one tag read, the type is that of the second tag.",
        (TableId.SOURCE, None),
        "output register resubmit clone",
        lowest=TOP - acl.MAX_FLOWS,
        optional=acl.FIELDS,
    ),
    rule(
        acl.IMPLICIT,
        0,
        "reg3",
        Feature.ACL,
        "Frames that no rule of the list matches: drop.",
    ),
)


def acl_number(name: str) -> int:
    """The list's number in `Register.ACL`."""
    return acl.list_number(name)


def acl_flows(desired: Desired, metered: bool) -> Iterator[Flow]:
    """The flows of all lists.  A mirror whose port is away gets nothing."""
    if desired.lists:
        yield Flow(TableId.ACL, TOP + 1, (TO_BRIDGES,), Feature.ACL, (), TableId.SOURCE)
    for name, rules in desired.lists.items():
        yield _implicit(name)
        for entry, flows in zip(rules, _flows(name, rules, metered), strict=True):
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
def _flows(name: str, rules: tuple[AclRule, ...], metered: bool) -> tuple[tuple[Flow, ...], ...]:
    """Each rule's flows, without copies for mirrors."""
    strict = any(_types(each) & TAGS and not rule.allow for rule in rules for each in rule.matches)
    return tuple(
        tuple(
            _flow(name, entry, matches, level, metered, strict)
            for matches, level in zip(entry.matches, levels, strict=True)
        )
        for entry, levels in zip(rules, acl.levels(rules), strict=True)
    )


def _types(match: tuple[AclMatch, ...]) -> frozenset[int]:
    """The Ethernet type that a match has, if it has one."""
    return frozenset(each.value for each in match if each.field == "eth_type")


def _flow(
    name: str,
    entry: AclRule,
    matches: tuple[AclMatch, ...],
    level: int,
    metered: bool,
    strict: bool,
) -> Flow:
    """strict: the list drops frames with a second tag."""
    match = tuple(Match(m.field, m.value, m.mask) for m in matches)
    by_type = strict or _types(matches) - TAGS
    return Flow(
        TableId.ACL,
        TOP - level,
        (register(Register.ACL, acl_number(name)), *match),
        Feature.ACL,
        (DROP_NESTED,) if entry.allow and by_type else (),
        TableId.SOURCE if entry.allow else None,
        acl.rule_number(name, entry.name),
        meter=rule_meter(name, entry.name) if metered and entry.rate is not None else None,
        recount=True,
    )


def _implicit(name: str) -> Flow:
    serial = acl.rule_number(name, acl.IMPLICIT)
    match = (register(Register.ACL, acl_number(name)),)
    return Flow(TableId.ACL, 0, match, Feature.ACL, serial=serial, recount=True)


ACL = Table(
    TableId.ACL,
    "acl",
    "Access lists. `reg3` selects the list, so each list is here once for all "
    "its ports. Only frames of ports with a list come here.",
    _RULES,
    flows=acl_flows,
    passes=lambda port, _metered: port.policy.acl is not None,
)
