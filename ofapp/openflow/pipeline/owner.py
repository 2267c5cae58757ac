"""The lease of the switch's master, and the mark for the next one; no frame comes here.

See `ofapp.openflow.switch.mastership.ownership` and `ofapp.openflow.switch.mastership.marks`.
"""

from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.flow import Flow, Match
from ofapp.openflow.model.rule import TableId, rule
from ofapp.openflow.pipeline.table import Table

LEASE = 4
"""Seconds that a lease lasts: less than the three hello times (6 s) that neighbours wait for a
silent bridge."""

_PRIORITY = 1
_MARK_PRIORITY = 2

_RULES = (
    rule(
        "lease",
        _PRIORITY,
        "metadata",
        Feature.OWNER,
        "The controller's, by the mask: it ends by itself unless it is renewed, and keeps "
        "another controller from having one meanwhile. Its address is in the cookie.",
    ),
    rule(
        "mark",
        _MARK_PRIORITY,
        "metadata",
        Feature.MARK,
        "The valid snapshot of spanning tree, in the cookie. Controllers that share "
        "their state replace it before the tree changes, on the same connection.",
    ),
)


def lease_flow(number: int, address: int) -> Flow:
    """The lease of the controller with the number `own`, 64 bits and not 0.

    Each matches another mask of the metadata with the value 0, so that all of them overlap.
    address: where the controller is, an IPv4 address or 0, for people.
    """
    return Flow(
        TableId.OWNER,
        _PRIORITY,
        (Match("metadata", 0, number),),
        Feature.OWNER,
        serial=address,
        hard_timeout=LEASE,
        notify_removal=False,
    )


def mark_flow(mark: int) -> Flow:
    """The mark, 32 bits; another one takes its place."""
    return Flow(
        TableId.OWNER,
        _MARK_PRIORITY,
        (Match("metadata", 0),),
        Feature.MARK,
        serial=mark,
        notify_removal=False,
    )


OWNER = Table(
    TableId.OWNER,
    "owner",
    "No frame comes here. Records which controller is master of the switch, and "
    "which snapshot the next one may use.",
    _RULES,
)
