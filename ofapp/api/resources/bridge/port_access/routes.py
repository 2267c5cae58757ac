"""Routes of port access control."""

from __future__ import annotations

import time
from collections.abc import Callable

from flask import Response

from ofapp.api.base import (
    BridgePath,
    NoQuery,
    filled,
)
from ofapp.api.changes import Texts, section_routes
from ofapp.api.lookup import find_bridge, find_port
from ofapp.api.openapi import APIBlueprint, Tag
from ofapp.api.problems import documented, refused, resource
from ofapp.api.resources.bridge.port_access.models import (
    AccessHost,
    AccessPort,
    PortAccessStatus,
    Selection,
)
from ofapp.api.responses import utc
from ofapp.api.roles import operator
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.mac import format_mac
from ofapp.bridge.port_access.status import HostStatus
from ofapp.controller.configuration.changes.settings import PORT_ACCESS
from ofapp.controller.network import Network

TAG = Tag(name="port-access", description="Port access control: 802.1X and MAC authentication.")


def port_access_view(network: Network, bridge: Bridge) -> PortAccessStatus:
    """Port access control of a bridge."""
    now, client = time.monotonic(), network.authentication.client(bridge)
    return PortAccessStatus(
        datapath_id=f"{bridge.datapath_id:016x}",
        bridge=bridge.name,
        enabled=bridge.params.port_access is not None,
        parameters=network.running.of(bridge.datapath_id).port_access,
        servers={} if client is None else dict(client.counters),
        demands=dict(network.authentication.demands.counters),
        dead=[] if client is None else client.dead(now),
        ports=[filled(AccessPort, port) for port in bridge.port_access.status(now)],
        hosts=[_host(host, now) for host in bridge.port_access.hosts(now)],
    )


def _host(host: HostStatus, now: float) -> AccessHost:
    return filled(
        AccessHost,
        host,
        mac=format_mac(host.mac),
        authorised=host.granted,
        **host.rights.as_data(),
        since=utc(round(time.time() - (now - host.since))),
        seconds_left=None if host.left is None else round(host.left, 3),
    )


def blueprint(network: Network) -> APIBlueprint:
    """The routes on a network."""
    api = resource("port_access", TAG, "/v1/bridges/<dpid>/port-access")

    texts = Texts(
        "Settings, controlled ports, and their hosts.",
        "Set parameters of a bridge.",
        refused="  409: the port is LOCAL or an\naggregation.",
    )
    section_routes(api, network, PORT_ACCESS, port_access_view, texts)

    @api.post("/reauthenticate", responses={204: None, **documented(404, 409)})
    @operator
    def reauthenticate(path: BridgePath, query: NoQuery, body: Selection) -> Response:
        """Authenticate hosts again at once; they stay authorised meanwhile."""
        return _select(path.dpid, body, network.changes.port_access.reauthenticate)

    @api.post("/clear", responses={204: None, **documented(404, 409)})
    @operator
    def clear(path: BridgePath, query: NoQuery, body: Selection) -> Response:
        """Forget hosts, also those that are held: each may try again at once."""
        return _select(path.dpid, body, network.changes.port_access.clear)

    def _select(
        dpid: str, body: Selection, act: Callable[[Bridge, str | None, int | None], None]
    ) -> Response:
        bridge = find_bridge(network, dpid)
        port = None if body.port is None else find_port(bridge, body.port, 409).name
        with refused(409):
            act(bridge, port, body.mac)
        return Response(status=204)

    return api
