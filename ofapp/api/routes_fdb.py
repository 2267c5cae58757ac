"""/v1/bridges/{dpid}/fdb and /v1/fdb: forwarding databases, read and changed."""

from __future__ import annotations

from flask import Response
from flask_openapi3.blueprint import APIBlueprint
from flask_openapi3.models.tag import Tag

from ofapp.api import models, views
from ofapp.api.answers import answer, listing
from ofapp.api.pagination import (
    START,
    Key,
    Row,
    Selection,
    decode_cursor,
    encode_cursor,
    page,
)
from ofapp.api.problems import COMMON, UNSAVED, documented, field_problem
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.fdb import EntryType
from ofapp.bridge.input_error import InputError
from ofapp.controller.network import Network

TAG = Tag(name="fdb", description="Forwarding databases: who is behind which port.")


def blueprint(network: Network) -> APIBlueprint:
    """The routes on a network."""
    api = APIBlueprint("fdb", __name__, url_prefix="/v1", abp_tags=[TAG], abp_responses=COMMON)

    @api.get("/bridges/<dpid>/fdb", responses={200: models.EntryPage, **documented(404)})
    def bridge_fdb(path: models.BridgePath, query: models.Listing) -> Response:
        """A bridge's entries by VLAN and address, a page at a time."""
        bridge = views.find_bridge(network, path.dpid)
        _, after = _position(query)
        rows = page(bridge, _selection(bridge, query), after, query.limit + 1)
        return listing(
            "entries",
            rows[: query.limit],
            lambda some: views.entries_json(bridge, some),
            {"next": _next(bridge, rows, query.limit)},
        )

    @api.get("/fdb", responses={200: models.BridgeEntryPage})
    def whole_fdb(query: models.Listing) -> Response:
        """The entries of all bridges, by datapath id, VLAN and address."""
        first, after = _position(query)
        found: list[tuple[Bridge, Row]] = []
        cursor = None
        for datapath_id, bridge in sorted(network.bridges.items()):
            if datapath_id < first:
                continue
            if query.port is not None and views.find_port(bridge, query.port) is None:
                continue
            room = query.limit - len(found)
            key = after if datapath_id == first else START
            rows = page(bridge, _selection(bridge, query), key, room + 1)
            found += [(bridge, row) for row in rows[:room]]
            if len(rows) > room:
                cursor = encode_cursor(datapath_id, _key(rows[room - 1]) if room else START)
                break
        return listing("entries", found, views.bridge_entries_json, {"next": cursor})

    @api.put(
        "/bridges/<dpid>/fdb/<vlan>/<mac>",
        responses={
            200: models.Entry,
            201: models.Entry,
            **documented(400, 404, 409, 413, 415),
            **UNSAVED,
        },
    )
    def put_static(
        path: models.StaticPath, query: models.NoQuery, body: models.StaticBody
    ) -> Response:
        """Fix an address to a port for good: 201, or 200 when it was static before.

        503, 507: it is in force, but not saved yet.
        """
        bridge = views.find_bridge(network, path.dpid)
        port = views.find_port(bridge, body.port)
        if port is None:
            raise views.no_port(bridge, body.port, 409)
        new = (path.vlan, path.mac) not in bridge.static_entries.ports
        try:
            saved = network.changes.fdb.add_static(bridge, path.vlan, path.mac, port.name)
        except InputError as error:
            raise field_problem(409, error.field, str(error)) from None
        row = path.vlan, path.mac, bridge.fdb.tables[path.vlan][path.mac]
        told = answer(views.entries_json(bridge, [row])[0], 201 if new else 200)
        saved.wait()
        return told

    @api.delete(
        "/bridges/<dpid>/fdb/<vlan>/<mac>", responses={204: None, **documented(404), **UNSAVED}
    )
    def delete_static(path: models.StaticPath, query: models.NoQuery) -> Response:
        """Let the address of a static entry be learned again.  503, 507: as for PUT."""
        bridge = views.find_bridge(network, path.dpid)
        try:
            saved = network.changes.fdb.remove_static(bridge, path.vlan, path.mac)
        except InputError as error:
            raise field_problem(404, error.field, str(error)) from None
        saved.wait()
        return Response(status=204)

    @api.delete("/bridges/<dpid>/fdb", responses={200: models.Flushed, **documented(404)})
    def flush(path: models.BridgePath, query: models.EntryFilter) -> Response:
        """Forget the learned entries that fit all that is given; without a filter, all."""
        bridge = views.find_bridge(network, path.dpid)
        port = None
        if query.port is not None:
            found = views.find_port(bridge, query.port)
            if found is None:
                raise views.no_port(bridge, query.port, 404)
            port = found.number
        return answer({"flushed": network.changes.fdb.flush(bridge, port, query.vlan, query.mac)})

    @api.get("/bridges/<dpid>/fdb/held", responses={200: models.HeldList, **documented(404)})
    def held(path: models.BridgePath, query: models.NoQuery) -> Response:
        """The addresses that are held down: they flap, or belong to a sticky port."""
        return answer({"held": views.held_json(views.find_bridge(network, path.dpid))})

    @api.delete("/bridges/<dpid>/fdb/held/<vlan>/<mac>", responses={204: None, **documented(404)})
    def release(path: models.StaticPath, query: models.NoQuery) -> Response:
        """Let go of an address before its time; it may move again, and be held again."""
        bridge = views.find_bridge(network, path.dpid)
        try:
            network.changes.fdb.release(bridge, path.vlan, path.mac)
        except InputError as error:
            raise field_problem(404, error.field, str(error)) from None
        return Response(status=204)

    return api


def _position(query: models.Listing) -> tuple[int, Key]:
    if query.cursor is None:
        return -1, START
    return decode_cursor(query.cursor)


def _selection(bridge: Bridge, query: models.Listing) -> Selection:
    number = None
    if query.port is not None:
        port = views.find_port(bridge, query.port)
        if port is None:
            raise views.no_port(bridge, query.port, 404)
        number = port.number
    type_ = None if query.type is None else EntryType(query.type)
    return Selection(query.mac, query.vlan, number, type_)


def _key(row: Row) -> Key:
    return row[0], row[1]


def _next(bridge: Bridge, rows: list[Row], limit: int) -> str | None:
    if len(rows) <= limit:
        return None
    return encode_cursor(bridge.datapath_id, _key(rows[limit - 1]))
