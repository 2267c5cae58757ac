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
from ofapp.controller.configuration.changes.port_access import PortAccessRequests
from ofapp.controller.configuration.changes.settings import SettingChanges
from ofapp.controller.configuration.changes.stp import HoldRequests, StpRequests
from ofapp.controller.configuration.configurator import Configurator
from ofapp.controller.configuration.run_time_entries import SavedEntries

__all__ = ["RequestedChanges"]


class RequestedChanges:
    """The changes that a request can make.

    settings: settings of the running configuration; fdb, mdb, bindings: entries;
    stp, loop_protect, one_way: the protocol's state; port_access: hosts of controlled ports.
    forget, forget_absent: forget a bridge, known or absent since the start.
    """

    def __init__(
        self,
        shared: Shared,
        configurator: Configurator,
        entries: SavedEntries,
        lifetime: Lifetime,
    ) -> None:
        _, dispatcher, running = shared
        self.fdb = FdbChanges(dispatcher, entries)
        self.mdb = MdbChanges(dispatcher, entries)
        self.bindings = BindingChanges(dispatcher, entries)
        self.stp = StpRequests(dispatcher)
        self.port_access = PortAccessRequests(dispatcher)
        self.loop_protect = HoldRequests(
            dispatcher,
            lambda bridge: bridge.loop_protect,
            "loop protection does not hold port {}",
            "port {} is freed from loop protection",
        )
        self.one_way = HoldRequests(
            dispatcher,
            lambda bridge: bridge.one_way,
            "port {} is not held as one-way",
            "port {} is no longer held as one-way",
        )
        self.settings = SettingChanges(configurator, running)
        self.forget = lifetime.forget
        self.forget_absent = lifetime.forget_absent
