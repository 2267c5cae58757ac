"""Routes that list, set and remove multicast entries.

Entries have an order.  As for the forwarding database a page starts after a key, which is in the
cursor, so an entry that stays is listed exactly once.  An MDB is small (`mcast_hash_max`), so it is
sorted for every page.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

from flask import Response

from ofapp.api.base import BridgePath, Flushed
from ofapp.api.lookup import find_bridge, find_port, known_port, no_port
from ofapp.api.openapi import APIBlueprint, Tag
from ofapp.api.problems import UNSAVED, documented, field_problem, refused, resource
from ofapp.api.resources.bridge.mdb.models import (
    MdbAddition,
    MdbEntry,
    MdbFilter,
    MdbListing,
    MdbPage,
    MdbPath,
    MdbRemoval,
)
from ofapp.api.responses import answer, listing, plain
from ofapp.api.roles import operator, viewer
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.multicast import MemberInfo, Snapshot, parse_group, text
from ofapp.bridge.multicast.permanent_entries import STATIC, PermanentEntry
from ofapp.bridge.queries import has_permanent, permanent_entries
from ofapp.controller.network import Network

NAME = "mdb"
TAG = Tag(name=NAME, description="Multicast groups and the ports that get them.")


def blueprint(network: Network) -> APIBlueprint:
    """The routes on a network."""
    api = resource(NAME, TAG, "/v1/bridges/<dpid>/mdb")

    @api.get("", responses={200: MdbPage, **documented(404, 409)})
    @viewer
    def entries(path: BridgePath, query: MdbListing) -> Response:
        """A bridge's multicast entries by VLAN, group and port, a page at a time."""
        bridge = find_bridge(network, path.dpid)
        rows = _selected(network, bridge, query)
        if query.cursor is not None:
            after = decode_cursor(query.cursor)
            rows = [row for row in rows if row.key > after]
        page = rows[: query.limit]
        cursor = encode_cursor(page[-1]) if len(rows) > len(page) else None
        return listing("entries", page, _entries, {"next": cursor})

    @api.put(
        "/<vlan>/<group>/<port>",
        responses={
            200: MdbEntry,
            201: MdbEntry,
            **documented(404, 409),
            **UNSAVED,
        },
    )
    @operator
    def put(path: MdbPath, query: MdbAddition) -> Response:
        """Forward a group to a port, permanently or as a member: 201, or 200 if it existed.

        By the time of the answer the switch does so, if it is connected and replies within two
        seconds.
        409: a source is not of the group's address family, or a member's version of IGMP or MLD
        has no sources, or the port has reached its limit of groups.
        503, 507: it is in force, but not saved yet.
        """
        bridge = find_bridge(network, path.dpid)
        port = find_port(bridge, path.port)
        exclude = query.exclude or ()
        if query.proto is not None and query.type == "temp":
            raise field_problem(409, "proto", "only a permanent entry has a protocol")
        proto = query.proto or STATIC
        entry = PermanentEntry(path.vlan, path.group, port.name, query.source, exclude, proto)
        known = {row.key: row for row in _all(network, bridge)}
        row = permanent_row(entry, port.number)
        with refused(409):
            if query.type == "permanent":
                saved = network.changes.mdb.add_permanent(bridge, entry)
            else:
                network.changes.mdb.join(bridge, entry)
                saved, row = None, _learned(_all(network, bridge), row)
        response = plain(_entry(row), 200 if row.key in known else 201)
        network.dispatcher.carried_out(bridge)
        if saved is not None:
            saved.wait()
        return response

    @api.delete("/<vlan>/<group>/<port>", responses={204: None, **documented(404, 409), **UNSAVED})
    @operator
    def delete(path: MdbPath, query: MdbRemoval) -> Response:
        """Remove a permanent entry, and what hosts have reported, until they report again.

        The port may be absent, and is then given by its name.  503, 507: as for PUT.
        """
        bridge = find_bridge(network, path.dpid)
        port = known_port(bridge, path.port)
        name = path.port if port is None else port.name
        entry = PermanentEntry(path.vlan, path.group, name, query.source)
        known = query.type != "temp" and has_permanent(bridge, entry)
        saved = network.changes.mdb.remove_permanent(bridge, entry) if known else None
        if query.type != "permanent" and port is not None:
            about = path.vlan, path.group, port.number, query.source
            known |= network.changes.mdb.forget_members(bridge, *about) > 0
        if not known:
            source = "" if query.source is None else f" from {text(query.source)}"
            what = f"{text(path.group)}{source} in VLAN {path.vlan}"
            kind = "" if query.type is None else f"{query.type} "
            raise field_problem(404, "group", f"{what} is no {kind}entry of port {name}")
        if saved is not None:
            saved.wait()
        return Response(status=204)

    @api.delete("", responses={200: Flushed, **documented(404, 409), **UNSAVED})
    @operator
    def flush(path: BridgePath, query: MdbFilter) -> Response:
        """Remove the entries that match all given fields; without a filter, all of one type.

        Hosts that still want a group report it after the next query.
        """
        bridge = find_bridge(network, path.dpid)
        name, number = _port(bridge, query.port)
        if query.type == "temp":
            if query.port is not None and number is None:
                return answer(Flushed(flushed=0))
            about = query.vlan, query.group, number
            gone = network.changes.mdb.forget_members(bridge, *about)
            return answer(Flushed(flushed=gone))
        fitting = [
            entry
            for entry in permanent_entries(bridge)
            if query.vlan in (None, entry.vid)
            and query.group in (None, entry.group)
            and name in (None, entry.port)
        ]
        network.changes.mdb.remove_permanent(bridge, *fitting).wait()
        return answer(Flushed(flushed=len(fitting)))

    return api


def _selected(network: Network, bridge: Bridge, query: MdbListing) -> list[Row]:
    name, _ = _port(bridge, query.port)
    permanent = None if query.type is None else query.type == "permanent"
    return [
        row
        for row in _all(network, bridge)
        if query.vlan in (None, row.vlan)
        and query.group in (None, row.group)
        and name in (None, row.name)
        and permanent in (None, row.member is None)
    ]


def _all(network: Network, bridge: Bridge) -> list[Row]:
    return rows(bridge, network.multicast_snapshot(bridge))


def _learned(rows: list[Row], like: Row) -> Row:
    """The membership of the same group and port."""
    wanted = like.vlan, like.group, like.number
    return next(row for row in rows if row.member and (row.vlan, row.group, row.number) == wanted)


def _port(bridge: Bridge, given: str | None) -> tuple[str | None, int | None]:
    """The name and number of a port that exists or has permanent entries; else 404."""
    if given is None:
        return None, None
    port = known_port(bridge, given)
    if port is not None:
        return port.name, port.number
    if not permanent_entries(bridge, given):
        raise no_port(bridge, given, 404)
    return given, None


def _entries(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Shape: `MdbEntry`, each."""
    return [_entry(row) for row in rows]


def _entry(row: Row) -> dict[str, Any]:
    group, source = row_text(row)
    member = row.member
    about = {
        "vlan": row.vlan,
        "group": group,
        "source": source,
        "port": {"number": row.number, "name": row.name},
        "proto": row.proto,
    }
    if member is None:
        mode = "exclude" if source is None else "include"
        return about | {
            "type": "permanent",
            "filter_mode": mode,
            "timer": None,
            "sources": [
                {"address": text(address), "timer": 0.0, "blocked": True} for address in row.exclude
            ],
            "hosts": [],
        }
    return about | {
        "type": "temp",
        "filter_mode": member.mode,
        "timer": member.timer if member.mode == "exclude" else None,
        "sources": [
            {"address": one.address, "timer": one.timer, "blocked": one.blocked}
            for one in member.sources
        ],
        "hosts": list(member.hosts),
    }


Key = tuple[int, int, bytes, int, int, bytes, bytes]
"""(vlan, octets of an address, group, port number, 0 temp or 1 permanent, source, port name)."""

_FIXED = struct.Struct("!HB16sIB16s")
_SIZE = 42  # at least, and in threes: no padding in base64


class Row(NamedTuple):
    """member: reported membership; None for a permanent entry, for all sources not in `exclude`.

    number None: the port is absent.  proto: origin of the entry; kernel if hosts reported it.
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
    result = []
    for member in snapshot.members if snapshot is not None else ():
        if not member.permanent:
            port = bridge.ports.get(member.port)
            name = port.name if port else str(member.port)
            result.append(
                Row(member.vid, parse_group(member.group), None, member.port, name, member)
            )
    for entry in permanent_entries(bridge):
        port = bridge.ports.named(entry.port)
        number = None if port is None else port.number
        result.append(permanent_row(entry, number))
    return sorted(result, key=lambda row: row.key)


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
