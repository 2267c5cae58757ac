"""Multicast entries that do not age: groups that somebody has set for a port.

An entry belongs to a port's name, not to its number: it outlives the port, and is where the port
of that name is.  It outlives snooping being off, too.
"""

from __future__ import annotations

from typing import NamedTuple

from ofapp.bridge.multicast.address import is_host, is_snooped, text
from ofapp.bridge.pinned import InputError


class PermanentEntry(NamedTuple):
    """Octets in network order; source None: from everybody.  port: the port's name."""

    vid: int
    group: bytes
    port: str
    source: bytes | None = None


def check_addresses(group: bytes, source: bytes | None) -> None:
    """InputError when the group, or the source for that group, cannot have an entry."""
    if not is_snooped(group):
        raise InputError("group", f"{text(group)} is not a multicast group that can have an entry")
    if source is not None and (len(source) != len(group) or not is_host(source)):
        raise InputError("source", f"{text(source)} cannot be a source of {text(group)}")


class Permanent:
    """The permanent entries of a bridge, in the order in which they were made."""

    def __init__(self) -> None:
        self._entries: dict[PermanentEntry, None] = {}

    def __contains__(self, entry: PermanentEntry) -> bool:
        return entry in self._entries

    def all(self) -> list[PermanentEntry]:
        """Every entry, its port present or not."""
        return list(self._entries)

    def on(self, port_name: str) -> list[PermanentEntry]:
        """The entries of a port."""
        return [entry for entry in self._entries if entry.port == port_name]

    def add(self, entry: PermanentEntry) -> None:
        """Keep an entry; InputError."""
        if not 0 <= entry.vid <= 4094:
            raise InputError("vlan", f"{entry.vid} is not a VID: 0 (untagged) to 4094")
        check_addresses(entry.group, entry.source)
        self._entries[entry] = None

    def remove(self, entry: PermanentEntry) -> None:
        """Forget an entry; InputError when there is none."""
        if entry not in self._entries:
            source = "" if entry.source is None else f" from {text(entry.source)}"
            raise InputError(
                "group",
                f"{text(entry.group)}{source} in VLAN {entry.vid} is no permanent entry "
                f"of port {entry.port}",
            )
        del self._entries[entry]

    def rename(self, old_name: str, name: str) -> None:
        """A port has another name now: its entries stay with it."""
        self._entries = {
            entry._replace(port=name) if entry.port == old_name else entry: None
            for entry in self._entries
        }
