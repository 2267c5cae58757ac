"""Changes of multicast groups: permanent entries and memberships of hosts."""

from __future__ import annotations

import time

from ofapp.bridge import multicast
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.input_error import InputError
from ofapp.bridge.multicast.permanent_entries import PermanentEntry, check_addresses
from ofapp.bridge.queries import vlan_snooping
from ofapp.controller.audit import record_of
from ofapp.controller.bridges.dispatcher import Dispatcher
from ofapp.controller.configuration.changes.ports import named_port
from ofapp.controller.configuration.run_time_entries import SavedEntries
from ofapp.controller.state.saving import Ticket


class MdbChanges:
    """A ticket ends when the change is on disk; until then it does not count as made."""

    def __init__(self, dispatcher: Dispatcher, entries: SavedEntries) -> None:
        self._apply = dispatcher.apply
        self._entries = entries

    def add_permanent(self, bridge: Bridge, entry: PermanentEntry) -> Ticket:
        """Forward a group to a port permanently.  Raises InputError."""
        named_port(bridge, entry.port)
        self._apply(bridge, bridge.multicast.add_permanent(entry, time.monotonic()))
        record_of(bridge, f"permanent entry {_named(entry)}: set")
        return self._entries.save(bridge, requested=True)

    def remove_permanent(self, bridge: Bridge, *entries: PermanentEntry) -> Ticket:
        """Undo `add_permanent`.  Raises InputError."""
        for entry in entries:
            self._apply(bridge, bridge.multicast.remove_permanent(entry, time.monotonic()))
            record_of(bridge, f"permanent entry {_named(entry)}: removed")
        return self._entries.save(bridge, requested=True)

    def join(self, bridge: Bridge, entry: PermanentEntry) -> None:
        """Make a port a member as if a host had joined: the entry ages.  Raises InputError."""
        if not bridge.multicast.runs:
            raise InputError("type", f"bridge {bridge.name} does not snoop: it has no members")
        port = named_port(bridge, entry.port)
        check_addresses(entry.group, entry.source, entry.exclude)
        if multicast.is_mac_group(entry.group):
            what = multicast.text(entry.group)
            raise InputError("type", f"{what} is a MAC address: its entries are permanent")
        _check_version(bridge, entry)
        joined, effects = bridge.multicast.join(entry, port.number, time.monotonic())
        self._apply(bridge, effects)
        if not joined:
            limit = "as many groups as it may (mcast_max_groups, mcast_hash_max)"
            raise InputError("port", f"port {entry.port} has {limit}")
        record_of(bridge, f"member {_named(entry)}: joined")

    def forget_members(
        self,
        bridge: Bridge,
        vid: int | None = None,
        group: bytes | None = None,
        port: int | None = None,
        source: bytes | None = None,
    ) -> int:
        """Forget matching learned memberships, or one source of them; gives their number."""
        count, effects = bridge.multicast.forget(time.monotonic(), vid, group, port, source)
        self._apply(bridge, effects)
        record_of(bridge, f"{count} memberships are forgotten")
        return count


def _check_version(bridge: Bridge, entry: PermanentEntry) -> None:
    """InputError for sources that the VLAN's version of IGMP or MLD does not support."""
    params = vlan_snooping(bridge, entry.vid)
    if params is None or (entry.source is None and not entry.exclude):
        return
    protocol, version, newest = (
        ("igmp", params.mcast_igmp_version, 3)
        if len(entry.group) == 4
        else ("mld", params.mcast_mld_version, 2)
    )
    if version < newest:
        raise InputError(
            "exclude" if entry.source is None else "source",
            f"{protocol.upper()} version {version} has no sources: set mcast_{protocol}_version "
            f"to {newest} in VLAN {entry.vid}, or make the entry permanent",
        )


def _named(entry: PermanentEntry) -> str:
    source = "" if entry.source is None else f" from {multicast.text(entry.source)}"
    left_out = ", ".join(map(multicast.text, entry.exclude))
    source = f" from all but {left_out}" if left_out else source
    return f"{multicast.text(entry.group)}{source} in VLAN {entry.vid} on port {entry.port}"
