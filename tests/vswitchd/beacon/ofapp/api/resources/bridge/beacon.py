"""/v1/bridges/{dpid}/beacon: beacons by port."""

from __future__ import annotations

import time

from ofapp.bridge.beacon.events import BEACON_PORT_SET, BEACON_SET
from pydantic import BaseModel

from ofapp.api.changes import Texts, section_routes
from ofapp.api.openapi import APIBlueprint, Tag
from ofapp.api.problems import resource
from ofapp.bridge.bridge import Bridge
from ofapp.controller.configuration.changes.settings import Section
from ofapp.controller.network import Network

BEACON = Section("beacon", "beacons", BEACON_SET, BEACON_PORT_SET)
TAG = Tag(name="beacon", description="Beacons.")


class BeaconStatus(BaseModel):
    """Beacons of a bridge."""

    enabled: bool
    heard: dict[str, int]


def _view(network: Network, bridge: Bridge) -> BeaconStatus:
    heard = bridge.protocol("beacon").status(time.monotonic())
    return BeaconStatus(enabled=heard is not None, heard=heard or {})


def blueprint(network: Network) -> APIBlueprint:
    """The routes on a network."""
    api = resource("beacon", TAG, "/v1/bridges/<dpid>/beacon")
    texts = Texts("The beacons of each port.", "Set parameters of a bridge.")
    section_routes(api, network, BEACON, _view, texts)
    return api
