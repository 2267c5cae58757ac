"""Requests about the hosts of controlled ports."""

from __future__ import annotations

import time

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.mac import format_mac
from ofapp.controller.audit import record_of
from ofapp.controller.bridges.dispatcher import Dispatcher


class PortAccessRequests:
    """port, mac: which hosts; None for all.  All raise InputError."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._apply = dispatcher.apply

    def reauthenticate(self, bridge: Bridge, port: str | None, mac: int | None) -> None:
        """Authenticate hosts again at once."""
        now = time.monotonic()
        effects = bridge.port_access.reauthenticate(port, mac, now)
        self._apply(bridge, bridge.carry_out(effects, now))
        record_of(bridge, f"{_named(port, mac)} are authenticated again")

    def clear(self, bridge: Bridge, port: str | None, mac: int | None) -> None:
        """Forget hosts."""
        now = time.monotonic()
        effects = bridge.port_access.clear(port, mac, now)
        self._apply(bridge, bridge.carry_out(effects, now))
        record_of(bridge, f"{_named(port, mac)} are forgotten")


def _named(port: str | None, mac: int | None) -> str:
    host = "hosts" if mac is None else f"hosts with the address {format_mac(mac)}"
    return f"{host} of {'controlled ports' if port is None else f'port {port}'}"
