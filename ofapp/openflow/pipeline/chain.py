"""Groups of more ports than one message can carry: a group that leads to groups.

A message has at most 65,535 octets, some 2,000 ports.  A larger group becomes parts, a block of
port numbers each, and the group itself leads to them.  A port is always in the same part, whichever
others come and go, so that no frame misses it or meets it twice while parts change.

The parts of a group have separate numbers, which follow from its number and the block.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from ofapp.bridge.ports.port import LOCAL_PORT
from ofapp.openflow.model.flow import Bucket, Group, ToGroup
from ofapp.openflow.pipeline.group_numbers import ENTRY_GROUPS, FLOOD_GROUP, VLAN_GROUPS

MOST_OCTETS = 0xFFFF - 40
"""Octets of buckets in one message: a group-mod within a bundle has 40 before them, and a switch's
description of a group 24."""
BLOCK = 512
"""Port numbers in a part: so many buckets of any kind fit."""

_FLOOD_PARTS = 0x08000000
_ENTRY_PARTS = 0x80000000


def chained(group: Group) -> Iterator[Group]:
    """The group as it is where it fits one message; otherwise its parts, and what leads to them."""
    if group.octets <= MOST_OCTETS:
        yield group
        return
    blocks: dict[int, set[Bucket]] = defaultdict(set)
    for bucket in group.buckets:
        (port,) = Group(group.id, frozenset({bucket})).ports
        blocks[0 if port == LOCAL_PORT else port // BLOCK].add(bucket)
    parts = [
        Group(_part(group.id, block), frozenset(buckets))
        for block, buckets in sorted(blocks.items())
    ]
    yield from parts
    yield Group(group.id, frozenset((ToGroup(part.id),) for part in parts))


def parts_of(group: Group | None) -> frozenset[int]:
    """The groups that a group leads to."""
    if group is None:
        return frozenset()
    return frozenset(
        action.group for bucket in group.buckets for action in bucket if isinstance(action, ToGroup)
    )


def ports_of(groups: Mapping[int, Group]) -> dict[int, frozenset[int]]:
    """The ports that each of the groups is for, itself or by its parts."""
    members = {number: group.ports for number, group in groups.items()}
    return {
        number: members[number].union(*(members.get(part, frozenset()) for part in parts_of(group)))
        for number, group in groups.items()
    }


def _part(group: int, block: int) -> int:
    if group >= ENTRY_GROUPS:
        return _ENTRY_PARTS | block << 24 | group - ENTRY_GROUPS
    number = 0x1000 if group == FLOOD_GROUP else group - VLAN_GROUPS
    return _FLOOD_PARTS | block << 16 | number
