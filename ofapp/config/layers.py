"""Layers of the file: values in sections, of which the upper layer counts where both have one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_WHOLE = {"acls", "mirrors"}
"""Sections in which a bridge's own entry takes the place of one of the same name as a whole."""


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`over`'s values on top of `base`'s, section by section."""
    both = dict(base)
    for key, value in over.items():
        inner: Any = base.get(key)
        if key == "vlan" or not (isinstance(inner, dict) and isinstance(value, dict)):
            both[key] = value
        else:
            both[key] = {**inner, **value} if key in _WHOLE else merged(inner, value)
    return both


def beyond(values: Mapping[str, Any], base: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of `values` that are not in `base`, section by section."""
    left: dict[str, Any] = {}
    for key, value in values.items():
        inner: Any = base.get(key)
        if value == inner:
            continue
        both = isinstance(value, dict) and isinstance(inner, dict) and key != "vlan"
        left[key] = beyond(value, inner) if both else value
    return left
