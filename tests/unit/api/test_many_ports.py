"""A bridge of thousands of ports is listed in portions: hellos of all others wait for no answer."""

from __future__ import annotations

import pytest

from ofapp.common import hub
from ofapp.common.portions import PORTION
from ofapp.controller.network import Network
from tests.unit.api.clients import Clients
from tests.unit.api.network import DPID, add_bridge, empty_network

PORTS = 10 * PORTION


@pytest.fixture(scope="module")
def crowded() -> Network:
    """A bridge with spanning tree and many ports."""
    network = empty_network(defaults={"stp": {"enabled": True}})
    add_bridge(network, ports=PORTS)
    return network


@pytest.mark.parametrize(
    "path", ["/metrics", *(f"/v1/bridges/{DPID}/{what}" for what in ("stp", "ports", "multicast"))]
)
def test_others_have_their_turn(clients: Clients, crowded: Network, path: str) -> None:
    turns = 0

    def work() -> None:
        nonlocal turns
        while True:
            turns += 1
            hub.sleep(0)

    client = clients(crowded)
    others = hub.spawn(work)
    try:
        answer = client.get(path)
    finally:
        hub.kill(others)
    assert answer.status_code == 200
    assert answer.text.count(f'"eth{PORTS}"') >= 1
    assert turns >= PORTS / PORTION
