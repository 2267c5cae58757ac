"""Access lists as sets of frames: which rules meet, which hide others, and what they are called.

A match is a cube: for each bit of a frame's fields 0, 1, or either.  All fields side by side make
one long integer, so that any two cubes are compared by two operations.

Two rules need different priorities only where they meet.  So a flow's priority comes from its
`level`, the length of the longest chain of earlier rules that each meet the next. It follows from
the list alone, and a rule that is inserted or removed in a long list moves only those that depend
on its place.  Numbers come from names, for the same reason: no change of another rule renumbers
one, and a restart finds the same numbers, counters included.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from ofapp.bridge.params.policy import AclMatch, AclRule

FIELDS = {
    "eth_src": 48,
    "eth_dst": 48,
    "eth_type": 16,
    "vlan_vid": 13,
    "vlan_pcp": 3,
    "ip_proto": 8,
    "ip_dscp": 6,
    "ip_frag": 8,
    "ipv4_src": 32,
    "ipv4_dst": 32,
    "ipv6_src": 128,
    "ipv6_dst": 128,
    "tcp_src": 16,
    "tcp_dst": 16,
    "tcp_flags": 16,
    "udp_src": 16,
    "udp_dst": 16,
    "sctp_src": 16,
    "sctp_dst": 16,
    "icmpv4_type": 8,
    "icmpv4_code": 8,
    "icmpv6_type": 8,
    "icmpv6_code": 8,
    "arp_op": 16,
    "arp_spa": 32,
    "arp_tpa": 32,
    "arp_sha": 48,
    "arp_tha": 48,
    "ct_state": 32,
}
"""Fields that a rule may match, by OpenFlow's names, with their sizes in bits."""

MAX_FLOWS = 2000
"""Most flows of one list: comparing them all with each other then takes half a second."""

IMPLICIT = "implicit-drop"
"""The name of the drop rule that ends each list."""


class Cube(NamedTuple):
    """The frames whose bits under `mask` are those of `value`."""

    value: int
    mask: int

    def meets(self, other: Cube) -> bool:
        """Whether a frame can be in both."""
        return not (self.value ^ other.value) & self.mask & other.mask

    def covers(self, other: Cube) -> bool:
        """Whether every frame of the other is in this one, too."""
        return not self.mask & ~other.mask and not (self.value ^ other.value) & self.mask


def _places() -> Iterator[tuple[str, int]]:
    at = 0
    for field, bits in FIELDS.items():
        yield field, at
        at += bits


_PLACES = dict(_places())


def cube(matches: Sequence[AclMatch]) -> Cube:
    """The frames that fit all of these; KeyError for a field that no rule may match."""
    value = mask = 0
    for match in matches:
        at = _PLACES[match.field]
        bits = (1 << FIELDS[match.field]) - 1 if match.mask is None else match.mask
        value |= (match.value & bits) << at
        mask |= bits << at
    return Cube(value, mask)


@lru_cache(64)
def levels(rules: tuple[AclRule, ...]) -> tuple[tuple[int, ...], ...]:
    """For each alternative of each rule how far it must be below the top priority."""
    result: list[tuple[int, ...]] = []
    before: list[tuple[Cube, int]] = []
    for rule in rules:
        cubes = [cube(matches) for matches in rule.matches]
        depths = tuple(
            1 + max((level for other, level in before if mine.meets(other)), default=-1)
            for mine in cubes
        )
        before += zip(cubes, depths, strict=True)
        result.append(depths)
    return tuple(result)


@lru_cache(64)
def hidden(rules: tuple[AclRule, ...]) -> Mapping[int, tuple[int, ...]]:
    """Rules that match no frame, and the earlier ones that match all of theirs; by position."""
    hiders: dict[int, tuple[int, ...]] = {}
    before: list[tuple[Cube, int]] = []
    for position, rule in enumerate(rules):
        cubes = [cube(matches) for matches in rule.matches]
        takers = {next((by for other, by in before if other.covers(mine)), None) for mine in cubes}
        if None not in takers:
            hiders[position] = tuple(sorted(taker for taker in takers if taker is not None))
        before += ((mine, position) for mine in cubes)
    return hiders


_NEW, _ESTABLISHED, _RELATED, _INVALID, TRACKED = 0x01, 0x02, 0x04, 0x10, 0x20
_ALL_STATES = _NEW | _ESTABLISHED | _RELATED | _INVALID | TRACKED
STATES = {
    "new": AclMatch("ct_state", TRACKED | _NEW, _ALL_STATES),
    "established": AclMatch("ct_state", TRACKED | _ESTABLISHED, _ALL_STATES),
    "related": AclMatch("ct_state", TRACKED | _RELATED, TRACKED | _RELATED | _INVALID),
    "invalid": AclMatch("ct_state", TRACKED | _INVALID, TRACKED | _INVALID),
}
"""States of a frame's connection, by Open vSwitch's bits: each tracked frame is in one of them."""

BEGINS = AclMatch("ct_state", TRACKED | _NEW, TRACKED | _NEW | _INVALID)
"""A frame whose connection is not remembered yet; it may be related to another connection."""

UNTRACKED = (130, 131, 132, 133, 134, 135, 136, 137, 143)
"""Types of ICMPv6 that have no connection: multicast listeners and neighbour discovery.

Linux does not track them, and Open vSwitch's own connection tracking takes them for invalid.
"""

ZONES = 1 << 12
"""Connection tracking zones of a bridge: one for each VID."""
BLOCKS = 15
"""Blocks of zones for the bridges of one ovs-vswitchd; those below are for others, as the host."""


def stateful(rules: Sequence[AclRule]) -> bool:
    """Whether a list has rules with states, so that its connections are tracked."""
    return any(m.field == "ct_state" for rule in rules for match in rule.matches for m in match)


def first_zone(block: int | None, datapath_id: int) -> int:
    """The zone of VID 0.  block: which block of zones the bridge has; None: by its datapath id.

    A datapath id always has the same block, so that connections survive a restart.  Two of them may
    have the same block (`connections.zones` among the problems says so).
    """
    if block is None:
        block = 1 + zlib.crc32(datapath_id.to_bytes(8, "big")) % BLOCKS
    return block * ZONES


def list_number(name: str) -> int:
    """The number of a list in a register: not 0, which is no list."""
    return zlib.crc32(name.encode()) or 1


def rule_number(acl: str, rule: str) -> int:
    """The number of a rule, IMPLICIT included, in cookies and meters: 30 bits."""
    return zlib.crc32(f"{acl}\0{rule}".encode()) >> 2


def passes(rules: Sequence[AclRule], matches: Sequence[AclMatch]) -> bool:
    """Whether some frame among these may be allowed."""
    wanted = cube(matches)
    return any(
        rule.allow and any(cube(match).meets(wanted) for match in rule.matches) for rule in rules
    )


def aligned(first: int, last: int, bits: int) -> Iterator[tuple[int, int]]:
    """A range of numbers of `bits` bits as the fewest (value, mask) pairs."""
    while first <= last:
        size = first & -first or 1 << bits
        while first + size - 1 > last:
            size //= 2
        yield first, (1 << bits) - size
        first += size
