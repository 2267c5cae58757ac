"""The single entry point for every requested change.

Changes outlive ofapp: a parameter until the file changes it or a reload reverts it, an entry until
it is removed.  A ticket ends when the change is on disk; until then it does not count as made.  A
request that cannot be carried out is an `InputError`, and then nothing has changed.
"""

from __future__ import annotations

from ofapp.controller.bridges.dispatcher import Shared
from ofapp.controller.bridges.lifetime import Lifetime
from ofapp.controller.configuration.changes.bindings import BindingChanges
from ofapp.controller.configuration.changes.fdb import FdbChanges
from ofapp.controller.configuration.changes.mdb import MdbChanges
from ofapp.controller.configuration.changes.settings import SettingChanges
from ofapp.controller.configuration.changes.stp import StpRequests
from ofapp.controller.configuration.configurator import Configurator
from ofapp.controller.configuration.reload import Reloader
from ofapp.controller.configuration.run_time_entries import SavedEntries

__all__ = ["RequestedChanges"]


class RequestedChanges:
    """The changes that a request can make.

    settings: of the running configuration; fdb, mdb, bindings: entries; stp: the protocol's state.
    forget: forget a bridge; reload: apply the file.
    """

    def __init__(
        self,
        shared: Shared,
        configurator: Configurator,
        entries: SavedEntries,
        lifetime: Lifetime,
        reloader: Reloader,
    ) -> None:
        _, dispatcher, running = shared
        self.fdb = FdbChanges(dispatcher, entries)
        self.mdb = MdbChanges(dispatcher, entries)
        self.bindings = BindingChanges(dispatcher, entries)
        self.stp = StpRequests(dispatcher)
        self.settings = SettingChanges(configurator, running)
        self.forget = lifetime.forget
        self.reload = reloader.reload
