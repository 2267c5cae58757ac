"""Changes of multicast snooping, of bridges, VLANs and ports."""

from __future__ import annotations

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.ports.port import Port
from ofapp.config.multicast import MulticastBridge, MulticastPort
from ofapp.controller.bridges.dispatcher import Dispatcher
from ofapp.controller.configuration.changes.asked import (
    apply_running,
    bridge_set,
    changed,
    record_set,
)
from ofapp.controller.configuration.changes.section import Section
from ofapp.controller.configuration.running import RunningConfiguration, with_snooping
from ofapp.controller.state.keeper import Ticket, done


class MulticastChanges:
    """Changes of multicast snooping in the running configuration."""

    def __init__(self, dispatcher: Dispatcher, running: RunningConfiguration) -> None:
        self._dispatcher = dispatcher
        self._running = running
        self._section = Section(dispatcher, running, "multicast", "mcast", "multicast")

    def set(self, bridge: Bridge, settings: MulticastBridge) -> Ticket:
        """Set parameters of the bridge and its VLANs, or turn snooping on or off."""
        own = self._running.of(bridge.datapath_id)
        changes = changed(own.snooping(), settings)
        if not changes:
            return done()
        record_set(bridge, "multicast", own.snooping(), changes)
        saved = self._running.set(bridge.datapath_id, with_snooping(own, settings))
        event = bridge_set("mcast.set", "multicast", changes)
        apply_running(self._dispatcher, self._running, bridge, event)
        return saved

    def set_port(self, bridge: Bridge, port: Port, settings: MulticastPort) -> Ticket:
        """Set parameters of a port."""
        return self._section.set_port(bridge, port, settings)
