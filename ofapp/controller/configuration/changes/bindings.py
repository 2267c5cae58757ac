"""Changes of bindings: which addresses hosts may use."""

from __future__ import annotations

import time

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.first_hop.binding import Binding, BoundAddress, Origin
from ofapp.bridge.input_error import InputError
from ofapp.bridge.mac import format_mac
from ofapp.controller.audit import record_of
from ofapp.controller.bridges.dispatcher import Dispatcher
from ofapp.controller.configuration.changes.ports import named_port
from ofapp.controller.configuration.run_time_entries import SavedEntries
from ofapp.controller.state.entry_kinds import BindingEntry
from ofapp.controller.state.saving import Ticket, done


class BindingChanges:
    """A ticket ends when the change is on disk; until then it does not count as made."""

    def __init__(self, dispatcher: Dispatcher, entries: SavedEntries) -> None:
        self._apply = dispatcher.apply
        self._entries = entries

    def add(
        self, bridge: Bridge, port_name: str, vid: int, mac: int, address: BoundAddress
    ) -> Ticket:
        """Add a binding; InputError.  A dynamic one of another host is replaced."""
        port = named_port(bridge, port_name).number
        if not bridge.port_policies.vlans(port).has(vid):
            raise InputError("vlan", f"port {port_name} is no member of VLAN {vid}")
        place, now = (port_name, vid, mac), time.monotonic()
        old = bridge.first_hop.binding(vid, address)
        self._apply(bridge, bridge.first_hop.add(*place, address, Origin.API, now))
        new = bridge.first_hop.binding(vid, address)
        record_of(bridge, f"binding of {address} in VLAN {vid}: {_host(old)} -> {_host(new)}")
        return self._entries.save_change(bridge, _entry(old), _entry(new))

    def remove(self, bridge: Bridge, vid: int, address: BoundAddress) -> Ticket:
        """Remove a binding of any origin; InputError."""
        old = bridge.first_hop.binding(vid, address)
        self._apply(bridge, bridge.first_hop.remove(vid, address, time.monotonic()))
        record_of(bridge, f"binding of {address} in VLAN {vid}: {_host(old)} -> none")
        if old is not None and old.origin.dynamic:
            return done()
        return self._entries.save_change(bridge, _entry(old), None)

    def clear_refused(self, bridge: Bridge) -> None:
        """Forget what was refused."""
        bridge.first_hop.clear_refused()
        record_of(bridge, "the list of refused claims is cleared")


def _entry(binding: Binding | None) -> BindingEntry | None:
    return None if binding is None or binding.origin.dynamic else BindingEntry.of(binding)


def _host(binding: Binding | None) -> str:
    return "none" if binding is None else f"{format_mac(binding.mac)} on port {binding.port}"
