"""/v1/bridges/{dpid}/ports/{port} and /vlans: what ports are told, and the VLANs they are in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flask import Response
from flask_openapi3.blueprint import APIBlueprint
from flask_openapi3.models.tag import Tag

from ofapp.api import models, models_ports, views
from ofapp.api.answers import answer
from ofapp.api.problems import COMMON, documented, field_problem
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.input_error import InputError
from ofapp.bridge.ports import Port
from ofapp.bridge.vlan import NO_VLAN, spoken
from ofapp.config.membership import joined, left, said
from ofapp.controller.network import Network

TAG = Tag(name="ports", description="What ports may, and their VLANs.")


def blueprint(network: Network) -> APIBlueprint:
    """The routes on a network."""
    api = APIBlueprint(
        "ports", __name__, url_prefix="/v1/bridges/<dpid>", abp_tags=[TAG], abp_responses=COMMON
    )

    def find(path: models_ports.PortPath) -> tuple[Bridge, Port]:
        bridge = views.find_bridge(network, path.dpid)
        port = views.find_port(bridge, path.port)
        if port is None:
            raise views.no_port(bridge, path.port, 404)
        return bridge, port

    def change(bridge: Bridge, port: Port, values: Mapping[str, Any]) -> Response:
        try:
            network.changes.ports.set(bridge, port, values)
        except InputError as error:
            raise field_problem(409, error.field, str(error)) from None
        return answer(_port_json(network, bridge, port))

    @api.get("/ports/<port>", responses={200: models_ports.PortDetail, **documented(404)})
    def show(path: models_ports.PortPath, query: models.NoQuery) -> Response:
        """A port, and what it is told."""
        return answer(_port_json(network, *find(path)))

    @api.patch(
        "/ports/<port>",
        responses={200: models_ports.PortDetail, **documented(400, 404, 409, 413, 415)},
    )
    def set_port(
        path: models_ports.PortPath, query: models.NoQuery, body: models_ports.PortChange
    ) -> Response:
        """Give a port other VLANs or another policy, until ofapp restarts.

        What shall last goes into the configuration file, and where that changes the same value a
        reload goes by the file.  409: no VLAN, or no access list, has the name that is given.
        """
        return change(*find(path), body.values())

    @api.get("/vlans", responses={200: models_ports.VlanStatus, **documented(404)})
    def vlans(path: models.BridgePath, query: models.NoQuery) -> Response:
        """The VLANs that are named, limited or in use, and those that each port is in."""
        return answer(_vlans_json(network, views.find_bridge(network, path.dpid)))

    @api.put(
        "/ports/<port>/vlans/<vlan>",
        responses={200: models_ports.PortDetail, **documented(400, 404, 409, 413, 415)},
    )
    def join(
        path: models_ports.MembershipPath, query: models.NoQuery, body: models_ports.Membership
    ) -> Response:
        """Let a port be in a VLAN, or be in it otherwise, as `bridge vlan add` does.

        It holds until ofapp restarts.  409: it shall leave untagged,
        but untagged frames do not belong to it.
        """
        bridge, port = find(path)
        try:
            new = joined(
                bridge.port_policies.port(port.number).vlans, path.vlan, body.pvid, body.untagged
            )
        except InputError as error:
            raise field_problem(409, error.field, str(error)) from None
        return change(bridge, port, {"vlan": said(new)})

    @api.delete(
        "/ports/<port>/vlans/<vlan>",
        responses={200: models_ports.PortDetail, **documented(404, 409)},
    )
    def leave(path: models_ports.MembershipPath, query: models.NoQuery) -> Response:
        """Take a port out of a VLAN, as `bridge vlan del` does.

        It holds until ofapp restarts.  409: it is not in it, or in no
        other.
        """
        bridge, port = find(path)
        try:
            new = left(bridge.port_policies.port(port.number).vlans, path.vlan)
        except InputError as error:
            raise field_problem(409, error.field, str(error)) from None
        return change(bridge, port, {"vlan": said(new)})

    return api


def _port_json(network: Network, bridge: Bridge, port: Port) -> dict[str, Any]:
    """Shape: `models_ports.PortDetail`."""
    settings = network.running.port(bridge, port)
    told = settings.model_dump(mode="json", exclude_defaults=True)
    return {**views.port_json(network, bridge, port), "settings": told}


def _vlans_json(network: Network, bridge: Bridge) -> dict[str, Any]:
    """Shape: `models_ports.VlanStatus`."""
    settings = network.running.of(bridge.datapath_id)
    limits = bridge.learning.limits.vlans
    used = {vid for vid in bridge.fdb.tables if bridge.fdb.learned_in(vid)}
    return {
        "vlans": [
            {
                "vlan": vid,
                "name": settings.vlan(vid).name,
                "learned": bridge.fdb.learned_in(vid),
                "limit": limits[vid].most if vid in limits else None,
            }
            for vid in sorted(used | limits.keys() | settings.vlans.keys())
        ],
        "ports": [
            _membership_json(bridge, port)
            for port in sorted(bridge.ports, key=lambda port: port.number)
        ],
    }


def _membership_json(bridge: Bridge, port: Port) -> dict[str, Any]:
    """Shape: `models_ports.PortVlans`."""
    vlans = bridge.port_policies.port(port.number).vlans
    mode = "transparent" if vlans.vids is None else "trunk" if vlans.tagged else "access"
    return {
        "port": views.port_ref(bridge, port.number),
        "mode": mode,
        "vlans": "all" if vlans.vids is None else spoken(vlans.vids),
        "pvid": 0 if vlans.vids is None else None if vlans.pvid == NO_VLAN else vlans.pvid,
        "untagged": sorted(vlans.untagged),
        "takes_part": bridge.port_policies.takes_part(port.number),
    }
