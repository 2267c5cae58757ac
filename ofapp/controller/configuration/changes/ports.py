"""Changes of ports: their VLANs and policies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.input_error import InputError
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import Port
from ofapp.controller.bridges.dispatcher import Dispatcher
from ofapp.controller.configuration.changes.asked import (
    apply_running,
    changed,
    port_set,
    record_set,
)
from ofapp.controller.configuration.running import RunningConfiguration
from ofapp.controller.state.keeper import Ticket, done


class PortChanges:
    """Changes of ports in the running configuration."""

    def __init__(self, dispatcher: Dispatcher, running: RunningConfiguration) -> None:
        self._dispatcher = dispatcher
        self._running = running

    def set(self, bridge: Bridge, port: Port, values: Mapping[str, Any]) -> Ticket:
        """Set a port's VLANs or policy; InputError for an unknown name."""
        old = self._running.port(bridge, port)
        changes = changed(old, old.model_copy(update=values))
        if not changes:
            return done()
        before = self._running.of(bridge.datapath_id)
        saved = self._running.update_port(bridge, port, **values)
        try:
            params = self._running.params(bridge.datapath_id)
            _check_lists(params)
        except (KeyError, InputError) as error:
            self._running.set(bridge.datapath_id, before)
            if isinstance(error, InputError):
                raise
            raise InputError("vlan", f"no VLAN is called {error.args[0]}") from None
        record_set(bridge, f"port {port.name}", old, changes)
        event = port_set("port.set", port, changes)
        apply_running(self._dispatcher, self._running, bridge, event)
        return saved


def _check_lists(params: BridgeParams) -> None:
    lists = params.policies.acls
    for own in (*params.ports.values(), *params.numbered.values()):
        if own.policy.acl is not None and own.policy.acl not in lists:
            known = ", ".join(sorted(lists)) or "none"
            raise InputError("acl", f"no access list is called {own.policy.acl}; known: {known}")
