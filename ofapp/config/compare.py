"""Differences between two configurations of a bridge, and run-time settings carried from one to
the next.

A configuration is compared by the paths of its values.  A named port that only one of the two has
is taken in the other as the patterns that fit it say.  So `vnet3: {isolated: false}` is a change
where `vnet*` says otherwise.  `trust` is compared as the file has it: the parts that it sets are
compared only where they are set otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

from pydantic import ValidationError

from ofapp.config import checks
from ofapp.config.base import is_pattern, port_number
from ofapp.config.bridge import Bridge
from ofapp.config.trust import with_preset

Differences = dict[str, str]
"""Changes in words, by the path of the field."""

Numbers = Mapping[str, int]
"""Numbers of the present ports, by name: the file may give a port by either."""

_Path = tuple[str, ...]
_NONE: Numbers = {}
_NULL: Any = object()
"""An explicit null, which takes back what `trust` sets; None is a value that is not given."""


def differences(old: Bridge, new: Bridge, numbers: Numbers = _NONE) -> Differences:
    """The changed values by path, in the order of the file."""
    named = _named(old, new)
    before, after = _flat(old, named, numbers), _flat(new, named, numbers)
    return {
        ".".join(path): f"{'.'.join(path)}: {words}"
        for path in {**before, **after}
        if (words := _words(before.get(path), after.get(path)))
    }


def carried(filed: Bridge, running: Bridge, new: Bridge, numbers: Numbers = _NONE) -> Bridge:
    """The settings in force once the file has become `new`.

    These are the file's and those of run time, but the file's where it has changed the same value.
    filed: the file's settings until now; running: those in force.  Where old and new contradict
    each other, all run-time settings of that section (`stp`, one port, VLAN or aggregation) are
    left out.
    """
    named = _named(filed, running)
    before, now = _flat(filed, named, numbers), _flat(running, named, numbers)
    after = _flat(new, named, numbers)
    settings = {
        path: now.get(path)
        for path in {**before, **now}
        if now.get(path) != before.get(path) == after.get(path)
    }
    whole = _with(new, settings, numbers)
    if whole is not None:
        return whole
    kept: dict[_Path, Any] = {}
    result = new
    for _section, group in groupby(sorted(settings), key=_section_of):
        more = kept | {path: settings[path] for path in group}
        if (made := _with(new, more, numbers)) is not None:
            kept, result = more, made
    return result


def _section_of(path: _Path) -> _Path:
    return path[: 2 if path[0] in ("ports", "vlans", "lags") else 1]


def _with(bridge: Bridge, settings: Mapping[_Path, Any], numbers: Numbers) -> Bridge | None:
    """The bridge with other values at these paths, None for the default; None if it is invalid."""
    if not settings:
        return bridge
    ports = {path[1] for path in settings if path[0] == "ports"}
    values = tree(bridge, ports, numbers)
    for path, value in settings.items():
        *above, last = path
        section = values
        for step in above:
            section = section.setdefault(step, {})
        if value is None:
            section.pop(last, None)
        else:
            section[last] = None if value is _NULL else value
    for key, port in values.get("ports", {}).items():
        values["ports"][key] = with_preset(port)
    try:
        made = Bridge.model_validate(values)
    except ValidationError:
        return None
    return None if checks.faults(made) else made


def _named(*bridges: Bridge) -> set[str]:
    """The ports that any of these has by name."""
    keys = {key for bridge in bridges for key in bridge.ports}
    return {key for key in keys if not is_pattern(key) and port_number(key) is None}


def tree(bridge: Bridge, named: Iterable[str], numbers: Numbers) -> dict[str, Any]:
    """The settings of a bridge as the file has them, with a section for each port in `named`.

    What `trust` sets is left out.
    """
    values = bridge.values()
    ports = {key: port.given() for key, port in bridge.ports.items()}
    for name in sorted(named):
        if name not in ports:
            ports[name] = bridge.port(name, numbers.get(name, -1)).given()
    return {**values, "ports": ports} if ports else values


def _flat(bridge: Bridge, named: Iterable[str], numbers: Numbers) -> dict[_Path, Any]:
    return dict(_paths(tree(bridge, named, numbers), ()))


def _paths(values: Mapping[str, Any], above: _Path) -> Iterator[tuple[_Path, Any]]:
    for key, value in values.items():
        path = (*above, key)
        if isinstance(value, dict) and key != "vlan":
            yield from _paths(value, path)
        else:
            yield path, _NULL if value is None else value


def _words(old: Any, new: Any) -> str:
    if old == new:
        return ""
    if isinstance(old, list) or isinstance(new, list):
        return _list_words(old or [], new or [])
    return f"{_shown(old)} -> {_shown(new)}"


def _list_words(old: list[Any], new: list[Any]) -> str:
    gone = [f"- {_shown(item)}" for item in old if item not in new]
    come = [f"+ {_shown(item)}" for item in new if item not in old]
    return " ".join([*gone, *come]) or "in another order"


def _shown(value: Any) -> str:
    if value is None:
        return "default"
    if value is _NULL:
        return "none"
    text = json.dumps(value, ensure_ascii=False)
    return text.replace('"', "") if isinstance(value, dict | list) else text.strip('"')
