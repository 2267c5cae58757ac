"""Routes of multicast snooping."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from flask import Response
from flask_openapi3.blueprint import APIBlueprint
from flask_openapi3.models.tag import Tag

from ofapp.api.answers import answer, long
from ofapp.api.base import BridgePath, NoQuery, PortPath
from ofapp.api.changes import make_change
from ofapp.api.lookup import by_number, find_bridge, find_port
from ofapp.api.problems import CHANGE, COMMON, UNSAVED, documented, field_problem
from ofapp.api.resources.bridge.multicast.models import (
    MulticastBridgeChange,
    MulticastPortChange,
    MulticastPortStatus,
    MulticastPortVlanChange,
    MulticastPortVlanPath,
    MulticastStatus,
    MulticastVlanChange,
    MulticastVlanPath,
)
from ofapp.api.resources.bridge.multicast.view import bridge_view, port_views
from ofapp.api.roles import operator, viewer
from ofapp.bridge.bridge import Bridge
from ofapp.config.multicast import (
    MulticastBridge,
    MulticastPort,
    MulticastPortVlan,
    MulticastVlan,
)
from ofapp.controller.configuration.changes.sections import MULTICAST
from ofapp.controller.network import Network

TAG = Tag(name="multicast", description="Multicast snooping: IGMP and MLD.")


def blueprint(network: Network) -> APIBlueprint:
    """The routes on a network."""
    api = APIBlueprint(
        "multicast",
        __name__,
        url_prefix="/v1/bridges/<dpid>/multicast",
        abp_tags=[TAG],
        abp_responses=COMMON,
    )

    def done(bridge: Bridge) -> Response:
        views = port_views(network, bridge, by_number(bridge))
        return long(bridge_view(network, bridge), views)

    def set_bridge(
        path: BridgePath, values: Callable[[MulticastBridge], Mapping[str, Any]]
    ) -> Response:
        bridge = find_bridge(network, path.dpid)
        own = network.running.of(bridge.datapath_id).snooping()
        make_change(network.changes.settings.change, bridge, MULTICAST, values(own))
        return done(bridge)

    def set_port(path: PortPath, values: Callable[[MulticastPort], Mapping[str, Any]]) -> Response:
        bridge = find_bridge(network, path.dpid)
        port = find_port(bridge, path.port)
        own = network.running.port(bridge, port).multicast
        make_change(network.changes.settings.change_port, bridge, port, values(own), MULTICAST)
        return answer(next(port_views(network, bridge, [port])))

    @api.get("", responses={200: MulticastStatus, **documented(404, 409)})
    @viewer
    def status(path: BridgePath, query: NoQuery) -> Response:
        """Multicast snooping of a bridge, of its VLANs and of its ports."""
        return done(find_bridge(network, path.dpid))

    @api.patch("", responses={200: MulticastStatus, **CHANGE})
    @operator
    def change(
        path: BridgePath,
        query: NoQuery,
        body: MulticastBridgeChange,
    ) -> Response:
        """Set parameters of a bridge, or turn snooping on or off.

        It applies until the configuration file changes the same value, or a reload with `reset`
        discards it; 503, 507: it applies, but is not saved.  All given values take effect together.
        409: the values contradict each other, those that stay, or those of a VLAN.
        """
        parts = {part.vlan: part for part in body.vlans or ()}
        return set_bridge(path, lambda own: body.values() | {"vlans": _vlans(own, parts)})

    @api.patch("/vlans/<vlan>", responses={200: MulticastStatus, **CHANGE})
    @operator
    def change_vlan(
        path: MulticastVlanPath,
        query: NoQuery,
        body: MulticastVlanChange,
    ) -> Response:
        """Set parameters of a VLAN that differ from those of its bridge.

        It applies until the configuration file changes the same value, or a reload with `reset`
        discards it; 503, 507: it applies, but is not saved.  409: the values contradict each other
        or those that stay.
        """
        return set_bridge(path, lambda own: {"vlans": _vlans(own, {path.vlan: body})})

    @api.delete(
        "/vlans/<vlan>", responses={200: MulticastStatus, **documented(404, 409), **UNSAVED}
    )
    @operator
    def reset_vlan(path: MulticastVlanPath, query: NoQuery) -> Response:
        """Reset a VLAN to the parameters of its bridge."""

        def values(own: MulticastBridge) -> dict[str, Any]:
            if path.vlan not in own.vlans:
                raise field_problem(404, "vlan", f"VLAN {path.vlan} has no separate parameters")
            return {"vlans": {vid: vlan for vid, vlan in own.vlans.items() if vid != path.vlan}}

        return set_bridge(path, values)

    @api.patch("/ports/<port>", responses={200: MulticastPortStatus, **CHANGE})
    @operator
    def change_port(
        path: PortPath,
        query: NoQuery,
        body: MulticastPortChange,
    ) -> Response:
        """Set parameters of a port.

        It applies until the configuration file changes the same value, or a reload with `reset`
        discards it; 503, 507: it applies, but is not saved.
        """
        return set_port(path, lambda _settings: body.values())

    @api.patch("/ports/<port>/vlans/<vlan>", responses={200: MulticastPortStatus, **CHANGE})
    @operator
    def change_port_vlan(
        path: MulticastPortVlanPath,
        query: NoQuery,
        body: MulticastPortVlanChange,
    ) -> Response:
        """Set parameters of a port in one VLAN, which override the port's; null: the port's apply.

        It applies until the configuration file changes the same value, or a reload with `reset`
        discards it; 503, 507: it applies, but is not saved.
        """

        def values(settings: MulticastPort) -> dict[str, Any]:
            own = settings.vlans.get(path.vlan, MulticastPortVlan())
            new = own.model_copy(update=body.values())
            return {"vlans": {**settings.vlans, path.vlan: new}}

        return set_port(path, values)

    return api


def _vlans(
    settings: MulticastBridge, changes: Mapping[int, MulticastVlanChange]
) -> dict[int, MulticastVlan]:
    """The VLANs with separate parameters, after the changes."""
    vlans = dict(settings.vlans)
    for vid, change in changes.items():
        own = settings.vlan(vid).model_dump(exclude_unset=True)
        vlans[vid] = MulticastVlan(**own | change.values())
    return vlans
