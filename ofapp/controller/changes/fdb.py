"""Addresses: static entries, and what is learned."""

from __future__ import annotations

import time

from ofapp.bridge.answers import static_entries
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.mac import format_mac
from ofapp.controller.changes.asked import named_port, record_of
from ofapp.controller.dispatcher import Dispatcher
from ofapp.controller.entries import KeptEntries
from ofapp.controller.state.keeper import Ticket


class FdbChanges:
    """A ticket is for what is to be on disk before the change counts as made."""

    def __init__(self, dispatcher: Dispatcher, entries: KeptEntries) -> None:
        self._apply = dispatcher.apply
        self._entries = entries

    def add_static(self, bridge: Bridge, vid: int, mac: int, port_name: str) -> Ticket:
        """Fix an address to a port for good; InputError."""
        named_port(bridge, port_name)
        old = static_entries(bridge).get((vid, mac), "none")
        self._apply(bridge, bridge.add_static(vid, mac, port_name, time.monotonic()))
        record_of(bridge, f"static entry {_named(vid, mac)}: {old} -> {port_name}")
        return self._entries.keep(bridge, asked=True)

    def remove_static(self, bridge: Bridge, vid: int, mac: int) -> Ticket:
        """Let an address be learned again; InputError."""
        old = static_entries(bridge).get((vid, mac), "none")
        self._apply(bridge, bridge.remove_static(vid, mac))
        record_of(bridge, f"static entry {_named(vid, mac)}: {old} -> none")
        return self._entries.keep(bridge, asked=True)

    def flush(
        self,
        bridge: Bridge,
        port: int | None = None,
        vid: int | None = None,
        mac: int | None = None,
    ) -> int:
        """Forget the learned addresses that fit; gives how many."""
        before = len(bridge.addresses)
        self._apply(bridge, bridge.flush(port, vid, mac))
        gone = before - len(bridge.addresses)
        record_of(bridge, f"{gone} learned addresses are forgotten")
        return gone

    def release(self, bridge: Bridge, vid: int, mac: int) -> None:
        """End the hold-down of an address before its time; InputError."""
        self._apply(bridge, bridge.release(vid, mac))
        record_of(bridge, f"address {_named(vid, mac)} is released")

    def teach(self, bridge: Bridge, port: int, vid: int, mac: int) -> None:
        """Learn an address as if it had been seen; it moves and ages like any other; InputError."""
        self._apply(bridge, bridge.teach(port, vid, mac, time.monotonic()))
        record_of(bridge, f"address {_named(vid, mac)} is taught on port {port}")


def _named(vid: int, mac: int) -> str:
    return f"{format_mac(mac)} in VLAN {vid}"
