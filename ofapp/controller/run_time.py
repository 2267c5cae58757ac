"""What people set on a running bridge, until ofapp restarts or the file changes the same."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel

from ofapp.bridge.bridge import Bridge, InputError
from ofapp.bridge.effects import Effect
from ofapp.bridge.event import Event
from ofapp.bridge.params import BridgeParams
from ofapp.bridge.ports import LOCAL_PORT, Port
from ofapp.config.multicast import MulticastBridge, MulticastPort
from ofapp.config.port import Port as PortSettings
from ofapp.config.stp import StpBridge, StpPort
from ofapp.controller.running import Settings, with_snooping


class Administration:
    """Spanning tree and multicast snooping of bridges and ports, and what ports may.

    apply: carries a bridge's effects out; tell: an event; look: at a bridge's switch, soon.
    """

    def __init__(
        self,
        settings: Settings,
        apply: Callable[[Bridge, list[Effect]], None],
        tell: Callable[[Bridge, Event], None],
        look: Callable[[Bridge], None],
    ) -> None:
        self._settings = settings
        self._apply = apply
        self._tell = tell
        self._look = look

    # Spanning tree

    def stp(self, bridge: Bridge) -> StpBridge:
        """What the bridge is told, by the file or since."""
        return self._settings.of(bridge.datapath_id).stp

    def port_stp(self, bridge: Bridge, port: Port) -> StpPort:
        """What a port is told, by the file or since."""
        return self._port(bridge, port).stp

    def set_stp(self, bridge: Bridge, settings: StpBridge) -> None:
        """Administer the bridge, or start or stop its spanning tree."""
        changes = _changes(self.stp(bridge), settings)
        if not changes:
            return
        self._set(bridge, stp=settings)
        self._tell(bridge, Event("stp.set", f"spanning tree: {_listed(changes)}", data=changes))
        self._apply(bridge, bridge.set_stp(settings.params(), time.monotonic()))

    def set_port_stp(self, bridge: Bridge, port: Port, settings: StpPort) -> None:
        """Administer a port; InputError for LOCAL."""
        _not_local(port)
        changes = _changes(self.port_stp(bridge, port), settings)
        if not changes:
            return
        self._set_port(bridge, port, stp=settings)
        message = f"port {port.number}: {_listed(changes)}"
        self._tell(bridge, Event("stp.port.set", message, port=port.number, data=changes))
        self._apply(bridge, bridge.set_port_stp(port, settings.params(), time.monotonic()))

    def recover_port(self, bridge: Bridge, port: Port) -> None:
        """Free a port from the guard that holds it; InputError."""
        _spanned(bridge, port)
        self._apply(bridge, bridge.recover_port(port, time.monotonic()))

    def check_migration(self, bridge: Bridge, port: Port) -> None:
        """Have a port speak RSTP again (mcheck, 802.1D-2004 17.19.13); InputError."""
        _spanned(bridge, port)
        self._apply(bridge, bridge.check_migration(port, time.monotonic()))

    # Multicast snooping

    def multicast(self, bridge: Bridge) -> MulticastBridge:
        """What the bridge and its VLANs are told, by the file or since."""
        return self._settings.of(bridge.datapath_id).snooping()

    def port_multicast(self, bridge: Bridge, port: Port) -> MulticastPort:
        """What a port is told, by the file or since."""
        return self._port(bridge, port).multicast

    def set_multicast(self, bridge: Bridge, settings: MulticastBridge) -> None:
        """Administer the bridge and its VLANs, or turn snooping on or off."""
        changes = _changes(self.multicast(bridge), settings)
        if not changes:
            return
        own = self._settings.of(bridge.datapath_id)
        self._settings.set(bridge.datapath_id, with_snooping(own, settings))
        self._tell(bridge, Event("mcast.set", f"multicast: {_listed(changes)}", data=changes))
        params, vlans = settings.params(), settings.vlan_params()
        self._apply(bridge, bridge.set_multicast(params, vlans, time.monotonic()))
        if "mcast_snooping" in changes:
            self._look(bridge)

    def set_port_multicast(self, bridge: Bridge, port: Port, settings: MulticastPort) -> None:
        """Administer a port."""
        changes = _changes(self.port_multicast(bridge, port), settings)
        if not changes:
            return
        self._set_port(bridge, port, multicast=settings)
        message = f"port {port.number}: {_listed(changes)}"
        self._tell(bridge, Event("mcast.port.set", message, port=port.number, data=changes))
        self._apply(bridge, bridge.set_port_multicast(port, settings.params(), time.monotonic()))

    # Ports

    def port(self, bridge: Bridge, port: Port) -> PortSettings:
        """What a port is told, by the file or since."""
        return self._port(bridge, port)

    def set_port(self, bridge: Bridge, port: Port, values: Mapping[str, Any]) -> None:
        """Give a port other VLANs or another policy; InputError for a name that nobody has."""
        old = self._port(bridge, port)
        changes = _changes(old, old.model_copy(update=values))
        if not changes:
            return
        before = self._settings.of(bridge.datapath_id)
        self._set_port(bridge, port, **values)
        try:
            params = self._settings.params(bridge.datapath_id)
            _check_lists(params)
        except (KeyError, InputError) as error:
            self._settings.set(bridge.datapath_id, before)
            if isinstance(error, InputError):
                raise
            raise InputError("vlan", f"no VLAN is called {error.args[0]}") from None
        message = f"port {port.number}: {_listed(changes)}"
        self._tell(bridge, Event("port.set", message, port=port.number, data=changes))
        self._apply(bridge, bridge.set_params(params, time.monotonic()))

    # Inside

    def _port(self, bridge: Bridge, port: Port) -> PortSettings:
        return self._settings.of(bridge.datapath_id).port(port.name, port.number)

    def _set(self, bridge: Bridge, **values: Any) -> None:
        own = self._settings.of(bridge.datapath_id)
        self._settings.set(bridge.datapath_id, own.model_copy(update=values))

    def _set_port(self, bridge: Bridge, port: Port, **values: Any) -> None:
        own = self._port(bridge, port).model_copy(update=values)
        ports = self._settings.of(bridge.datapath_id).ports
        self._set(bridge, ports={**ports, port.name: own})


def _changes(old: BaseModel, new: BaseModel) -> dict[str, Any]:
    before = old.model_dump(mode="json")
    return {name: v for name, v in new.model_dump(mode="json").items() if v != before[name]}


def _listed(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {json.dumps(value)}" for name, value in values.items())


def _check_lists(params: BridgeParams) -> None:
    lists = params.policies.acls
    for own in (*params.ports.values(), *params.numbered.values()):
        if own.policy.acl is not None and own.policy.acl not in lists:
            known = ", ".join(sorted(lists)) or "none"
            raise InputError("acl", f"no access list is called {own.policy.acl}; known: {known}")


def _not_local(port: Port) -> None:
    if port.number == LOCAL_PORT:
        raise InputError("port", f"port {port.name} is LOCAL, which takes no part")


def _spanned(bridge: Bridge, port: Port) -> None:
    _not_local(port)
    if bridge.spanning is None:
        raise InputError("port", f"bridge {bridge.name} runs no spanning tree")
