"""Changes of one section of the file, of bridges and of their ports."""

from __future__ import annotations

from pydantic import BaseModel

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.ports.port import Port
from ofapp.controller.bridges.dispatcher import Dispatcher
from ofapp.controller.configuration.changes.asked import (
    apply_running,
    bridge_set,
    changed,
    port_set,
    record_set,
)
from ofapp.controller.configuration.running import RunningConfiguration
from ofapp.controller.state.keeper import Ticket, done


class Section:
    """Changes of a section in the running configuration.

    name: in the file; kind: prefix of its events' kinds; what: its subject, in words.
    """

    def __init__(
        self, dispatcher: Dispatcher, running: RunningConfiguration, name: str, kind: str, what: str
    ) -> None:
        self._dispatcher = dispatcher
        self._running = running
        self._name = name
        self._kind = kind
        self._what = what

    def set(self, bridge: Bridge, settings: BaseModel) -> Ticket:
        """Set values of a bridge."""
        old = getattr(self._running.of(bridge.datapath_id), self._name)
        changes = changed(old, settings)
        if not changes:
            return done()
        record_set(bridge, self._what, old, changes)
        saved = self._running.update(bridge, **{self._name: settings})
        event = bridge_set(f"{self._kind}.set", self._what, changes)
        apply_running(self._dispatcher, self._running, bridge, event)
        return saved

    def set_port(self, bridge: Bridge, port: Port, settings: BaseModel) -> Ticket:
        """Set values of a port."""
        old = getattr(self._running.port(bridge, port), self._name)
        changes = changed(old, settings)
        if not changes:
            return done()
        record_set(bridge, f"{self._what} of port {port.name}", old, changes)
        saved = self._running.update_port(bridge, port, **{self._name: settings})
        event = port_set(f"{self._kind}.port.set", port, changes)
        apply_running(self._dispatcher, self._running, bridge, event)
        return saved
