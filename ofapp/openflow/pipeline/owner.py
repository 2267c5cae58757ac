"""Who looks after the switch (see `ofapp.openflow.switch.ownership`); no frame comes here."""

from __future__ import annotations

from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.rule import Table, TableId, rule

OWNER = Table(
    TableId.OWNER,
    "No frame comes here. Which controller looks after the switch.",
    (
        rule(
            "lease",
            1,
            "metadata",
            Feature.OWNER,
            "The controller's, by the mask: it ends by itself unless it is renewed, and keeps "
            "another controller from having one meanwhile. Its address is in the cookie.",
        ),
    ),
)
