"""What the API's tests work on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ofapp.api.app import create_app
from ofapp.bridge.bridge import Bridge
from ofapp.controller.network import Network
from tests.unit.api import live
from tests.unit.api.network import some_network


@pytest.fixture
def network() -> Network:
    """See `some_network`."""
    return some_network()


@pytest.fixture
def bridge(network: Network) -> Bridge:
    """Its first bridge."""
    return network.bridges[1]


@pytest.fixture
def client(network: Network) -> Any:
    """Flask's test client."""
    return create_app(network).test_client()


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Of a live server."""
    with live.served() as served:
        yield served
