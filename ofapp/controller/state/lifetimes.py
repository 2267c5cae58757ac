"""Stored bindings of first-hop security, and hosts on controlled ports.

A document has the seconds that are left of each lease or grant, and when it was written.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from ofapp.bridge.bridge import Bridge
from ofapp.common.portions import Portions
from ofapp.controller.state.document import Document


def _document(name: str, stem: str, protocol: str, damaged: str) -> Document:
    def dump(bridge: Bridge, portions: Portions) -> dict[str, Any]:
        return {"at": time.time(), **(bridge.protocol(protocol).dump(portions) or {})}

    def restore(bridge: Bridge, data: Any) -> Iterable[str]:
        if not isinstance(data, dict) or not isinstance(written := data.get("at"), int | float):
            raise ValueError("it has no time")  # noqa: TRY004 (any damage is a ValueError)
        passed = max(time.time() - written, 0.0)
        return bridge.protocol(protocol).restore({**data, "passed": passed})

    return Document(name, stem, damaged=damaged, dump=dump, restore=restore)


BINDINGS = _document(
    "bindings",
    "bindings",
    "first_hop",
    "hosts get their bindings again by DHCP and neighbour discovery",
)
PORT_ACCESS = _document(
    "port_access",
    "access",
    "port_access",
    "hosts on controlled ports are authenticated again",
)
