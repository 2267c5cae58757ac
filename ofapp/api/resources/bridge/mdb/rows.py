"""The multicast entries of a bridge in the order in which they are listed, a page at a time.

As for the forwarding database a page starts after a key, which is in the cursor, so an entry
that stays is listed exactly once.  An MDB is small (`mcast_hash_max`), so it is sorted for
every page.
"""

from __future__ import annotations

import base64
import struct
from typing import NamedTuple

from ofapp.bridge.answers import permanent_entries
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.multicast import MemberInfo, Snapshot, parse_group, text
from ofapp.bridge.multicast.permanent_entries import PermanentEntry

Key = tuple[int, int, bytes, int, int, bytes, bytes]
"""(vlan, octets of an address, group, port number, 0 temp or 1 permanent, source, port name)."""

_FIXED = struct.Struct("!HB16sIB16s")
_SIZE = 42  # at least, and in threes: no padding in base64


class Row(NamedTuple):
    """member: reported membership; None for a permanent entry, for all sources not in `exclude`.

    number None: the port is away.  proto: origin of the entry; kernel if hosts reported it.
    """

    vlan: int
    group: bytes
    source: bytes | None
    number: int | None
    name: str
    member: MemberInfo | None
    exclude: tuple[bytes, ...] = ()
    proto: str = "kernel"

    @property
    def key(self) -> Key:
        """The sort key."""
        octets = len(self.group)
        return (
            self.vlan,
            octets,
            self.group.ljust(16, b"\0"),
            self.number or 0,
            self.member is None,
            (self.source or b"").ljust(16, b"\0"),
            self.name.encode(),
        )


def rows(bridge: Bridge, snapshot: Snapshot | None) -> list[Row]:
    """All entries, in order."""
    found = []
    for member in snapshot.members if snapshot is not None else ():
        if not member.permanent:
            port = bridge.ports.get(member.port)
            name = port.name if port else str(member.port)
            found.append(
                Row(member.vid, parse_group(member.group), None, member.port, name, member)
            )
    for entry in permanent_entries(bridge):
        port = bridge.ports.named(entry.port)
        number = None if port is None else port.number
        found.append(permanent_row(entry, number))
    return sorted(found, key=lambda row: row.key)


def permanent_row(entry: PermanentEntry, number: int | None) -> Row:
    """The row of a permanent entry."""
    vid, group, name, source, exclude, proto = entry
    return Row(vid, group, source, number, name, None, exclude, proto)


def row_text(row: Row) -> tuple[str, str | None]:
    """Group and source as text."""
    return text(row.group), None if row.source is None else text(row.source)


def encode_cursor(row: Row) -> str:
    """Make a cursor after that entry."""
    *fixed, name = row.key
    packed = _FIXED.pack(*fixed) + name
    size = max(_SIZE, len(packed) + -len(packed) % 3)
    return base64.urlsafe_b64encode(packed.ljust(size, b"\0")).decode()


def decode_cursor(cursor: str) -> Key:
    """The key of the last entry of the page before; `models.MdbCursor` has checked the text."""
    packed = base64.urlsafe_b64decode(cursor)
    vlan, octets, group, number, permanent, source = _FIXED.unpack_from(packed)
    return vlan, octets, group, number, permanent, source, packed[_FIXED.size :].rstrip(b"\0")
