"""Multicast entries, and the OpenFlow group that each has: the group holds the entry's ports.

Which group belongs to which entry is in the serial of its flow's cookie; a controller that restarts
reads it from there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ofapp.bridge.multicast import Family, SetGroup, SetUnregistered, family_of
from ofapp.openflow.pipeline.group_numbers import ENTRY_GROUPS


class Key(NamedTuple):
    """An entry; without a group, all groups of the family that have none.

    family None: the group is a MAC address, for what is not IP.
    """

    vid: int
    family: Family | None
    group: bytes | None
    source: bytes | None


def entry_of(effect: SetGroup | SetUnregistered) -> tuple[Key, frozenset[int] | None]:
    """The entry of an effect, and the ports it wants there; None for no entry."""
    if isinstance(effect, SetUnregistered):
        return Key(effect.vid, effect.family, None, None), effect.ports
    return key_of(effect.vid, effect.group, effect.source), effect.ports


def key_of(vid: int, group: bytes, source: bytes | None) -> Key:
    """The key of one group's entry."""
    return Key(vid, family_of(group), group, source)


class GroupNumbers:
    """The OpenFlow group of each entry, on one switch."""

    def __init__(self, known: Mapping[Key, int] | None = None) -> None:
        self._numbers = dict(known or {})
        self._used = set(self._numbers.values())
        self._free: list[int] = []
        self._next = ENTRY_GROUPS

    def copy(self) -> GroupNumbers:
        """A copy, for a dry run: numbers taken from it are not taken here."""
        other = GroupNumbers(self._numbers)
        other._free, other._next = [*self._free], self._next
        return other

    def of(self, key: Key) -> int:
        """The entry's group, a new one if need be."""
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = self._new()
        return number

    def of_all(self, effects: Iterable[SetGroup | SetUnregistered]) -> GroupNumbers:
        """The groups of these entries alone, which later changes do not affect."""
        entries = map(entry_of, effects)
        return GroupNumbers({key: self.of(key) for key, ports in entries if ports is not None})

    def release(self, key: Key) -> int | None:
        """Release the group of an entry that is gone, and return it; another may get it then."""
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
