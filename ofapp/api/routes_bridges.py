"""/v1/bridges: the bridges and their ports."""

from __future__ import annotations

from flask import Response
from flask_openapi3.blueprint import APIBlueprint
from flask_openapi3.models.tag import Tag

from ofapp.api import models, views
from ofapp.api.answers import answer
from ofapp.api.problems import COMMON, UNSAVED, documented, field_problem
from ofapp.bridge.input_error import InputError
from ofapp.controller.network import Network

TAG = Tag(name="bridges", description="Bridges and their ports.")


def blueprint(network: Network) -> APIBlueprint:
    """The routes on a network."""
    api = APIBlueprint(
        "bridges", __name__, url_prefix="/v1/bridges", abp_tags=[TAG], abp_responses=COMMON
    )

    @api.get("", responses={200: models.BridgeList})
    def bridges(query: models.NoQuery) -> Response:
        """All bridges, by datapath id."""
        known = sorted(network.bridges.items())
        return answer({"bridges": [views.bridge_json(network, bridge) for _, bridge in known]})

    @api.get("/<dpid>", responses={200: models.Bridge, **documented(404)})
    def bridge(path: models.BridgePath, query: models.NoQuery) -> Response:
        """One bridge."""
        return answer(views.bridge_json(network, views.find_bridge(network, path.dpid)))

    @api.delete("/<dpid>", responses={204: None, **documented(404, 409), **UNSAVED})
    def forget(path: models.BridgePath, query: models.NoQuery) -> Response:
        """Forget a bridge whose switch is away, with its static and permanent entries.

        Should the switch come back, it is one that was never seen before.  409: it is connected.
        503, 507: it is forgotten, but not on disk yet.
        """
        try:
            saved = network.changes.forget(views.find_bridge(network, path.dpid))
        except InputError as error:
            raise field_problem(409, error.field, str(error)) from None
        saved.wait()
        return Response(status=204)

    @api.get("/<dpid>/ports", responses={200: models.PortList, **documented(404)})
    def ports(path: models.BridgePath, query: models.NoQuery) -> Response:
        """A bridge's ports, by number."""
        bridge = views.find_bridge(network, path.dpid)
        known = sorted(bridge.ports, key=lambda port: port.number)
        return answer({"ports": [views.port_json(network, bridge, port) for port in known]})

    return api
