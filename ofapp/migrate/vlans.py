"""A port's VLANs in the form of ofapp's file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from ofapp.bridge.ports.vlan import ALL_VIDS, NO_VLAN, PortVlans, access, trunk
from ofapp.config.port import vlan_section

_RANGE = re.compile(r"(\d+)(?:\s*[-:]\s*(\d+))?")


def access_port(vid: int) -> Any:
    """The value of `vlan` for hosts in one VLAN."""
    return _value(access(vid))


def trunk_port(vids: Iterable[int], native: int = NO_VLAN, native_tagged: bool = False) -> Any:
    """The value of `vlan` for a trunk; without VIDs it has all VLANs."""
    return _value(trunk(frozenset(vids) or ALL_VIDS, native, native_tagged))


def from_flags(pvid: int, untagged: frozenset[int], vids: frozenset[int]) -> Any:
    """The value of `vlan` for a port of the Linux bridge that has at least one VLAN."""
    if vids == {pvid} and pvid in untagged:
        return access_port(pvid)
    return _value(PortVlans(vids, untagged & {pvid}, pvid))


def vid_set(text: str) -> frozenset[int]:
    """The VIDs of a list such as `2-4094` or `10 20-30,40`.  Raises ValueError."""
    vids: set[int] = set()
    for part in text.replace(",", " ").split():
        ends = _RANGE.fullmatch(part)
        if ends is None:
            raise ValueError("a list of VIDs, such as 10 20-30")
        first, last = int(ends[1]), int(ends[2] or ends[1])
        if not 0 <= first <= last <= 4095:
            raise ValueError("a list of VIDs from 1 to 4094, in ranges the lower one first")
        vids.update(range(first, last + 1))
    return frozenset(vids)


def _value(vlans: PortVlans) -> Any:
    """The form of the file; ValueError for what is no VID."""
    vids = {*(vlans.vids or ()), vlans.pvid or 1}
    if wrong := vids - ALL_VIDS:
        raise ValueError(f"VLAN {min(wrong)}: VIDs are 1 to 4094; correct it")
    return vlan_section(vlans).model_dump(mode="json")
