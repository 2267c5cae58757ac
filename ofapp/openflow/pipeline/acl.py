"""What the access list of the port that a frame came from says of it."""

from __future__ import annotations

from ofapp.bridge.acl import FIELDS, IMPLICIT, MAX_FLOWS
from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.rule import Table, TableId, rule

TOP = 60000
"""The priority of rules that no earlier one meets."""

ACL = Table(
    TableId.ACL,
    "Access lists. `reg3` says which one, so a list is here once however many ports have it. "
    "Only frames of ports with a list come here.",
    (
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
            "A rule: to pass or to drop, with a copy for a mirror or not; what is above the rate "
            "of its meter is dropped. Rules that no frame can both match share a priority: one "
            "that comes or goes moves no others but those that depend on its place.",
            (TableId.SOURCE, None),
            "output",
            lowest=TOP - MAX_FLOWS,
            optional=FIELDS,
        ),
        rule(
            IMPLICIT,
            0,
            "reg3",
            Feature.ACL,
            "What no rule of the list matches: drop.",
        ),
    ),
)
