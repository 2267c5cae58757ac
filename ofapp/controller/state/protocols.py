"""Protocol state for the next process or the next owner of a switch, stored when it changes.

LACP's is stored soon after a change.  A process that continues with state that is a moment old may
use members that their partner has just taken out, or the other way round.  The first exchange of
LACPDUs corrects that (see `lacp.absence`); no loop can form.

Spanning tree must never resume a tree that a switch or a neighbour does not have: a controller that
died during a change would continue with a tree that no other bridge uses.  So its state is
invalidated before the tree changes (only the bridges behind its ports are kept).
It is stored again once the tree is stable and its switch has carried everything out.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Mapping
from functools import partial
from itertools import chain
from typing import Any, NamedTuple, Protocol

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import StateChanged
from ofapp.bridge.stp.dump import OtherParametersError
from ofapp.common import hub
from ofapp.common.portions import AT_ONCE, PORTION, Portions
from ofapp.controller.state.document import Document, Revision
from ofapp.controller.state.snapshots import SnapshotStore, encoded

SHARE = 0.02
"""Largest share of time for checks: a thousand changing trees are stored later."""


def _restore_tree(bridge: Bridge, data: Any) -> list[str]:
    try:
        return [] if bridge.stp.params is None else bridge.stp.restore(data)
    except OtherParametersError as error:
        return [str(error)]


LACP = Document(
    "lacp",
    dump=lambda bridge, _portions: bridge.lags.dump(),
    restore=lambda bridge, data: bridge.lags.restore(data),
)

LOOP_PROTECT = Document(
    "loop_protect",
    stem="loops",
    damaged="ports that were held are open until a frame comes back",
    dump=lambda bridge, _portions: bridge.loop_protect.dump(),
    restore=lambda bridge, data: bridge.loop_protect.restore(data),
)

ONE_WAY = Document(
    "one_way",
    stem="links",
    damaged="ports with one-way links are open until these are found again",
    dump=lambda bridge, _portions: bridge.one_way.dump(),
    restore=lambda bridge, data: bridge.one_way.restore(data),
)

SPANNING_TREE = Document(
    "stp",
    stem="bridge",
    dump=lambda bridge, portions: bridge.stp.dump(portions),
    restore=_restore_tree,
    marked=True,
    revision=Revision(
        unsaved=lambda bridge: bridge.stp.unwritten(),
        saved=lambda bridge, revision: bridge.stp.written(revision),
    ),
)


class Confirms(Protocol):
    """A connected switch."""

    def confirm(self, done: Callable[[], None]) -> bool:
        """Call `done` once it has carried everything out; False when messages are still queued."""


class _Requested(NamedTuple):
    """A revision whose switch was asked to confirm that all is carried out.

    datapath: the connection over which it was asked; it may have ended long ago.
    """

    revision: Any
    datapath: weakref.ref[Confirms]


class StateWriter:
    """Writer of one protocol's state; `bridges` and `datapaths` are the network's."""

    def __init__(
        self,
        store: SnapshotStore,
        bridges: Mapping[int, Bridge],
        datapaths: Mapping[int, Confirms],
    ) -> None:
        self._document = store.document
        self._store = store
        self._bridges = bridges
        self._datapaths = datapaths
        self._changed: dict[int, Any] = {}  # and the revision at the last check
        self._requested: dict[int, _Requested] = {}
        self._woken = hub.Event()

    def changed(self, bridge: Bridge, change: StateChanged) -> None:
        """Store a changed state soon, but invalidate the stored one at once if need be.

        That is before the effects of the change take place.
        """
        if change.valid is not None:
            self._store.invalidate(bridge.datapath_id, change.valid)
        self._again(bridge)

    def check(self) -> bool:
        """Store what has changed, or ask for confirmation of what is stable since the last check.

        Gives whether there is more to do: a bridge whose switch is disconnected waits for it.
        """
        for datapath_id, (revision, datapath) in list(self._requested.items()):
            present = self._datapaths.get(datapath_id)
            if present is not None and present is not datapath():
                del self._requested[datapath_id]
                self._changed[datapath_id] = revision
        for datapath_id, before in list(self._changed.items()):
            bridge = self._bridges.get(datapath_id)
            if bridge is None:
                del self._changed[datapath_id]
            elif self._document.revision is None:
                del self._changed[datapath_id]
                self._store.save(datapath_id, self._dump(bridge, AT_ONCE))
            else:
                self._confirm(bridge, before, self._document.revision.unsaved(bridge))
        return any(known in self._datapaths for known in chain(self._changed, self._requested))

    def _confirm(self, bridge: Bridge, before: Any, now: Any) -> None:
        """Ask for confirmation if the revision is the same as before."""
        datapath_id = bridge.datapath_id
        if now is None:
            del self._changed[datapath_id]
        elif before is None or before != now:
            self._changed[datapath_id] = now
        else:
            datapath = self._datapaths.get(datapath_id)
            if datapath is not None and datapath.confirm(partial(self._confirmed, bridge, now)):
                del self._changed[datapath_id]
                self._requested[datapath_id] = _Requested(now, weakref.ref(datapath))

    def _confirmed(self, bridge: Bridge, revision: Any) -> None:
        self._requested.pop(bridge.datapath_id, None)
        if len(bridge.ports) <= PORTION:
            self._write(bridge, revision, AT_ONCE)
        else:
            hub.spawn(self._write, bridge, revision, hub.portions())

    def _write(self, bridge: Bridge, revision: Any, portions: Portions) -> None:
        """Store the state, if it has not changed since.

        That of thousands of ports takes a while, and is not stored if it changes meanwhile.
        """
        document = self._document
        assert document.revision is not None
        data = None
        if document.revision.unsaved(bridge) == revision:
            data = encoded(self._dump(bridge, portions), portions)
        if self._bridges.get(bridge.datapath_id) is not bridge:
            return
        if data is not None and document.revision.unsaved(bridge) == revision:
            self._store.save(bridge.datapath_id, data)
            document.revision.saved(bridge, revision)
        else:
            self._again(bridge)

    def _again(self, bridge: Bridge) -> None:
        self._requested.pop(bridge.datapath_id, None)
        self._changed[bridge.datapath_id] = None
        self._woken.set()

    def _dump(self, bridge: Bridge, portions: Portions) -> Any:
        assert self._document.dump is not None
        return self._document.dump(bridge, portions)

    def run(self) -> None:
        """Store changed state again and again; does not return."""
        while True:
            self._woken.wait()
            self._woken.clear()
            began = time.monotonic()
            if self.check():
                self._woken.set()
            hub.sleep(max(self._document.delay, (time.monotonic() - began) / SHARE))
