"""Stored bindings of first-hop security.

A document has the seconds that are left of each lease, and when it was written.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from ofapp.bridge.bridge import Bridge
from ofapp.common.portions import Portions
from ofapp.controller.state.document import Document


def _dump(bridge: Bridge, portions: Portions) -> dict[str, Any]:
    return {"at": time.time(), **bridge.first_hop.dump(portions)}


def _restore(bridge: Bridge, data: Any) -> Iterable[str]:
    if not isinstance(data, dict) or not isinstance(written := data.get("at"), int | float):
        raise ValueError("it has no time")  # noqa: TRY004 (any damage is a ValueError)
    return bridge.first_hop.restore({**data, "passed": time.time() - written})


BINDINGS = Document(
    "bindings",
    damaged="hosts get their bindings again by DHCP and neighbour discovery",
    dump=_dump,
    restore=_restore,
)
