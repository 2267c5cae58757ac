"""The parts of a port's configuration that the word `trust` sets.

They are the lowest layer of the port: what the file gives for it, or for a pattern that fits it,
lies above.  At run time another word sets the parts that are as the former word sets them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ofapp.config.layers import merged

_CHECKED = {
    "source_guard": "ip",
    "arp_inspection": True,
    "nd_inspection": True,
    "dhcp_server": False,
    "router": False,
    "ethertypes": "ip",
    "max_bindings": 16,
}

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "none": {},
    "guest": {
        "first_hop": _CHECKED,
        "stp": {"admin_edge": True, "bpdu_guard": True},
        "storm": {"broadcast": 500, "multicast": 2000, "unknown_unicast": 2000},
    },
    "learn": {"first_hop": _CHECKED},
    "uplink": {},
}
"""Settings by value of `trust`.

GUESTS are the words for ports whose hosts may be hostile.

admin_edge: a guest's port forwards after 50 ms, and not after the three seconds of auto_edge; the
first BPDU, also one of this bridge that comes back, closes it.
max_bindings: one guest's addresses, with a week of daily privacy addresses (RFC 8981 3.8).
learn: nothing that acts while it only reports: BPDU guard would close the port, and storm control
would drop.  uplink: the defaults, by which servers and routers are trusted.
"""

GUESTS = ("guest", "learn")


def with_preset(values: Mapping[str, Any]) -> dict[str, Any]:
    """A port's values on top of what its `trust` sets."""
    return merged(PRESETS[values.get("trust", "none")], values)


def without_preset(values: Mapping[str, Any], whole: Mapping[str, Any]) -> dict[str, Any]:
    """A port's values without those that are as its `trust` sets them.

    values: those that differ from the defaults; whole: all of them.
    """
    return _without(values, whole, PRESETS[whole["trust"]])


def _without(
    values: Mapping[str, Any], whole: Mapping[str, Any], preset: Mapping[str, Any]
) -> dict[str, Any]:
    left = dict(values)
    for key, part in preset.items():
        inner = _without(values.get(key, {}), whole[key], part) if isinstance(part, dict) else None
        if whole[key] == part or inner == {}:
            left.pop(key, None)
        else:
            left[key] = whole[key] if inner is None else inner
    return left
