"""Entries that users add to bridges: those of the file follow the file, the others are stored.

Entries made over the API stay; an entry of the file that the API has moved is the API's.
"""

from __future__ import annotations

import json
from contextlib import suppress

from pydantic import ValidationError

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Effect
from ofapp.bridge.input_error import InputError
from ofapp.config.bridge import Binding, Static
from ofapp.config.bridge import Bridge as Settings
from ofapp.config.multicast import MdbEntry
from ofapp.controller.configuration.events import CONFIG_SKIPPED
from ofapp.controller.configuration.running import RunningConfiguration
from ofapp.controller.state.entries import EntryStore, RunTimeEntries
from ofapp.controller.state.entry_kinds import KINDS, UserEntry
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
        settings = self._running.filed(bridge.datapath_id)
        configured = {entry for kind in KINDS for entry in kind.filed(settings)}
        present = (entry for kind in KINDS for entry in kind.present(bridge))
        entries = tuple(entry for entry in present if entry not in configured)
        return self._store.save(bridge.datapath_id, RunTimeEntries(entries, requested))

    def save_change(self, bridge: Bridge, old: UserEntry | None, new: UserEntry | None) -> Ticket:
        """Store one entry in the place of another, on request; `save` reads all from the bridge."""
        stored = self._store.load(bridge.datapath_id)
        if stored is None:
            return self.save(bridge, requested=True)
        entries = tuple(entry for entry in stored.entries if entry not in (old, new))
        settings = self._running.filed(bridge.datapath_id)
        if new is not None and new not in type(new).filed(settings):
            entries += (new,)
        return self._store.save(bridge.datapath_id, RunTimeEntries(entries, requested=True))


_MODELS = {"static": Static, "mdb": MdbEntry, "bindings": Binding}
"""Sections of the file by the list that has them."""


def with_entries(settings: Settings, bridge: Bridge) -> Settings:
    """The settings with the entries that the bridge has, in place of those of the file.

    An entry on a port whose name the file cannot have, such as one with a blank, is left out.
    """
    lists = {}
    for kind in KINDS:
        present = dict.fromkeys(kind.present(bridge))
        filed = dict(zip(kind.filed(settings), getattr(settings, kind.list_name), strict=True))
        kept = [section for entry, section in filed.items() if entry in present]
        more = [entry for entry in present if entry not in filed]
        model = _MODELS[kind.list_name]
        for entry in more:
            with suppress(ValidationError):
                kept.append(model(**json.loads(entry.encoded)))
        lists[kind.list_name] = tuple(kept)
    return settings.model_copy(update=lists)


def follow_file(bridge: Bridge, before: Settings, after: Settings, now: float) -> list[Effect]:
    """Change a bridge's entries as the file has changed; logs those that cannot be added."""
    effects: list[Effect] = []
    for kind in KINDS:
        filed = {entry.key for entry in kind.filed(after)}
        present = {entry.key: entry for entry in kind.present(bridge)}
        for entry in kind.filed(before):
            if entry.key not in filed and present.get(entry.key) == entry:
                effects += entry.remove(bridge, now)
        for entry in kind.filed(after):
            if present.get(entry.key) != entry:
                try:
                    effects += entry.put(bridge, True, now)
                except InputError as error:
                    effects.append(CONFIG_SKIPPED.event(str(error)))
    return effects
