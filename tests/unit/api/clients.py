"""Flask's test clients of any network: an application takes 0.2 s to make, so all share one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from flask.testing import FlaskClient
from werkzeug.local import LocalProxy

from ofapp.api.app import create_app
from ofapp.controller.network import Network
from tests.unit.api.network import empty_network


class Clients:
    """Called with a network, gives a client of it; those that were given before are its, too."""

    def __init__(self) -> None:
        self._network = empty_network()
        self._app = create_app(cast(Network, _StandIn(lambda: self._network)))

    def __call__(self, network: Network) -> FlaskClient:
        self._network = network
        return self._app.test_client()


class _StandIn:
    """For the network of the moment, also for who keeps a part of it."""

    def __init__(self, network: Callable[[], Network]) -> None:
        self._network_of_the_moment = network

    def __getattr__(self, name: str) -> Any:
        part = getattr(self._network_of_the_moment(), name)
        if part is None or isinstance(part, float):
            return part
        return LocalProxy(lambda: getattr(self._network_of_the_moment(), name))
