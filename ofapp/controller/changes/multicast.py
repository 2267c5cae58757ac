"""Multicast snooping of bridges, VLANs and ports."""

from __future__ import annotations

import time

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Effect, LookAgain
from ofapp.bridge.event import Event, PortNumber
from ofapp.bridge.ports import Port
from ofapp.config.multicast import MulticastBridge, MulticastPort
from ofapp.controller.changes.asked import changed, listed
from ofapp.controller.dispatcher import Dispatcher
from ofapp.controller.running import RunningConfiguration, with_snooping


class MulticastChanges:
    """To the running configuration."""

    def __init__(self, dispatcher: Dispatcher, running: RunningConfiguration) -> None:
        self._dispatcher = dispatcher
        self._running = running

    def set(self, bridge: Bridge, settings: MulticastBridge) -> None:
        """Administer the bridge and its VLANs, or turn snooping on or off."""
        own = self._running.of(bridge.datapath_id)
        changes = changed(own.snooping(), settings)
        if not changes:
            return
        self._running.set(bridge.datapath_id, with_snooping(own, settings))
        event = Event("mcast.set", f"multicast: {listed(changes)}", data=changes)
        self._dispatcher.tell(bridge, event)
        params, vlans = settings.params(), settings.vlan_params()
        effects: list[Effect] = bridge.set_multicast(params, vlans, time.monotonic())
        if "mcast_snooping" in changes:
            effects.append(LookAgain())  # for other flows than before
        self._dispatcher.apply(bridge, effects)

    def set_port(self, bridge: Bridge, port: Port, settings: MulticastPort) -> None:
        """Administer a port."""
        changes = changed(self._running.port(bridge, port).multicast, settings)
        if not changes:
            return
        self._running.update_port(bridge, port, multicast=settings)
        text = PortNumber(port.number), f": {listed(changes)}"
        event = Event("mcast.port.set", text, port=port.number, data=changes)
        self._dispatcher.tell(bridge, event)
        effects = bridge.set_port_multicast(port, settings.params(), time.monotonic())
        self._dispatcher.apply(bridge, effects)
