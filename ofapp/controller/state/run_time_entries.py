"""Static and permanent multicast entries that were set at run time and outlive the process.

Entries of the configuration file are not kept here.
"""

from __future__ import annotations

from collections.abc import Iterator

from ofapp.bridge import answers, multicast
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.mac import format_mac
from ofapp.bridge.multicast.permanent_entries import PermanentEntry
from ofapp.controller.configuration.running import (
    RunningConfiguration,
    permanent_entries,
    static_entries,
    static_keys,
)
from ofapp.controller.state import Kept, MdbEntry, State, StaticEntry
from ofapp.controller.state.keeper import Ticket


class KeptEntries:
    """Entries of all bridges, stored in `state`."""

    def __init__(self, running: RunningConfiguration, state: State) -> None:
        self._running = running
        self._state = state

    def knows(self, datapath_id: int) -> bool:
        """Whether it is stored which entries a bridge has, even if it has none."""
        return self._state.static_entries(datapath_id) is not None

    def static(self, datapath_id: int) -> tuple[StaticEntry, ...]:
        """Stored static entries of the bridge."""
        return self._state.static_entries(datapath_id) or ()

    def permanent(self, datapath_id: int) -> list[PermanentEntry]:
        """Stored permanent multicast entries of the bridge."""
        return [
            PermanentEntry.parse(own.vlan, own.group, own.port, own.source, own.exclude, own.proto)
            for own in self._state.mdb_entries(datapath_id)
        ]

    def keep(self, bridge: Bridge, asked: bool = False) -> Ticket:
        """Store the bridge's present entries.  asked: a user has set or removed one."""
        kept = Kept(tuple(self._own_static(bridge)), tuple(self._own_mdb(bridge)), asked)
        return self._state.remember(bridge.datapath_id, kept)

    def forget(self, datapath_id: int) -> Ticket:
        """Delete the stored entries of a bridge."""
        return self._state.forget(datapath_id)

    def _own_static(self, bridge: Bridge) -> Iterator[StaticEntry]:
        configured = static_keys(static_entries(self._running.filed(bridge.datapath_id)))
        for (vid, mac), port in answers.static_entries(bridge).items():
            if (vid, mac) not in configured:
                yield StaticEntry(vid, format_mac(mac), port)

    def _own_mdb(self, bridge: Bridge) -> Iterator[MdbEntry]:
        configured = permanent_entries(self._running.filed(bridge.datapath_id))
        for entry in answers.permanent_entries(bridge):
            if entry not in configured:
                yield MdbEntry(
                    entry.vid,
                    multicast.text(entry.group),
                    entry.port,
                    None if entry.source is None else multicast.text(entry.source),
                    tuple(map(multicast.text, entry.exclude)),
                    entry.proto,
                )
