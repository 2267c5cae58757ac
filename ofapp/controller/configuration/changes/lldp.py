"""Changes of LLDP, of bridges and ports."""

from __future__ import annotations

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.ports.port import Port
from ofapp.config.lldp import LldpBridge, LldpPort
from ofapp.controller.bridges.dispatcher import Dispatcher
from ofapp.controller.configuration.changes.asked import refuse_local
from ofapp.controller.configuration.changes.section import Section
from ofapp.controller.configuration.running import RunningConfiguration
from ofapp.controller.state.keeper import Ticket


class LldpChanges:
    """Changes of LLDP in the running configuration."""

    def __init__(self, dispatcher: Dispatcher, running: RunningConfiguration) -> None:
        self._section = Section(dispatcher, running, "lldp", "lldp", "LLDP")

    def set(self, bridge: Bridge, settings: LldpBridge) -> Ticket:
        """Set parameters of the bridge, or start or stop its LLDP."""
        return self._section.set(bridge, settings)

    def set_port(self, bridge: Bridge, port: Port, settings: LldpPort) -> Ticket:
        """Set parameters of a port; InputError for LOCAL."""
        refuse_local(port)
        return self._section.set_port(bridge, port, settings)
