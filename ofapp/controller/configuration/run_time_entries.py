"""Static and permanent multicast entries that were set at run time and outlive the process.

Entries of the configuration file are not stored.
"""

from __future__ import annotations

from collections.abc import Iterator

from ofapp.bridge import answers, multicast
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.mac import format_mac
from ofapp.controller.configuration.running import (
    RunningConfiguration,
    permanent_entries,
    static_entries,
    static_keys,
)
from ofapp.controller.state.entries import EntryStore, MdbEntry, RunTimeEntries, StaticEntry
from ofapp.controller.state.saving import Ticket


class SavedEntries:
    """Entries of all bridges, stored in `store`."""

    def __init__(self, running: RunningConfiguration, store: EntryStore) -> None:
        self._running = running
        self._store = store

    def has_entry(self, datapath_id: int) -> bool:
        """Whether it is stored which entries a bridge has, even if it has none."""
        return self._store.load(datapath_id) is not None

    def save(self, bridge: Bridge, requested: bool = False) -> Ticket:
        """Store the bridge's present entries.  requested: a user has set or removed one."""
        entries = RunTimeEntries(
            tuple(self._static(bridge)), tuple(self._permanent(bridge)), requested
        )
        return self._store.save(bridge.datapath_id, entries)

    def _static(self, bridge: Bridge) -> Iterator[StaticEntry]:
        configured = static_keys(static_entries(self._running.filed(bridge.datapath_id)))
        for (vid, mac), port in answers.static_entries(bridge).items():
            if (vid, mac) not in configured:
                yield StaticEntry(vid, format_mac(mac), port)

    def _permanent(self, bridge: Bridge) -> Iterator[MdbEntry]:
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
