"""/v1/bridges/{dpid}/fdb and /v1/fdb: forwarding databases, read and changed."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from ipaddress import ip_address
from itertools import groupby
from operator import itemgetter
from typing import Annotated, Any, Literal

from flask import Response
from flask_openapi3.blueprint import APIBlueprint
from flask_openapi3.models.tag import Tag
from pydantic import BaseModel, Field

from ofapp.api.answers import answer, listing, plain
from ofapp.api.base import (
    PAGE,
    BridgePath,
    DatapathId,
    Flushed,
    HostMac,
    Input,
    IpAddress,
    Mac,
    NoQuery,
    PageSize,
    PortRef,
    PortText,
    SilentMembers,
    Vid,
)
from ofapp.api.lookup import find_bridge, find_port, known_port, port_ref
from ofapp.api.pagination import (
    EVERY_VLAN,
    START,
    Key,
    Row,
    Selection,
    decode_cursor,
    encode_cursor,
    page,
)
from ofapp.api.problems import COMMON, UNSAVED, documented, refused
from ofapp.api.roles import operator, viewer
from ofapp.bridge.answers import (
    fdb_tables,
    held_addresses,
    held_keys,
    hosts_of_ip,
    ip_addresses,
    static_entries,
)
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.fdb import NO_PORT, EntryType
from ofapp.bridge.fdb import Entry as CoreEntry
from ofapp.bridge.mac import format_mac
from ofapp.controller.network import Network

TAG = Tag(name="fdb", description="Forwarding databases: who is behind which port.")

TypeName = Literal["learned", "static", "local"]
FlagName = Literal["sticky", "held"]
Cursor = Annotated[str, Field(pattern="^[A-Za-z0-9_-]{24}$")]


class StaticPath(BridgePath):
    """Which static entry."""

    vlan: Vid
    mac: HostMac


class EntryFilter(Input):
    """Which entries; all that is given must fit."""

    mac: Mac | None = None
    vlan: Vid | None = Field(
        None, description="a VID, 0 = untagged; local entries are in every VLAN"
    )
    port: PortText | None = None


class Listing(EntryFilter):
    """Which entries, and which page of them."""

    type: TypeName | None = None
    ip: IpAddress | None = Field(
        None, description="an IP address that a host was last heard with, whole"
    )
    limit: PageSize = Field(PAGE, description="most entries of a page")
    cursor: Cursor | None = Field(None, description="`next` of the page before")


class StaticBody(Input):
    """Where a static entry points."""

    port: PortText


class Entry(BaseModel):
    """An address and where it is."""

    mac: str
    vlan: int | None = Field(description="VID, 0 = untagged; null = every VLAN")
    port: PortRef
    type: TypeName
    flags: list[FlagName] = Field(
        description="sticky = learned for good; held = held down, see /v1/bridges/{dpid}/fdb/held"
    )
    updated: float | None = Field(description="seconds since it was last seen as a source")
    used: float | None = Field(description="seconds since it was last used as a destination")
    addresses: list[str] = Field(
        description="IP addresses that it was last heard with, as far as frames that came to the"
        " controller told, the last first; it may claim what is another one's"
    )


class BridgeEntry(Entry):
    """An entry and its bridge."""

    datapath_id: DatapathId
    bridge: str = Field(description="the bridge's name")


class EntryPage(BaseModel):
    """Entries by VLAN and address; those for every VLAN first."""

    entries: list[Entry]
    next: str | None = Field(description="`cursor` of the page after this one; null on the last")


class BridgeEntryPage(BaseModel):
    """Entries by bridge, VLAN and address."""

    entries: list[BridgeEntry]
    next: str | None = Field(description="`cursor` of the page after this one; null on the last")
    silent: SilentMembers = []


class Held(BaseModel):
    """An address that is held down: frames from it pass on its port only."""

    mac: str
    vlan: int = Field(description="VID, 0 = untagged")
    port: PortRef = Field(description="where it is known")
    elsewhere: PortRef = Field(description="where else it was seen last")
    reason: Literal["moves", "sticky"] = Field(
        description="it moved too often, or is of a sticky port"
    )
    seconds_left: float = Field(description="until it is let go")
    sightings: int = Field(description="those from elsewhere that the controller was told of since")


class HeldList(BaseModel):
    """Who is held down, the longest first."""

    held: list[Held]


def _entries(bridge: Bridge, rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Shape: `Entry`, each."""
    now = time.monotonic()
    ports: dict[int, dict[str, Any]] = {}
    static = static_entries(bridge)
    held = held_keys(bridge)
    entries = []
    for vlan, mac, found in rows:
        number = found.port if isinstance(found, CoreEntry) else found
        port = ports.get(number)
        if port is None:
            port = ports[number] = port_ref(bridge, number).model_dump()
        if number == NO_PORT:
            port = {"number": None, "name": static.get((vlan, mac), "")}
        flags = []
        if isinstance(found, CoreEntry):
            type_ = "learned" if found.was_learned else found.type.value
            if found.is_sticky:
                flags.append("sticky")
            if (vlan, mac) in held:
                flags.append("held")
            updated: float | None = max(0.0, round(now - found.updated, 3))
            used: float | None = max(0.0, round(now - found.used, 3))
        else:
            type_, updated, used = "local", None, None
        entries.append(
            {
                "mac": format_mac(mac),
                "vlan": None if vlan == EVERY_VLAN else vlan,
                "port": port,
                "type": type_,
                "flags": flags,
                "updated": updated,
                "used": used,
                "addresses": ip_addresses(bridge, vlan, mac),
            }
        )
    return entries


def _bridge_entries(found: Sequence[tuple[Bridge, Row]]) -> list[dict[str, Any]]:
    """Shape: `BridgeEntry`, each."""
    entries = []
    for bridge, rows in groupby(found, itemgetter(0)):
        about = {"datapath_id": f"{bridge.datapath_id:016x}", "bridge": bridge.name}
        for entry in _entries(bridge, (row for _, row in rows)):
            entries.append(about | entry)
    return entries


def _held(bridge: Bridge) -> list[Held]:
    now = time.monotonic()
    return [
        Held(
            mac=format_mac(held.mac),
            vlan=held.vid,
            port=port_ref(bridge, held.port),
            elsewhere=port_ref(bridge, held.elsewhere),
            reason=held.reason,
            seconds_left=max(0.0, round(held.until - now, 3)),
            sightings=held.sightings,
        )
        for held in held_addresses(bridge).values()
    ]


def blueprint(network: Network) -> APIBlueprint:
    """The routes on a network."""
    api = APIBlueprint("fdb", __name__, url_prefix="/v1", abp_tags=[TAG], abp_responses=COMMON)

    @api.get("/bridges/<dpid>/fdb", responses={200: EntryPage, **documented(404, 409)})
    @viewer
    def bridge_fdb(path: BridgePath, query: Listing) -> Response:
        """A bridge's entries by VLAN and address, a page at a time."""
        bridge = find_bridge(network, path.dpid)
        _, after = _position(query)
        rows = page(bridge, _selection(bridge, query), after, query.limit + 1)
        return listing(
            "entries",
            rows[: query.limit],
            lambda some: _entries(bridge, some),
            {"next": _next(bridge, rows, query.limit)},
        )

    @api.get("/fdb", responses={200: BridgeEntryPage})
    @viewer
    def whole_fdb(query: Listing) -> Response:
        """The entries of all bridges, by datapath id, VLAN and address."""
        first, after = _position(query)
        found: list[tuple[Bridge, Row]] = []
        cursor = None
        for datapath_id, bridge in sorted(network.bridges.items()):
            if datapath_id < first:
                continue
            if query.port is not None and known_port(bridge, query.port) is None:
                continue
            room = query.limit - len(found)
            key = after if datapath_id == first else START
            rows = page(bridge, _selection(bridge, query), key, room + 1)
            found += [(bridge, row) for row in rows[:room]]
            if len(rows) > room:
                cursor = encode_cursor(datapath_id, _key(rows[room - 1]) if room else START)
                break
        return listing("entries", found, _bridge_entries, {"next": cursor, "silent": []})

    @api.put(
        "/bridges/<dpid>/fdb/<vlan>/<mac>",
        responses={
            200: Entry,
            201: Entry,
            **documented(400, 404, 409, 413, 415),
            **UNSAVED,
        },
    )
    @operator
    def put_static(path: StaticPath, query: NoQuery, body: StaticBody) -> Response:
        """Fix an address to a port for good: 201, or 200 when it was static before.

        503, 507: it is in force, but not saved yet.
        """
        bridge = find_bridge(network, path.dpid)
        port = find_port(bridge, body.port, 409)
        new = (path.vlan, path.mac) not in static_entries(bridge)
        with refused(409):
            saved = network.changes.fdb.add_static(bridge, path.vlan, path.mac, port.name)
        row = path.vlan, path.mac, fdb_tables(bridge)[path.vlan][path.mac]
        told = plain(_entries(bridge, [row])[0], 201 if new else 200)
        saved.wait()
        return told

    @api.delete(
        "/bridges/<dpid>/fdb/<vlan>/<mac>", responses={204: None, **documented(404, 409), **UNSAVED}
    )
    @operator
    def delete_static(path: StaticPath, query: NoQuery) -> Response:
        """Let the address of a static entry be learned again.  503, 507: as for PUT."""
        bridge = find_bridge(network, path.dpid)
        with refused(404):
            saved = network.changes.fdb.remove_static(bridge, path.vlan, path.mac)
        saved.wait()
        return Response(status=204)

    @api.delete("/bridges/<dpid>/fdb", responses={200: Flushed, **documented(404, 409)})
    @operator
    def flush(path: BridgePath, query: EntryFilter) -> Response:
        """Forget the learned entries that fit all that is given; without a filter, all."""
        bridge = find_bridge(network, path.dpid)
        port = None if query.port is None else find_port(bridge, query.port).number
        gone = network.changes.fdb.flush(bridge, port, query.vlan, query.mac)
        return answer(Flushed(flushed=gone))

    @api.get("/bridges/<dpid>/fdb/held", responses={200: HeldList, **documented(404, 409)})
    @viewer
    def held(path: BridgePath, query: NoQuery) -> Response:
        """The addresses that are held down: they flap, or belong to a sticky port."""
        return answer(HeldList(held=_held(find_bridge(network, path.dpid))))

    @api.delete(
        "/bridges/<dpid>/fdb/held/<vlan>/<mac>", responses={204: None, **documented(404, 409)}
    )
    @operator
    def release(path: StaticPath, query: NoQuery) -> Response:
        """Let go of an address before its time; it may move again, and be held again."""
        bridge = find_bridge(network, path.dpid)
        with refused(404):
            network.changes.fdb.release(bridge, path.vlan, path.mac)
        return Response(status=204)

    return api


def _position(query: Listing) -> tuple[int, Key]:
    if query.cursor is None:
        return -1, START
    return decode_cursor(query.cursor)


def _selection(bridge: Bridge, query: Listing) -> Selection:
    number = None if query.port is None else find_port(bridge, query.port).number
    type_ = None if query.type is None else EntryType(query.type)
    return Selection(query.mac, query.vlan, number, type_, _hosts(bridge, query.ip))


def _hosts(bridge: Bridge, ip: str | None) -> frozenset[Key] | None:
    """Who was heard with it; None for whoever it may be."""
    if ip is None:
        return None
    return hosts_of_ip(bridge, ip_address(ip).packed)


def _key(row: Row) -> Key:
    return row[0], row[1]


def _next(bridge: Bridge, rows: list[Row], limit: int) -> str | None:
    if len(rows) <= limit:
        return None
    return encode_cursor(bridge.datapath_id, _key(rows[limit - 1]))
