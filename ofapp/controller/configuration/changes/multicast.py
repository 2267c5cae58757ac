"""Changes of multicast snooping, of bridges, VLANs and ports."""

from __future__ import annotations

from functools import partial

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Effect, LookAgain
from ofapp.bridge.ports.port import Port
from ofapp.config.multicast import MulticastBridge, MulticastPort
from ofapp.controller.bridges.dispatcher import Dispatcher
from ofapp.controller.configuration.changes.asked import bridge_set, carry_out, changed, record_set
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

        def change(now: float) -> list[Effect]:
            effects = bridge.set_multicast(settings.params(), settings.vlan_params(), now)
            looks = "mcast_snooping" in changes  # for other flows than before
            return [*effects, LookAgain()] if looks else effects

        event = bridge_set("mcast.set", "multicast", changes)
        carry_out(self._dispatcher, bridge, event, change)
        return saved

    def set_port(self, bridge: Bridge, port: Port, settings: MulticastPort) -> Ticket:
        """Set parameters of a port."""
        change = partial(bridge.set_port_multicast, port, settings.params())
        return self._section.set_port(bridge, port, settings, change)
