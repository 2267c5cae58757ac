"""Multicast entries on the wire: a flow that matches by IP addresses, and its own OpenFlow group.

The group holds the ports, so a membership change is one group-mod.  Which group belongs to which
entry is in the serial of the flow's cookie; a controller that restarts reads it from there.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import NamedTuple

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.multicast import Family, SetGroup, SetUnregistered, family_of
from ofapp.openflow.model.cookie import Feature, parse_cookie
from ofapp.openflow.model.flow import Flow, Match, ToGroup, vlan
from ofapp.openflow.pipeline.flows import IPV4, IPV6
from ofapp.openflow.pipeline.pipeline import ENTRY_GROUPS, TableId, check
from ofapp.openflow.wire.learned import HeldFlow, oxms


class Key(NamedTuple):
    """An entry; without a group, all groups of the family that have none.

    family None: the group is a MAC address, for what is not IP.
    """

    vid: int
    family: Family | None
    group: bytes | None
    source: bytes | None


def entry_of(effect: SetGroup | SetUnregistered) -> tuple[Key, frozenset[int] | None]:
    """What an effect is about, and the ports it wants there; None for no entry."""
    if isinstance(effect, SetUnregistered):
        return Key(effect.vid, effect.family, None, None), effect.ports
    return key_of(effect.vid, effect.group, effect.source), effect.ports


def key_of(vid: int, group: bytes, source: bytes | None) -> Key:
    """The key of one group's entry."""
    return Key(vid, family_of(group), group, source)


def desired_entries(bridge: Bridge) -> dict[Key, frozenset[int]]:
    """All entries that the bridge wants."""
    if bridge.multicasting is None:
        return {}
    entries = map(entry_of, bridge.multicasting.desired())
    return {key: ports for key, ports in entries if ports is not None}


def entry_flow(key: Key, group: int) -> Flow:
    """The flow that leads an entry's frames to its OpenFlow group."""
    priority, match = _ip_match(key) if key.family is not None else _mac_match(key)
    flow = Flow(
        TableId.MULTICAST,
        priority,
        (vlan(key.vid), *match),
        Feature.MULTICAST,
        (ToGroup(group),),
        serial=group - ENTRY_GROUPS,
        notify_removal=False,
    )
    check(flow)
    return flow


def _ip_match(key: Key) -> tuple[int, list[Match]]:
    four = key.family is Family.IPV4
    name, eth_type = ("ipv4", IPV4) if four else ("ipv6", IPV6)
    match = [Match("eth_type", eth_type)]
    if key.group is None:
        whole = (0xE0000000, 0xF0000000) if four else (0xFF << 120, 0xFF << 120)
        match.append(Match(f"{name}_dst", *whole))
    else:
        match.append(Match(f"{name}_dst", int.from_bytes(key.group, "big")))
    if key.source is not None:
        match.append(Match(f"{name}_src", int.from_bytes(key.source, "big")))
    return 500 if key.group is None else 600 if key.source is None else 700, match


def _mac_match(key: Key) -> tuple[int, list[Match]]:
    assert key.group is not None
    return 300, [Match("eth_dst", int.from_bytes(key.group, "big"))]


_VID = (0x80000C02, 0x80000D04)
_DESTINATION = {0x80000606: 6, 0x80001804: 4, 0x80001908: 4, 0x80003610: 16, 0x80003720: 16}
_SOURCE = {0x80001604: 4, 0x80003410: 16}


def read_entry(held: HeldFlow) -> tuple[Key, int] | None:
    """The entry of a flow that a switch holds, and its group; None when it is none."""
    cookie = parse_cookie(held.cookie)
    if cookie is None or cookie.feature != Feature.MULTICAST:
        return None
    vid, source, destination = 0, None, None
    try:
        for oxm, value in oxms(held.match):
            if oxm in _VID:
                vid = int.from_bytes(value[:2], "big") & 0xFFF
            elif oxm in _DESTINATION:
                destination = value[: _DESTINATION[oxm]]
            elif oxm in _SOURCE:
                source = value
    except struct.error:
        return None
    if destination is None:
        return None
    family = family_of(destination)
    group = None if held.priority == 500 else destination
    return Key(vid, family, group, source), ENTRY_GROUPS + cookie.serial


class GroupNumbers:
    """Which OpenFlow group belongs to which entry, on one switch."""

    def __init__(self, held: Mapping[Key, int] | None = None) -> None:
        self._numbers = dict(held or {})
        self._used = set(self._numbers.values())
        self._free: list[int] = []
        self._next = ENTRY_GROUPS

    def of(self, key: Key) -> int:
        """The entry's group, a new one if need be."""
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = self._new()
        return number

    def release(self, key: Key) -> int | None:
        """The entry is gone; its group, which may be another's from now on."""
        number = self._numbers.pop(key, None)
        if number is not None:
            self._used.discard(number)
            self._free.append(number)
        return number

    def _new(self) -> int:
        if self._free:
            number = self._free.pop()
        else:
            while self._next in self._used:
                self._next += 1
            number = self._next
        self._used.add(number)
        return number
