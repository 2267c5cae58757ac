"""Multicast entries that do not age: groups that somebody has set for a port.

An entry belongs to a port's name, not to its number: it outlives the port, and is where the port
of that name is.  It outlives snooping being off, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ofapp.bridge.input_error import InputError
from ofapp.bridge.multicast.address import (
    is_host,
    is_mac_group,
    parse,
    parse_group,
    text,
    why_no_entry,
)


class PermanentEntry(NamedTuple):
    """Octets in network order; source None: from everybody but those in `exclude`.

    group: an IP address, or a MAC address for what is not IP, which has no sources.

    port: the port's name.
    """

    vid: int
    group: bytes
    port: str
    source: bytes | None = None
    exclude: tuple[bytes, ...] = ()

    @classmethod
    def parse(
        cls, vid: int, group: str, port: str, source: str | None, exclude: Iterable[str]
    ) -> PermanentEntry:
        """From addresses as text; ValueError."""
        origin = None if source is None else parse(source)
        return cls(vid, parse_group(group), port, origin, tuple(map(parse, exclude)))

    @property
    def key(self) -> tuple[int, bytes, str, bytes | None]:
        """What there can be one entry for."""
        return self[:4]


MAX_EXCLUDED = 32
"""Sources that one entry may exclude, as the kernel's bridge has it."""


def check_addresses(group: bytes, source: bytes | None, exclude: Sequence[bytes] = ()) -> None:
    """InputError when the group, or a source for that group, cannot have an entry."""
    if problem := why_no_entry(group):
        raise InputError("group", f"{text(group)} is {problem}")
    for field, named in (("source", [] if source is None else [source]), ("exclude", exclude)):
        if named and is_mac_group(group):
            raise InputError(field, f"{text(group)} is a MAC address: it has no sources")
        for one in named:
            if len(one) != len(group) or not is_host(one):
                raise InputError(field, f"{text(one)} cannot be a source of {text(group)}")
    if source is not None and exclude:
        raise InputError("exclude", "an entry for one source excludes all others anyway")
    if len(exclude) > MAX_EXCLUDED:
        raise InputError("exclude", f"an entry can exclude {MAX_EXCLUDED} sources at most")


class PermanentEntries:
    """The permanent entries of a bridge, in the order in which they were made."""

    def __init__(self) -> None:
        self._entries: dict[tuple[int, bytes, str, bytes | None], PermanentEntry] = {}

    def __contains__(self, entry: PermanentEntry) -> bool:
        return self._entries.get(entry.key) == entry

    def has(self, entry: PermanentEntry) -> bool:
        """Whether there is an entry for the same, whatever it excludes."""
        return entry.key in self._entries

    def all(self) -> list[PermanentEntry]:
        """Every entry, its port present or not."""
        return list(self._entries.values())

    def on(self, port_name: str) -> list[PermanentEntry]:
        """The entries of a port."""
        return [entry for entry in self._entries.values() if entry.port == port_name]

    def add(self, entry: PermanentEntry) -> None:
        """Keep an entry, in the place of one for the same; InputError."""
        if not 0 <= entry.vid <= 4094:
            raise InputError("vlan", f"{entry.vid} is not a VID: 0 (untagged) to 4094")
        check_addresses(entry.group, entry.source, entry.exclude)
        self._entries[entry.key] = entry

    def remove(self, entry: PermanentEntry) -> None:
        """Forget an entry, whatever it excludes; InputError when there is none."""
        if not self.has(entry):
            source = "" if entry.source is None else f" from {text(entry.source)}"
            raise InputError(
                "group",
                f"{text(entry.group)}{source} in VLAN {entry.vid} is no permanent entry "
                f"of port {entry.port}",
            )
        del self._entries[entry.key]

    def rename(self, old_name: str, name: str) -> None:
        """A port has another name now: its entries stay with it."""
        renamed = [
            entry._replace(port=name) if entry.port == old_name else entry for entry in self.all()
        ]
        self._entries = {entry.key: entry for entry in renamed}
