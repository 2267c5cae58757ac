"""Changes of the FDB: static entries and learned addresses."""

from __future__ import annotations

import time

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.input_error import InputError
from ofapp.bridge.mac import format_mac
from ofapp.bridge.queries import is_extern, static_entries
from ofapp.controller.audit import record_of
from ofapp.controller.bridges.dispatcher import Dispatcher
from ofapp.controller.configuration.changes.ports import named_port
from ofapp.controller.configuration.run_time_entries import SavedEntries
from ofapp.controller.state.saving import Ticket, done


class FdbChanges:
    """A ticket ends when the change is on disk; until then it does not count as made."""

    def __init__(self, dispatcher: Dispatcher, entries: SavedEntries) -> None:
        self._apply = dispatcher.apply
        self._entries = entries

    def add_static(self, bridge: Bridge, vid: int, mac: int, port_name: str) -> Ticket:
        """Add a static entry for an address.  Raises InputError."""
        named_port(bridge, port_name)
        old = static_entries(bridge).get((vid, mac), "none")
        self._apply(bridge, bridge.add_static(vid, mac, port_name, time.monotonic()))
        record_of(bridge, f"static entry {_named(vid, mac)}: {old} -> {port_name}")
        return self._entries.save(bridge, requested=True)

    def add_extern(self, bridge: Bridge, vid: int, mac: int, port_name: str) -> Ticket:
        """Set an address that does not age but may move, for this process only.

        Raises InputError.
        """
        port = named_port(bridge, port_name).number
        if not bridge.port_policies.vlans(port).has(vid):
            raise InputError("vlan", f"port {port_name} is no member of VLAN {vid}")
        self._apply(bridge, bridge.addresses.add_extern(port, vid, mac, time.monotonic()))
        record_of(bridge, f"extern_learn entry {_named(vid, mac)} -> {port_name}")
        return done()

    def remove(self, bridge: Bridge, vid: int, mac: int) -> Ticket:
        """Remove an entry that was set, so that its address is learned again.

        Raises InputError.
        """
        if is_extern(bridge, vid, mac):
            self._apply(bridge, bridge.flush(vid=vid, mac=mac))
            record_of(bridge, f"extern_learn entry {_named(vid, mac)} is removed")
            return done()
        old = static_entries(bridge).get((vid, mac), "none")
        self._apply(bridge, bridge.remove_static(vid, mac))
        record_of(bridge, f"static entry {_named(vid, mac)}: {old} -> none")
        return self._entries.save(bridge, requested=True)

    def flush(
        self,
        bridge: Bridge,
        port: int | None = None,
        vid: int | None = None,
        mac: int | None = None,
    ) -> int:
        """Forget matching learned addresses; gives their number."""
        before = len(bridge.addresses)
        self._apply(bridge, bridge.flush(port, vid, mac))
        gone = before - len(bridge.addresses)
        record_of(bridge, f"{gone} learned addresses are forgotten")
        return gone

    def release(self, bridge: Bridge, vid: int, mac: int) -> None:
        """End the hold-down of an address before its time.  Raises InputError."""
        self._apply(bridge, bridge.release(vid, mac))
        record_of(bridge, f"address {_named(vid, mac)} is released")

    def teach(self, bridge: Bridge, port: int, vid: int, mac: int) -> None:
        """Learn an address as from a frame; it moves and ages like any other.

        Raises InputError.
        """
        self._apply(bridge, bridge.teach(port, vid, mac, time.monotonic()))
        record_of(bridge, f"address {_named(vid, mac)} is taught on port {port}")


def _named(vid: int, mac: int) -> str:
    return f"{format_mac(mac)} in VLAN {vid}"
