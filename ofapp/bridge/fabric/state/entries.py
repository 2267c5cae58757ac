"""Multicast entries that members have from before the controller started.

An entry at one member has the ports there, and the fabric's port, which stands for any ports at
others.  Until every member was asked or is gone, all entries lead to the fabric's port, and entries
that seem to have no members stay.
"""

from collections.abc import Iterable
from typing import TypeVar

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Effect
from ofapp.bridge.fabric.state.places import Places
from ofapp.bridge.multicast import RemoveGroup, SetGroup, SetUnregistered

Entry = SetGroup | SetUnregistered
AnyEntry = TypeVar("AnyEntry", SetGroup, SetUnregistered)


def _key(entry: Entry) -> tuple[object, ...]:
    return entry[:-1]


def _removal(entry: Entry) -> RemoveGroup | SetUnregistered:
    if isinstance(entry, SetUnregistered):
        return entry._replace(ports=None)
    return RemoveGroup(entry.vid, entry.group, entry.source)


class FoundEntries:
    """Entries that were found at members, in their numbers, until all members were asked."""

    def __init__(self, bridge: Bridge, places: Places) -> None:
        self._bridge = bridge
        self._places = places
        self._found: dict[int, list[Entry]] = {}

    def restore(
        self,
        member: int,
        groups: list[SetGroup],
        unregistered: list[SetUnregistered],
        now: float,
    ) -> list[Effect]:
        """Take over the entries of a member that connects for the first time."""
        if not self._places.partial or member in self._found:
            return []
        further = bool(self._found)
        self._found[member] = [*groups, *unregistered]
        here = [group for group in self._of_bridge(member, groups) if group.ports]
        routers = self._of_bridge(member, unregistered)
        return self._bridge.multicast.restore_entries(here, routers, now, further)

    def kept(self, member: int, entries: Iterable[Entry]) -> list[Entry]:
        """Entries of a member besides those that the bridge has, for now."""
        known = {_key(entry) for entry in entries}
        found = self._found.get(member, []) if self._places.partial else []
        return [entry for entry in found if _key(entry) not in known]

    def settle(self, now: float) -> list[Effect]:
        """Let all members have the bridge's entries alone: each was asked, or is gone."""
        if not self._places.partial:
            return []
        self._places.partial = False
        wanted = self._bridge.multicast.desired(self._bridge.params) or ()
        known = {_key(entry) for entry in wanted}
        removed = {
            _removal(entry): None
            for entries in self._found.values()
            for entry in entries
            if _key(entry) not in known
        }
        self._found.clear()
        return [*wanted, *removed]

    def _of_bridge(self, member: int, entries: Iterable[AnyEntry]) -> list[AnyEntry]:
        """The entries with the bridge's numbers of the ports at a member."""
        return [
            entry
            if entry.ports is None
            else entry._replace(
                ports=frozenset(
                    number
                    for port in entry.ports
                    if (number := self._places.number(member, port)) is not None
                )
            )
            for entry in entries
        ]
