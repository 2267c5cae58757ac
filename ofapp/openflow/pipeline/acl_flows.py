"""Access lists as flows and meters, and whose counters are whose.

A list's flows are there if the configuration gives it to a port, whether that port is there or
not: a port that comes back finds the list's counters as they were.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from ofapp.bridge import acl
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.params import BridgeParams
from ofapp.bridge.policy import AclRule
from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.flow import Action, Flow, Match, Meter, Output, register
from ofapp.openflow.model.rule import Register, TableId
from ofapp.openflow.pipeline.acl import TOP

_BPDU = Match("eth_dst", 0x0180C2000000)
_METERS = 1 << 30
"""Meters of rules: this, and the rule's number of 30 bits; those of ports are all below."""


def acl_number(name: str) -> int:
    """What stands for the list in `Register.ACL`."""
    return acl.list_number(name)


def used_lists(params: BridgeParams) -> dict[str, tuple[AclRule, ...]]:
    """The lists that a port has, if it is there, by name."""
    ports = (*params.ports.values(), *params.numbered.values())
    used = {port.policy.acl for port in ports}
    return {name: rules for name, rules in params.policies.acls.items() if name in used}


def acl_flows(bridge: Bridge, metered: bool) -> Iterator[Flow]:
    """The flows of all lists.  A mirror whose port is away gets nothing."""
    used = used_lists(bridge.params)
    if used:
        yield Flow(TableId.ACL, TOP + 1, (_BPDU,), Feature.ACL, (), TableId.SOURCE)
    for name, rules in used.items():
        yield _implicit(name)
        for rule, flows in zip(rules, _flows(name, rules, metered), strict=True):
            copies = _copies(bridge, rule)
            yield from (replace(flow, actions=copies) for flow in flows) if copies else flows


def acl_meters(bridge: Bridge) -> Iterator[Meter]:
    """One for each rule with a rate."""
    for name, rules in used_lists(bridge.params).items():
        for rule in rules:
            if rule.rate is not None:
                yield Meter(rule_meter(name, rule.name), rule.rate)


def rule_meter(name: str, rule: str) -> int:
    """The meter of a rule of the list called `name`."""
    return _METERS | acl.rule_number(name, rule)


def is_rule_meter(meter: int) -> bool:
    """Whether a meter is one of these."""
    return bool(meter & _METERS) and not meter >> 31


@lru_cache(256)
def _flows(name: str, rules: tuple[AclRule, ...], metered: bool) -> tuple[tuple[Flow, ...], ...]:
    """Each rule's flows, without copies: as long as the list is the same, they are."""
    return tuple(
        tuple(
            _flow(
                name, rule, tuple(Match(m.field, m.value, m.mask) for m in matches), level, metered
            )
            for matches, level in zip(rule.matches, levels, strict=True)
        )
        for rule, levels in zip(rules, acl.levels(rules), strict=True)
    )


def _flow(name: str, rule: AclRule, match: tuple[Match, ...], level: int, metered: bool) -> Flow:
    return Flow(
        TableId.ACL,
        TOP - level,
        (register(Register.ACL, acl_number(name)), *match),
        Feature.ACL,
        (),
        TableId.SOURCE if rule.allow else None,
        acl.rule_number(name, rule.name),
        meter=rule_meter(name, rule.name) if metered and rule.rate is not None else None,
        recount=True,
    )


def _implicit(name: str) -> Flow:
    serial = acl.rule_number(name, acl.IMPLICIT)
    match = (register(Register.ACL, acl_number(name)),)
    return Flow(TableId.ACL, 0, match, Feature.ACL, serial=serial, recount=True)


def _copies(bridge: Bridge, rule: AclRule) -> tuple[Action, ...]:
    port = None if rule.mirror is None else bridge.ports.named(rule.mirror)
    return () if port is None else (Output(port.number),)
