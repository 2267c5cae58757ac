"""A part of a bridge's section of the file, merged into the settings in force (RFC 7396)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from ofapp.config import checks
from ofapp.config.base import FaultsError, Path, is_pattern
from ofapp.config.bridge import Bridge
from ofapp.config.compare import Numbers, tree
from ofapp.config.errors import findings
from ofapp.config.trust import PRESETS, with_preset

ENTRIES = ("static", "mdb", "bindings")
"""Lists of entries: each entry is added and removed by itself."""
_WHOLE = ("vlan",)
"""Sections that are replaced and not merged."""


def patched(bridge: Bridge, given: Mapping[str, Any], numbers: Numbers) -> Bridge:
    """The settings of a bridge with those that are given, null for a default.  Raises FaultsError.

    bridge: its effective form.  Lists and the VLANs of a port are replaced as a whole.  A port that
    the bridge has no section for starts with the settings of the patterns that fit it.
    numbers: numbers of the present ports, by name.
    """
    faults: list[tuple[Path, str]] = []
    if entries := [name for name in ENTRIES if name in given]:
        what = "entries are set and removed one by one, not with the settings"
        faults += [((name,), what) for name in entries]
    ports = given.get("ports")
    named = [*ports] if isinstance(ports, dict) else []
    for key in filter(is_pattern, named):
        what = "a pattern stands for ports in the configuration file only: name the ports"
        faults.append((("ports", key), what))
    if faults:
        raise FaultsError(faults)
    values = _merged(tree(bridge, named, numbers), given)
    _valid(values)  # by itself: `trust` has to be a word that is known
    for key, port in values.get("ports", {}).items():
        values["ports"][key] = with_preset(port) if port.get("trust") in PRESETS else port
    new = _valid(values)
    known = checks.faults(bridge)
    if new_faults := [fault for fault in checks.faults(new) if fault not in known]:
        raise FaultsError(new_faults)
    return new


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    values = dict(base)
    for key, value in over.items():
        if value is None:
            values.pop(key, None)
        elif isinstance(value, dict) and key not in _WHOLE:
            inner = base.get(key)
            values[key] = _merged(inner if isinstance(inner, dict) else {}, value)
        else:
            values[key] = value
    return values


def _valid(values: Mapping[str, Any]) -> Bridge:
    try:
        return Bridge.model_validate(values)
    except ValidationError as error:
        raise FaultsError(
            ((*finding.path, *finding.missing), finding.what) for finding in findings(error, Bridge)
        ) from None
