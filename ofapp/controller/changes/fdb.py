"""Addresses: static entries, and what is learned."""

from __future__ import annotations

import time

from ofapp.bridge.bridge import Bridge
from ofapp.controller.changes.asked import named_port
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
        self._apply(bridge, bridge.add_static(vid, mac, port_name, time.monotonic()))
        return self._entries.keep(bridge, asked=True)

    def remove_static(self, bridge: Bridge, vid: int, mac: int) -> Ticket:
        """Let an address be learned again; InputError."""
        self._apply(bridge, bridge.remove_static(vid, mac))
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
        return before - len(bridge.addresses)

    def release(self, bridge: Bridge, vid: int, mac: int) -> None:
        """End the hold-down of an address before its time; InputError."""
        self._apply(bridge, bridge.release(vid, mac))

    def teach(self, bridge: Bridge, port: int, vid: int, mac: int) -> None:
        """Learn an address as if it had been seen; it moves and ages like any other; InputError."""
        self._apply(bridge, bridge.teach(port, vid, mac, time.monotonic()))
