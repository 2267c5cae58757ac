"""Keys of bridges in the file: datapath ids and names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ofapp.config.base import MAX_PORT_NAME, Path

ID = re.compile(r"[0-9a-f]{16}")
_OCTETS = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){7}")
_HEX = re.compile(r"0x[0-9a-f]+")
_NAME = re.compile(r"[^\s/:]+")


def bridge_key(given: str) -> str:
    """A datapath id as 16 hex digits, or a bridge's name; ValueError when it may mean two things.

    Digits alone are an id only when the decimal and the hexadecimal reading are one, or when there
    are sixteen of them.
    """
    text = given.lower()
    if _OCTETS.fullmatch(text):
        text = text.replace(":", "")
    if _HEX.fullmatch(text):
        return _checked_id(f"{int(text, 16):016x}", given)
    if ID.fullmatch(text):
        return _checked_id(text, given)
    if text.isascii() and text.isdigit():
        if len(text) > 16:
            raise ValueError(f"{given} is too long for a datapath id: write it with 16 hex digits")
        decimal, hexadecimal = f"{int(text):016x}", f"{int(text, 16):016x}"
        if decimal != hexadecimal:
            raise ValueError(
                f"{given} may mean the datapath id {decimal} (decimal) or {hexadecimal}"
                " (hexadecimal): write all 16 hex digits"
            )
        return _checked_id(decimal, given)
    if not _NAME.fullmatch(given) or len(given.encode()) > MAX_PORT_NAME:
        raise ValueError(
            f"{given!r} is neither a datapath id of 16 hex digits nor the name of a bridge,"
            f" of at most {MAX_PORT_NAME} characters"
        )
    return given


def _checked_id(text: str, given: str) -> str:
    if len(text) > 16 or not int(text, 16):
        raise ValueError(f"{given} is no datapath id: 16 hex digits, not all of them 0")
    return text


def canonical_bridges(given: Mapping[Any, Any]) -> tuple[dict[str, Any], list[tuple[Path, str]]]:
    """Return bridges by canonical key (`bridge_key`), and the invalid keys."""
    canonical: dict[str, Any] = {}
    faults: list[tuple[Path, str]] = []
    known: dict[str, Any] = {}
    for key, value in given.items():
        try:
            bridge_id = bridge_key(str(key))
        except ValueError as error:
            faults.append(((key,), str(error)))
            continue
        if bridge_id in known:
            faults.append(((key,), f"is the same bridge as {known[bridge_id]}"))
        canonical.setdefault(bridge_id, value)
        known.setdefault(bridge_id, key)
    return canonical, faults
