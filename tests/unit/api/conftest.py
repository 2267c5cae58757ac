"""What the API's tests work on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from flask.testing import FlaskClient

from ofapp.bridge.bridge import Bridge
from ofapp.controller.network import Network
from tests.unit.api import live
from tests.unit.api.clients import Clients
from tests.unit.api.network import some_network


@pytest.fixture
def network() -> Network:
    """See `some_network`."""
    return some_network()


@pytest.fixture
def bridge(network: Network) -> Bridge:
    """Its first bridge."""
    return network.bridges[1]


@pytest.fixture(scope="session")
def clients() -> Clients:
    """For tests that make their networks themselves."""
    return Clients()


@pytest.fixture
def client(clients: Clients, network: Network) -> FlaskClient:
    """Flask's test client."""
    return clients(network)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Of a live server."""
    with live.served() as served:
        yield served
