"""/v1/bridges/{dpid}/fdb and /v1/fdb: read and change forwarding databases."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from ipaddress import ip_address
from itertools import groupby
from operator import itemgetter
from typing import Annotated, Any, Literal

from flask import Response
from pydantic import BaseModel, Field

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
    filled,
)
from ofapp.api.lookup import find_bridge, find_port, known_port, port_ref
from ofapp.api.openapi import APIBlueprint, Tag
from ofapp.api.pagination import (
    EVERY_VLAN,
    START,
    Key,
    Locked,
    Row,
    Selection,
    decode_cursor,
    encode_cursor,
    page,
)
from ofapp.api.problems import UNSAVED, documented, refused, resource
from ofapp.api.resources.topology import around
from ofapp.api.responses import answer, listing, plain
from ofapp.api.roles import all_members, operator, viewer
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.fdb.fdb import NO_PORT, EntryType
from ofapp.bridge.fdb.fdb import Entry as CoreEntry
from ofapp.bridge.mac import format_mac
from ofapp.bridge.queries import (
    fdb_tables,
    held_addresses,
    held_keys,
    hosts_of_ip,
    ip_addresses,
    is_extern,
    static_entries,
)
from ofapp.controller.network import Network
from ofapp.controller.topology import link_ends

TAG = Tag(name="fdb", description="Forwarding databases: which host is behind which port.")

TypeName = Literal["learned", "static", "local"]
FlagName = Literal["sticky", "extern_learn", "held", "locked"]
Cursor = Annotated[str, Field(pattern="^[A-Za-z0-9_-]{24}$")]


class StaticPath(BridgePath):
    """Path of a static entry."""

    vlan: Vid
    mac: HostMac


class EntryFilter(Input):
    """Filter of entries; all given fields must match."""

    mac: Mac | None = None
    vlan: Vid | None = Field(
        None, description="a VID, 0 = untagged; local entries are in every VLAN"
    )
    port: PortText | None = None


class Listing(EntryFilter):
    """Filter of entries, and which page of them."""

    type: TypeName | None = None
    ip: IpAddress | None = Field(
        None,
        description="an IP address that is bound to a host or that it was last heard with, whole",
    )
    limit: PageSize = Field(PAGE, description="most entries of a page")
    cursor: Cursor | None = Field(None, description="`next` of the page before")


class WholeListing(Listing):
    """Filter of the entries of all bridges, and which page of them."""

    attached: bool = Field(
        False,
        description="only entries on ports without a link to another of the bridges: where hosts"
        " are attached; without local entries, unless `type` asks for them",
    )


class StaticBody(Input):
    """Port of an entry, and its type."""

    port: PortText
    type: Literal["static", "extern_learn"] = Field(
        "static",
        description="extern_learn: it does not age, and becomes a learned one when its host moves;"
        " a restart of the controller and a flush forget it, a topology change does not",
    )


class Entry(BaseModel):
    """An address and its port."""

    mac: str
    vlan: int | None = Field(description="VID, 0 = untagged; null = every VLAN")
    port: PortRef
    type: TypeName
    flags: list[FlagName] = Field(
        description="sticky = never ages or moves; extern_learn = set by a program; held = held"
        " down, see /v1/bridges/{dpid}/fdb/held; locked = its frames are dropped until it is"
        " authorised, see /v1/bridges/{dpid}/port-access"
    )
    updated: float | None = Field(description="seconds since it was last seen as a source")
    used: float | None = Field(description="seconds since it was last used as a destination")
    addresses: list[str] = Field(
        description="IP addresses that are bound to it; of a family without bindings those in its"
        " frames that reached the controller, the latest first;"
        " not verified: it may use another host's"
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
    port: PortRef = Field(description="port of its entry")
    elsewhere: PortRef = Field(description="other port where it was seen last")
    reason: Literal["moves", "sticky"] = Field(
        description="it moved too often, or belongs to a sticky port"
    )
    seconds_left: float = Field(description="until it is released")
    sightings: int = Field(description="sightings on other ports that reached the controller since")


class HeldList(BaseModel):
    """The addresses that are held down, the longest first."""

    held: list[Held]


def _entries(bridge: Bridge, rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Shape: `Entry`, each."""
    now = time.monotonic()
    ports: dict[int, dict[str, Any]] = {}
    static = static_entries(bridge)
    held = held_keys(bridge)
    entries = []
    for vlan, mac, value in rows:
        number = value if isinstance(value, int) else value.port
        port = ports.get(number)
        if port is None:
            port = ports[number] = port_ref(bridge, number).model_dump()
        if number == NO_PORT:
            port = {"number": None, "name": static.get((vlan, mac), "")}
        flags = []
        if isinstance(value, CoreEntry):
            type_ = "learned" if value.was_learned else value.type.value
            if value.lasts:
                flags.append(value.type.value)
            if (vlan, mac) in held:
                flags.append("held")
            updated: float | None = max(0.0, round(now - value.updated, 3))
            used: float | None = max(0.0, round(now - value.used, 3))
        else:
            type_ = "learned" if isinstance(value, Locked) else "local"
            flags += ["locked"] if isinstance(value, Locked) else []
            updated = used = None
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


def _bridge_entries(matches: Sequence[tuple[Bridge, Row]]) -> list[dict[str, Any]]:
    """Shape: `BridgeEntry`, each."""
    entries = []
    for bridge, rows in groupby(matches, itemgetter(0)):
        about = {"datapath_id": f"{bridge.datapath_id:016x}", "bridge": bridge.name}
        for entry in _entries(bridge, (row for _, row in rows)):
            entries.append(about | entry)
    return entries


def _held(bridge: Bridge) -> list[Held]:
    now = time.monotonic()
    return [
        filled(
            Held,
            held,
            mac=format_mac(held.mac),
            vlan=held.vid,
            port=port_ref(bridge, held.port),
            elsewhere=port_ref(bridge, held.elsewhere),
            seconds_left=max(0.0, round(held.until - now, 3)),
        )
        for held in held_addresses(bridge).values()
    ]


def blueprint(network: Network) -> APIBlueprint:
    """The routes on a network."""
    api = resource("fdb", TAG, "/v1")

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
    @all_members("entries")
    def whole_fdb(query: WholeListing) -> Response:
        """The entries of all bridges, by datapath id, VLAN and address."""
        first, after = _position(query)
        inner = link_ends(around(network)) if query.attached else None
        matches: list[tuple[Bridge, Row]] = []
        cursor = None
        for datapath_id, bridge in sorted(network.bridges.items()):
            if datapath_id < first:
                continue
            if query.port is not None and known_port(bridge, query.port) is None:
                continue
            room = query.limit - len(matches)
            key = after if datapath_id == first else START
            selection = _selection(bridge, query)
            if inner is not None:
                without = {end.port for end in inner if end.datapath_id == datapath_id}
                selection = replace(selection, without=without)
            rows = page(bridge, selection, key, room + 1)
            matches += [(bridge, row) for row in rows[:room]]
            if len(rows) > room:
                cursor = encode_cursor(datapath_id, _key(rows[room - 1]) if room else START)
                break
        return listing("entries", matches, _bridge_entries, {"next": cursor, "silent": []})

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
        """Set an entry: 201, or 200 when the address had one of that type before.

        503, 507: it is in force, but not saved yet.
        """
        bridge = find_bridge(network, path.dpid)
        port = find_port(bridge, body.port, 409)
        if body.type == "static":
            new = (path.vlan, path.mac) not in static_entries(bridge)
            add = network.changes.fdb.add_static
        else:
            new = not is_extern(bridge, path.vlan, path.mac)
            add = network.changes.fdb.add_extern
        with refused(409):
            saved = add(bridge, path.vlan, path.mac, port.name)
        row = path.vlan, path.mac, fdb_tables(bridge)[path.vlan][path.mac]
        response = plain(_entries(bridge, [row])[0], 201 if new else 200)
        network.dispatcher.carried_out(bridge)
        saved.wait()
        return response

    @api.delete(
        "/bridges/<dpid>/fdb/<vlan>/<mac>", responses={204: None, **documented(404, 409), **UNSAVED}
    )
    @operator
    def delete_static(path: StaticPath, query: NoQuery) -> Response:
        """Delete an entry that was set: its address is learned again.  503, 507: as for PUT."""
        bridge = find_bridge(network, path.dpid)
        with refused(404):
            saved = network.changes.fdb.remove(bridge, path.vlan, path.mac)
        saved.wait()
        return Response(status=204)

    @api.delete("/bridges/<dpid>/fdb", responses={200: Flushed, **documented(404, 409)})
    @operator
    def flush(path: BridgePath, query: EntryFilter) -> Response:
        """Remove the learned entries that match all given fields; without a filter, all."""
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
        """Release an address early; it may move again, and be held down again."""
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
    """Hosts seen with that IP address; None without a filter."""
    if ip is None:
        return None
    return hosts_of_ip(bridge, ip_address(ip).packed)


def _key(row: Row) -> Key:
    return row[0], row[1]


def _next(bridge: Bridge, rows: list[Row], limit: int) -> str | None:
    if len(rows) <= limit:
        return None
    return encode_cursor(bridge.datapath_id, _key(rows[limit - 1]))
