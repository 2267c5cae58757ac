"""What two forms of a bridge differ in, in the words of the file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ofapp.config.bridge import Bridge

Differences = dict[str, str]
"""What has changed, in words, by the path of the field."""


def differences(old: Bridge, new: Bridge) -> Differences:
    """By path, in the order of the file."""
    before, after = _flat(old), _flat(new)
    return {
        path: f"{path}: {words}"
        for path in {**before, **after}
        if (words := _words(before.get(path), after.get(path)))
    }


def _flat(bridge: Bridge) -> dict[str, Any]:
    return dict(_paths(bridge.model_dump(mode="json", exclude_defaults=True), ""))


def _paths(values: Mapping[str, Any], above: str) -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        path = f"{above}{key}"
        if isinstance(value, dict) and key != "vlan":
            yield from _paths(value, f"{path}.")
        else:
            yield path, value


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
    text = json.dumps(value, ensure_ascii=False)
    return text.replace('"', "") if isinstance(value, dict | list) else text.strip('"')
