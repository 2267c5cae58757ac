"""Changes of bindings: which addresses hosts may use."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects.content import BoundAddress
from ofapp.bridge.first_hop.binding import Binding, Origin
from ofapp.bridge.first_hop.bindings.table import PortHost
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

    def add(self, bridge: Bridge, new: Binding) -> Ticket:
        """Add a binding; a dynamic one of another host is replaced.  Raises InputError."""
        port = named_port(bridge, new.port).number
        if not bridge.port_policies.vlans(port).has(new.vid):
            raise InputError("vlan", f"port {new.port} is no member of VLAN {new.vid}")
        before = bridge.first_hop.bindings_of(new.vid, new.address)
        self._apply(bridge, bridge.first_hop.add(*_values(new), time.monotonic(), new.shared))
        after = bridge.first_hop.bindings_of(new.vid, new.address)
        replaced = next((each for each in before if each not in after), None)
        where = f"binding of {new.address} in VLAN {new.vid}"
        record_of(bridge, f"{where}: {_hosts(before)} -> {_hosts(after)}")
        return self._entries.save_change(bridge, _entry(replaced), _entry(new))

    def remove(
        self,
        bridge: Bridge,
        vid: int,
        address: BoundAddress,
        hosts: Collection[PortHost] | None = None,
    ) -> Ticket:
        """Remove the bindings of an address, of any origin.  Raises InputError.

        hosts: ports and MAC addresses of the hosts that lose it; None for all hosts.
        """
        before = bridge.first_hop.bindings_of(vid, address)
        self._apply(bridge, bridge.first_hop.remove(vid, address, time.monotonic(), hosts))
        after = bridge.first_hop.bindings_of(vid, address)
        record_of(
            bridge, f"binding of {address} in VLAN {vid}: {_hosts(before)} -> {_hosts(after)}"
        )
        saved = done()
        for old in before:
            if old not in after and not old.origin.dynamic:
                saved = self._entries.save_change(bridge, _entry(old), None)
        return saved

    def clear_refused(self, bridge: Bridge) -> None:
        """Forget what was refused."""
        bridge.first_hop.clear_refused()
        record_of(bridge, "the list of refused claims is cleared")


def _entry(binding: Binding | None) -> BindingEntry | None:
    return None if binding is None or binding.origin.dynamic else BindingEntry.of(binding)


def _values(new: Binding) -> tuple[str, int, int, BoundAddress, Origin]:
    return new.port, new.vid, new.mac, new.address, new.origin


def _hosts(bindings: Iterable[Binding]) -> str:
    hosts = [f"{format_mac(each.mac)} on port {each.port}" for each in bindings]
    return ", ".join(hosts) or "none"
