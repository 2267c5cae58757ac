"""Who looks after the switch (see `ofapp.openflow.switch.ownership`); no frame comes here."""

from __future__ import annotations

from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.flow import Flow, Match
from ofapp.openflow.model.rule import Table, TableId, rule

LEASE = 4
"""Seconds that a lease lasts: less than the three hello times (6 s) that neighbours wait for a
silent bridge."""

_PRIORITY = 1

OWNER = Table(
    TableId.OWNER,
    "No frame comes here. Which controller looks after the switch.",
    (
        rule(
            "lease",
            _PRIORITY,
            "metadata",
            Feature.OWNER,
            "The controller's, by the mask: it ends by itself unless it is renewed, and keeps "
            "another controller from having one meanwhile. Its address is in the cookie.",
        ),
    ),
)


def lease_flow(own: int, address: int) -> Flow:
    """The lease of the controller with the number `own`, 64 bits and not 0.

    Each matches another mask of the metadata with the value 0, so that all of them overlap.
    address: where the controller is, an IPv4 address or 0, for people.
    """
    return Flow(
        TableId.OWNER,
        _PRIORITY,
        (Match("metadata", 0, own),),
        Feature.OWNER,
        serial=address,
        hard_timeout=LEASE,
        notify_removal=False,
    )
