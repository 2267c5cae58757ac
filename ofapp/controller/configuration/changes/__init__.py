"""The single entry point for every requested change, by resource.

Changes outlive ofapp: a parameter until the file changes it or a reload reverts it, an entry until
it is removed.  A ticket ends when the change is on disk; until then it does not count as made.  A
request that cannot be carried out is an `InputError`, and then nothing has changed.
"""

from __future__ import annotations

from ofapp.controller.bridges.lifetime import Lifetime
from ofapp.controller.bridges.shared import Shared
from ofapp.controller.configuration.changes.fdb import FdbChanges
from ofapp.controller.configuration.changes.lags import LagChanges
from ofapp.controller.configuration.changes.lldp import LldpChanges
from ofapp.controller.configuration.changes.mdb import MdbChanges
from ofapp.controller.configuration.changes.multicast import MulticastChanges
from ofapp.controller.configuration.changes.ports import PortChanges
from ofapp.controller.configuration.changes.stp import StpChanges
from ofapp.controller.configuration.reload import Reloader
from ofapp.controller.configuration.run_time_entries import SavedEntries

__all__ = ["RequestedChanges"]


class RequestedChanges:
    """Each attribute has the changes of one resource.

    forget: forget a bridge; reload: apply the file.
    """

    def __init__(
        self,
        shared: Shared,
        entries: SavedEntries,
        lifetime: Lifetime,
        reloader: Reloader,
    ) -> None:
        _, dispatcher, running = shared
        self.fdb = FdbChanges(dispatcher, entries)
        self.mdb = MdbChanges(dispatcher, entries)
        self.stp = StpChanges(dispatcher, running)
        self.multicast = MulticastChanges(dispatcher, running)
        self.ports = PortChanges(dispatcher, running)
        self.lags = LagChanges(dispatcher, running)
        self.lldp = LldpChanges(dispatcher, running)
        self.forget = lifetime.forget
        self.reload = reloader.reload
