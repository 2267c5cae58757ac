"""/v1/bridges/{dpid}/mdb: multicast groups and the ports that get them, read and set."""

from __future__ import annotations

from flask import Response
from flask_openapi3.blueprint import APIBlueprint
from flask_openapi3.models.tag import Tag

from ofapp.api import mdb, models, models_multicast, views, views_multicast
from ofapp.api.answers import answer, listing
from ofapp.api.problems import COMMON, UNSAVED, documented, field_problem
from ofapp.bridge.bridge import Bridge, InputError
from ofapp.bridge.permanent import PermanentEntry
from ofapp.network import Network

NAME = "mdb"
TAG = Tag(name=NAME, description="Multicast groups and the ports that get them.")


def blueprint(network: Network) -> APIBlueprint:
    """The routes on a network."""
    api = APIBlueprint(
        NAME, __name__, url_prefix="/v1/bridges/<dpid>/mdb", abp_tags=[TAG], abp_responses=COMMON
    )

    @api.get("", responses={200: models_multicast.MdbPage, **documented(404)})
    def entries(path: models.BridgePath, query: models_multicast.MdbListing) -> Response:
        """A bridge's multicast entries by VLAN, group and port, a page at a time."""
        bridge = views.find_bridge(network, path.dpid)
        rows = _selected(network, bridge, query)
        if query.cursor is not None:
            after = mdb.decode_cursor(query.cursor)
            rows = [row for row in rows if row.key > after]
        page = rows[: query.limit]
        cursor = mdb.encode_cursor(page[-1]) if len(rows) > len(page) else None
        return listing("entries", page, views_multicast.entries_json, {"next": cursor})

    @api.put(
        "/<vlan>/<group>/<port>",
        responses={
            200: models_multicast.MdbEntry,
            201: models_multicast.MdbEntry,
            **documented(404, 409),
            **UNSAVED,
        },
    )
    def put_permanent(
        path: models_multicast.MdbPath, query: models_multicast.MdbSource
    ) -> Response:
        """Forward a group to a port for good: 201, or 200 when it was so before.

        409: the source is not of the group's address family.  503, 507: it is in force, but not
        saved yet.
        """
        bridge = views.find_bridge(network, path.dpid)
        port = views.find_port(bridge, path.port)
        if port is None:
            raise views.no_port(bridge, path.port, 404)
        entry = PermanentEntry(path.vlan, path.group, port.name, query.source)
        new = entry not in bridge.permanent
        try:
            saved = network.add_permanent(bridge, entry)
        except InputError as error:
            raise field_problem(409, error.field, str(error)) from None
        row = mdb.Row(path.vlan, path.group, query.source, port.number, port.name, None)
        told = answer(views_multicast.entries_json([row])[0], 201 if new else 200)
        saved.wait()
        return told

    @api.delete("/<vlan>/<group>/<port>", responses={204: None, **documented(404), **UNSAVED})
    def delete_permanent(
        path: models_multicast.MdbPath, query: models_multicast.MdbSource
    ) -> Response:
        """Remove a permanent entry; what hosts have reported stays.

        The port may be away, and is then given by its name.  503, 507: as for PUT.
        """
        bridge = views.find_bridge(network, path.dpid)
        port = views.find_port(bridge, path.port)
        name = path.port if port is None else port.name
        try:
            entry = PermanentEntry(path.vlan, path.group, name, query.source)
            saved = network.remove_permanent(bridge, entry)
        except InputError as error:
            raise field_problem(404, error.field, str(error)) from None
        saved.wait()
        return Response(status=204)

    return api


def _selected(
    network: Network, bridge: Bridge, query: models_multicast.MdbListing
) -> list[mdb.Row]:
    name = None
    if query.port is not None:
        port = views.find_port(bridge, query.port)
        name = query.port if port is None else port.name
        if port is None and not bridge.permanent.on(name):
            raise views.no_port(bridge, query.port, 404)
    permanent = None if query.type is None else query.type == "permanent"
    return [
        row
        for row in mdb.rows(bridge, network.multicast_snapshot(bridge))
        if query.vlan in (None, row.vlan)
        and query.group in (None, row.group)
        and name in (None, row.name)
        and permanent in (None, row.member is None)
    ]
