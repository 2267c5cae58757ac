"""Watches the cables between the bridges of a controller, and stores which there are."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.ports.port import Port
from ofapp.bridge.problem import Problem
from ofapp.bridge.queries import all_ports, is_closed
from ofapp.controller.bridges.registry import Registry
from ofapp.controller.problems.cables.cables import Cable, Cables, Socket
from ofapp.controller.problems.cables.stored import Stored
from ofapp.controller.state.document import Store
from ofapp.controller.topology import around

OBSERVE, SEARCH = 5.0, 1.0
"""Seconds between two times that all cables are looked for, and the same while a cable is missing.
A lost carrier is noticed at each review."""


class CableWatch:
    """The cables of one controller."""

    def __init__(self, registry: Registry, stored: Store[Stored]) -> None:
        self._registry = registry
        self._stored = stored
        self._cables = Cables()
        self._remembered: set[int] = set()
        self._next = 0.0

    def problems(self) -> Iterator[tuple[Bridge, Problem]]:
        """Cables that are missing or silent; other greenlets run before the first of them."""
        bridges = {**self._registry.bridges}
        for datapath_id in bridges.keys() - self._remembered:
            self._cables.remember(self._stored.load(datapath_id) or ())
        self._cables.leave(self._remembered - bridges.keys())
        self._remembered = {*bridges}
        if time.monotonic() >= self._next:
            self._observe(bridges)
        names = {
            datapath_id: bridge.name
            for datapath_id, bridge in bridges.items()
            if datapath_id in self._registry.datapaths and bridge.ports.complete
        }
        down, shut = self._down(bridges)
        for datapath_id, problem in self._cables.problems(names, down, shut):
            self._next = min(self._next, time.monotonic() + SEARCH)
            yield bridges[datapath_id], problem

    def forget(self, datapath_id: int, port: str) -> bool:
        """Forget the missing cables of a port, by its name; whether there was one."""
        socket = Socket(datapath_id, port)
        down, _ = self._down(self._registry.bridges)
        gone = self._cables.forget(socket, down)
        self._save(gone)
        return bool(gone)

    def _observe(self, bridges: Mapping[int, Bridge]) -> None:
        """Learn the present cables of all bridges."""
        known = around(bridges, self._registry.datapaths)
        no_carrier = {
            Socket(datapath_id, port.name)
            for datapath_id, bridge in bridges.items()
            for port in all_ports(bridge)
            if not port.up
        }
        self._save(self._cables.observe({each.datapath_id: each for each in known}, no_carrier))
        self._next = time.monotonic() + OBSERVE

    def _down(self, bridges: Mapping[int, Bridge]) -> tuple[dict[Socket, str], set[Socket]]:
        """Why a remembered socket cannot be linked now, and which are shut down on purpose, or
        closed by a guard, which is a problem by itself."""
        down: dict[Socket, str] = {}
        shut: set[Socket] = set()
        ports: dict[int, dict[str, Port]] = {}
        for end in (end for cable in self._cables for end in cable):
            bridge = bridges.get(end.datapath_id)
            if bridge is None:
                continue
            if end.datapath_id not in ports:
                ports[end.datapath_id] = _ports(bridge)
            port = ports[end.datapath_id].get(end.port)
            if port is None:
                down[end] = "is no port any more"
            elif not port.up:
                down[end] = "has no carrier"
            number = 0 if port is None else port.number
            if _is_shut(bridge, end.port, number) or is_closed(bridge, number):
                shut.add(end)
        return down, shut

    def _save(self, changed: set[Cable]) -> None:
        """Store the cables of the bridges at the lower ends of cables that have changed."""
        for datapath_id in {cable.a.datapath_id for cable in changed} & self._remembered:
            own = [cable for cable in self._cables if cable.a.datapath_id == datapath_id]
            self._stored.save(datapath_id, tuple(own))


def _ports(bridge: Bridge) -> dict[str, Port]:
    """The ports of a bridge and of its switch, by name."""
    return {port.name: port for port in all_ports(bridge)}


def _is_shut(bridge: Bridge, name: str, number: int) -> bool:
    """Whether a port, or its aggregation, is shut down by the configuration."""
    lag, params = bridge.params.lag_of(name), bridge.params
    port = params.port(name, number) if lag is None else params.port(lag)
    return port.policy.shutdown
