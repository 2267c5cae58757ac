"""LLDP of bridges and ports."""

from __future__ import annotations

from functools import partial

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.ports import Port
from ofapp.config.lldp import LldpBridge, LldpPort
from ofapp.controller.changes.asked import (
    bridge_set,
    carry_out,
    changed,
    port_set,
    record_set,
    refuse_local,
)
from ofapp.controller.dispatcher import Dispatcher
from ofapp.controller.running import RunningConfiguration
from ofapp.controller.state.keeper import Ticket, done


class LldpChanges:
    """To the running configuration."""

    def __init__(self, dispatcher: Dispatcher, running: RunningConfiguration) -> None:
        self._dispatcher = dispatcher
        self._running = running

    def set(self, bridge: Bridge, settings: LldpBridge) -> Ticket:
        """Administer the bridge, or start or stop its LLDP."""
        old = self._running.of(bridge.datapath_id).lldp
        changes = changed(old, settings)
        if not changes:
            return done()
        record_set(bridge, "LLDP", old, changes)
        saved = self._running.update(bridge, lldp=settings)
        params = self._running.params(bridge.datapath_id)
        event = bridge_set("lldp.set", "LLDP", changes)
        carry_out(self._dispatcher, bridge, event, partial(bridge.set_params, params))
        return saved

    def set_port(self, bridge: Bridge, port: Port, settings: LldpPort) -> Ticket:
        """Administer a port; InputError for LOCAL."""
        refuse_local(port)
        old = self._running.port(bridge, port).lldp
        changes = changed(old, settings)
        if not changes:
            return done()
        record_set(bridge, f"LLDP of port {port.name}", old, changes)
        saved = self._running.update_port(bridge, port, lldp=settings)
        params = self._running.params(bridge.datapath_id)
        event = port_set("lldp.port.set", port, changes)
        carry_out(self._dispatcher, bridge, event, partial(bridge.set_params, params))
        return saved
