"""Pages of a forwarding database that changes while it is read.

A page starts after a key, in the order (VLAN, address); the cursor is the last key of the page
before.  So an entry that stays is listed exactly once, while others come and go.  The tables are
not sorted and nothing is stored between pages: a page costs one pass over the tables it touches,
and only its own entries are sorted.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.fdb.fdb import Entry, EntryType
from ofapp.bridge.queries import fdb_tables, local_addresses, locked_hosts, static_entries

EVERY_VLAN = -1
"""VLAN of local entries, which are in all VLANs."""

Key = tuple[int, int]
"""(vlan, mac)."""


class Locked(NamedTuple):
    """A host that may not send yet (`ofapp.bridge.port_access`).  port: number of its port."""

    port: int


Row = tuple[int, int, Entry | Locked | int]
"""(vlan, mac, entry); for a local address its port instead of an entry."""

START: Key = (EVERY_VLAN, -1)

_CURSOR = struct.Struct("!QhQ")  # 18 bytes: 24 characters of base64 without padding
_SAMPLE = 512


@dataclass(frozen=True, slots=True)
class Selection:
    """Filter of entries; None does not filter.

    port: OpenFlow port number; hosts: (VID, address) of allowed entries.
    without: omit entries on these ports, and local ones unless their type is selected.
    """

    mac: int | None = None
    vlan: int | None = None
    port: int | None = None
    type: EntryType | None = None
    hosts: Set[Key] | None = None
    without: Set[int] | None = None

    @property
    def local(self) -> bool:
        """Whether the filter includes local entries."""
        types = (EntryType.LOCAL,) if self.without is not None else (None, EntryType.LOCAL)
        return self.type in types and self.hosts is None


def encode_cursor(datapath_id: int, key: Key) -> str:
    """Make a cursor after that entry."""
    packed = _CURSOR.pack(datapath_id, key[0], max(key[1], 0))
    return base64.urlsafe_b64encode(packed).decode()


def decode_cursor(text: str) -> tuple[int, Key]:
    """(datapath id, key) of the page before's last entry; `fdb.Cursor` has checked the text."""
    datapath_id, vlan, mac = _CURSOR.unpack(base64.urlsafe_b64decode(text))
    return datapath_id, (vlan, mac)


def page(bridge: Bridge, selection: Selection, after: Key, limit: int) -> list[Row]:
    """The first `limit` selected entries after `after`, in order."""
    return list(islice(_rows(bridge, selection, after, limit), limit))


def _rows(bridge: Bridge, selection: Selection, after: Key, limit: int) -> Iterator[Row]:
    if selection.local:
        for mac, port in sorted(local_addresses(bridge).items()):
            if (
                (EVERY_VLAN, mac) > after
                and selection.mac in (None, mac)
                and selection.port in (None, port)
            ):
                yield EVERY_VLAN, mac, port
    if selection.type is EntryType.LOCAL:
        return
    static: dict[int, set[int]] = {}
    if selection.type is not None:
        for vlan, mac in static_entries(bridge):
            static.setdefault(vlan, set()).add(mac)
    locked = _locked(bridge, selection)
    vlans = {*_vlans(bridge, selection, static, after[0])}
    for vlan in sorted(vlans.union(vlan for vlan in locked if vlan >= after[0])):
        table = fdb_tables(bridge)[vlan] if vlan in vlans else {}
        there = locked.get(vlan, {})
        beyond = after[1] if vlan == after[0] else -1
        macs = _candidates(table, static.get(vlan, set()), selection)
        if selection.hosts is not None:
            macs = [mac for mac in macs if (vlan, mac) in selection.hosts]
        if without := selection.without:
            macs = [mac for mac in macs if table[mac].port not in without]
        for mac in smallest(limit, [*macs, *there] if there else macs, beyond):
            yield vlan, mac, there.get(mac) or table[mac]


def _locked(bridge: Bridge, selection: Selection) -> dict[int, dict[int, Locked]]:
    """The selected hosts that may not send yet, by VLAN and address."""
    found: dict[int, dict[int, Locked]] = {}
    hosts, types = selection.hosts, (None, EntryType.LEARNED)
    if hosts is not None or selection.without is not None or selection.type not in types:
        return found
    for (vlan, mac), port in locked_hosts(bridge).items():
        wanted = (selection.vlan, selection.mac, selection.port)
        given = (vlan, mac, port)
        if all(own in (None, its) for own, its in zip(wanted, given, strict=True)):
            found.setdefault(vlan, {})[mac] = Locked(port)
    return found


def _vlans(
    bridge: Bridge, selection: Selection, static: Mapping[int, object], first: int
) -> list[int]:
    tables, mac = fdb_tables(bridge), selection.mac
    vlans: Iterable[int] = static if selection.type is EntryType.STATIC else tables
    if selection.vlan is not None:
        vlans = [selection.vlan] if selection.vlan in vlans else []
    return sorted(v for v in vlans if v >= first and (mac is None or mac in tables[v]))


def _candidates(table: Mapping[int, Entry], static: set[int], selection: Selection) -> list[int]:
    """The selected addresses of one VLAN, unsorted."""
    mac, port = selection.mac, selection.port
    macs: Iterable[int]
    if mac is not None:
        macs = [mac] if mac in table else []
    elif selection.type is EntryType.STATIC:
        macs = static
    elif port is not None:
        macs = [mac for mac, entry in table.items() if entry.port == port]
    else:
        macs = table
    if selection.type is EntryType.LEARNED and static:
        macs = [mac for mac in macs if mac not in static]
    if selection.type is EntryType.STATIC:
        macs = [mac for mac in macs if mac in static]
    if port is not None:
        macs = [mac for mac in macs if table[mac].port == port]
    return list(macs)


def smallest(count: int, macs: list[int], beyond: int) -> list[int]:
    """The `count` smallest above `beyond`, in order, without sorting the rest.

    A sample gives an address below which about twice as many lie; only those are sorted.
    """
    step = len(macs) // _SAMPLE
    if step > 1:
        sample = sorted(mac for mac in macs[::step] if mac > beyond)
        index = 2 * count // step + 4
        if index < len(sample):
            few = [mac for mac in macs if beyond < mac <= sample[index]]
            if len(few) >= count:
                return sorted(few)[:count]
    return sorted(mac for mac in macs if mac > beyond)[:count]
