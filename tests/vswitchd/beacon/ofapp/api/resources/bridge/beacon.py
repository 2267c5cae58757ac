"""/v1/bridges/{dpid}/beacon: beacons by port."""

from __future__ import annotations

import time

from flask import Response
from ofapp.bridge.beacon.events import BEACON_PORT_SET, BEACON_SET
from pydantic import BaseModel

from ofapp.api.answers import answer
from ofapp.api.base import BridgePath, NoQuery
from ofapp.api.changes import Change, changes_of, make_change
from ofapp.api.lookup import find_bridge
from ofapp.api.openapi import APIBlueprint, Tag
from ofapp.api.problems import CHANGE, COMMON, documented
from ofapp.api.roles import operator, viewer
from ofapp.bridge.bridge import Bridge
from ofapp.config.bridge import BridgeSettings
from ofapp.config.derived import section_model
from ofapp.controller.configuration.changes.settings import Section
from ofapp.controller.network import Network

BEACON = Section("beacon", "beacons", BEACON_SET, BEACON_PORT_SET)


class BeaconChange(Change, changes_of(section_model(BridgeSettings, "beacon"))):
    """Parameters of a bridge; omitted ones keep their values."""


class BeaconStatus(BaseModel):
    """Beacons of a bridge."""

    enabled: bool
    heard: dict[str, int]


def _view(bridge: Bridge) -> BeaconStatus:
    heard = bridge.protocol("beacon").status(time.monotonic())
    return BeaconStatus(enabled=heard is not None, heard=heard or {})


def blueprint(network: Network) -> APIBlueprint:
    """The routes on a network."""
    api = APIBlueprint(
        "beacon",
        __name__,
        url_prefix="/v1/bridges/<dpid>/beacon",
        abp_tags=[Tag(name="beacon", description="Beacons.")],
        abp_responses=COMMON,
    )

    @api.get("", responses={200: BeaconStatus, **documented(404, 409)})
    @viewer
    def status(path: BridgePath, query: NoQuery) -> Response:
        """The beacons of each port."""
        return answer(_view(find_bridge(network, path.dpid)))

    @api.patch("", responses={200: BeaconStatus, **CHANGE})
    @operator
    def change(path: BridgePath, query: NoQuery, body: BeaconChange) -> Response:
        """Set parameters of a bridge."""
        bridge = find_bridge(network, path.dpid)
        make_change(network.changes.settings.change, bridge, BEACON, body.values())
        return answer(_view(bridge))

    return api
