"""Multicast entries that do not age: groups that are configured for a port.

An entry belongs to a port's name, not to its number: it stays when the port is removed, and follows
the port of that name.  It also stays while snooping is off.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ofapp.bridge.input_error import InputError
from ofapp.bridge.packet.address import (
    is_host,
    is_mac_group,
    parse,
    parse_group,
    text,
    why_no_entry,
)

STATIC = "static"
PROTOCOLS = {
    4: STATIC,
    8: "gated",
    9: "ra",
    10: "mrt",
    11: "zebra",
    12: "bird",
    13: "dnrouted",
    14: "xorp",
    15: "ntk",
    16: "dhcp",
    18: "keepalived",
    42: "babel",
    99: "openr",
    186: "bgp",
    187: "isis",
    188: "ospf",
    189: "rip",
    192: "eigrp",
}
"""Origins of entries, as numbered by rtnetlink and named by iproute2 (`rt_protos`)."""


def protocol(given: str) -> str:
    """A protocol's name, or its number where it has none.  Raises InputError."""
    if given in PROTOCOLS.values():
        return given
    if given.isascii() and given.isdecimal() and 4 <= int(given) <= 255:
        return PROTOCOLS.get(int(given), str(int(given)))
    names = ", ".join(PROTOCOLS.values())
    raise InputError("proto", f"{given!r} is not a protocol: {names}, or a number from 4 to 255")


class PermanentEntry(NamedTuple):
    """One entry, octets in network order.  source None: from all hosts but those in `exclude`.

    group: an IP address, or a MAC address for traffic other than IP, which has no sources.

    port: the port's name.  proto: the origin, see `protocol`; for display only.
    """

    vid: int
    group: bytes
    port: str
    source: bytes | None = None
    exclude: tuple[bytes, ...] = ()
    proto: str = STATIC

    @classmethod
    def parse(
        cls,
        vid: int,
        group: str,
        port: str,
        source: str | None,
        exclude: Iterable[str],
        proto: str = STATIC,
    ) -> PermanentEntry:
        """From addresses as text.  Raises ValueError."""
        origin, without = None if source is None else parse(source), tuple(map(parse, exclude))
        return cls(vid, parse_group(group), port, origin, without, protocol(proto))

    @property
    def key(self) -> tuple[int, bytes, str, bytes | None]:
        """The part that is unique among entries."""
        return self[:4]


MAX_EXCLUDED = 32
"""Most sources that one entry may exclude, as in the kernel's bridge."""


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
        """Whether there is an entry with the same key; excluded sources do not count."""
        return entry.key in self._entries

    def all(self) -> list[PermanentEntry]:
        """Every entry, its port present or not."""
        return list(self._entries.values())

    def on(self, port_name: str) -> list[PermanentEntry]:
        """The entries of a port."""
        return [entry for entry in self._entries.values() if entry.port == port_name]

    def add(self, entry: PermanentEntry) -> None:
        """Add an entry, or replace the one with the same key.  Raises InputError."""
        if not 0 <= entry.vid <= 4094:
            raise InputError("vlan", f"{entry.vid} is not a VID: 0 (untagged) to 4094")
        check_addresses(entry.group, entry.source, entry.exclude)
        self._entries[entry.key] = entry

    def remove(self, entry: PermanentEntry) -> None:
        """Remove the entry with the same key; InputError when there is none."""
        if not self.has(entry):
            source = "" if entry.source is None else f" from {text(entry.source)}"
            raise InputError(
                "group",
                f"{text(entry.group)}{source} in VLAN {entry.vid} is no permanent entry "
                f"of port {entry.port}",
            )
        del self._entries[entry.key]

    def rename(self, old_name: str, name: str) -> None:
        """Follow a port to its new name with its entries."""
        renamed = [
            entry._replace(port=name) if entry.port == old_name else entry for entry in self.all()
        ]
        self._entries = {entry.key: entry for entry in renamed}
