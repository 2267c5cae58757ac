"""/v1/bridges/{dpid}/stp: spanning tree, seen and administered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from flask import Response
from flask_openapi3.blueprint import APIBlueprint
from flask_openapi3.models.tag import Tag

from ofapp.api import models, models_stp, views, views_stp
from ofapp.api.answers import answer
from ofapp.api.problems import COMMON, ProblemError, documented, field_problem
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.input_error import InputError
from ofapp.bridge.ports import Port
from ofapp.bridge.stp import ParameterError
from ofapp.config.stp import StpBridge, StpPort
from ofapp.controller.network import Network

TAG = Tag(name="stp", description="Spanning tree.")

Settings = TypeVar("Settings", StpBridge, StpPort)

_CHANGE = documented(400, 404, 409, 413, 415)


def blueprint(network: Network) -> APIBlueprint:
    """The routes on a network."""
    api = APIBlueprint(
        "stp", __name__, url_prefix="/v1/bridges/<dpid>/stp", abp_tags=[TAG], abp_responses=COMMON
    )

    @api.get("", responses={200: models_stp.StpBridgeStatus, **documented(404)})
    def status(path: models.BridgePath, query: models.NoQuery) -> Response:
        """Spanning tree of a bridge and of its ports, by number."""
        return answer(views_stp.bridge_json(network, views.find_bridge(network, path.dpid)))

    @api.patch("", responses={200: models_stp.StpBridgeStatus, **_CHANGE})
    def change(
        path: models.BridgePath, query: models.NoQuery, body: models_stp.StpBridgeChange
    ) -> Response:
        """Set parameters of a bridge, or start or stop its spanning tree, until ofapp restarts.

        What shall last goes into the configuration file, and where that changes the same value a
        reload goes by the file.  409: the values do not go together with each other or with those
        that stay.
        """
        bridge = views.find_bridge(network, path.dpid)
        network.changes.stp.set(
            bridge, _changed(network.running.of(bridge.datapath_id).stp, body.values())
        )
        return answer(views_stp.bridge_json(network, bridge))

    @api.patch("/ports/<port>", responses={200: models_stp.StpPortStatus, **_CHANGE})
    def change_port(
        path: models_stp.StpPortPath, query: models.NoQuery, body: models_stp.StpPortChange
    ) -> Response:
        """Set parameters of a port, until ofapp restarts.

        What shall last goes into the configuration file, and where that changes the same value a
        reload goes by the file.  409: the values do not go together with each other or with those
        that stay, or the port is LOCAL.
        """
        bridge, port = _find(network, path)
        settings = _changed(network.running.port(bridge, port).stp, body.values())
        change = partial(network.changes.stp.set_port, bridge, port, settings)
        return _done(network, bridge, port, change)

    @api.post(
        "/ports/<port>/recover",
        responses={200: models_stp.StpPortStatus, **documented(404, 409)},
    )
    def recover(path: models_stp.StpPortPath, query: models.NoQuery) -> Response:
        """Free a port from the guard that holds it.

        Root guard alone lets go by itself when the better root is not told any more, and not
        before.  409: the bridge runs no spanning tree, or the port is LOCAL.
        """
        bridge, port = _find(network, path)
        return _done(network, bridge, port, lambda: network.changes.stp.recover_port(bridge, port))

    @api.post(
        "/ports/<port>/migration-check",
        responses={200: models_stp.StpPortStatus, **documented(404, 409)},
    )
    def check_migration(path: models_stp.StpPortPath, query: models.NoQuery) -> Response:
        """Have a port send RSTP again and see what its neighbour speaks (mcheck).

        409: the bridge runs no spanning tree, or the port is LOCAL.
        """
        bridge, port = _find(network, path)
        return _done(
            network, bridge, port, lambda: network.changes.stp.check_migration(bridge, port)
        )

    return api


def _find(network: Network, path: models_stp.StpPortPath) -> tuple[Bridge, Port]:
    bridge = views.find_bridge(network, path.dpid)
    port = views.find_port(bridge, path.port)
    if port is None:
        raise views.no_port(bridge, path.port, 404)
    return bridge, port


def _done(network: Network, bridge: Bridge, port: Port, change: Callable[[], None]) -> Response:
    try:
        change()
    except InputError as error:
        raise field_problem(409, error.field, str(error)) from None
    return answer(views_stp.port_json(network, bridge, port))


def _changed(settings: Settings, values: Mapping[str, Any]) -> Settings:
    """The settings with other values; 422 for one that is out of range, 409 for a combination."""
    try:
        return settings.changed(values)
    except ParameterError as error:
        status = 422 if len(error.fields) == 1 else 409
        fields = [(field, str(error)) for field in error.fields]
        raise ProblemError(status, str(error), fields) from None
