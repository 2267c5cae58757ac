"""A bridge's learned addresses, for the code that programs its switch and compares its flows.

That code needs nothing else of learning and of the FDB.
"""

from ofapp.bridge.fdb.events import FDB_AGED, FDB_DELETED, FDB_FLUSHED, FDB_LEARNED, FDB_MOVED
from ofapp.bridge.fdb.fdb import Entry
from ofapp.bridge.fdb.learning import Learning

TRACE = (FDB_LEARNED, FDB_MOVED, FDB_AGED, FDB_DELETED, FDB_FLUSHED)
"""The kinds of events that `LearnedAddresses.set_trace` switches on."""


class LearnedAddresses:
    """The learned addresses of one bridge.

    learn, add_extern, expired, forget, adopt, adopt_held, settle_held, reinstall, forwards, back,
    taken_back: as in `Learning`; get, cohorts, cohort: as in `Fdb`.
    """

    def __init__(self, learning: Learning) -> None:
        self._learning = learning
        self._fdb = fdb = learning.fdb
        # Bound once: called for every new host, and in a sync with a switch for each flow.
        self.learn, self.expired = learning.learn, learning.expired
        self.add_extern = learning.add_extern
        self.forget, self.adopt, self.reinstall = (
            learning.forget,
            learning.adopt,
            learning.reinstall,
        )
        self.adopt_held, self.settle_held = learning.adopt_held, learning.settle_held
        self.forwards, self.back, self.taken_back = (
            learning.forwards,
            learning.back,
            learning.taken_back,
        )
        self.get, self.cohorts, self.cohort = fdb.get, fdb.cohorts, fdb.cohort

    def set_trace(self, wanted: bool) -> None:
        """Report changes of learned addresses as events of the kinds in `TRACE`."""
        self._fdb.traced = wanted

    def __len__(self) -> int:
        """Number of learned addresses, including sticky ones."""
        return self._fdb.learned

    def by_port(self) -> dict[int, int]:
        """Number of learned addresses by port."""
        return dict(self._fdb.learned_by_port)

    def lost(self) -> frozenset[int]:
        """The ports whose addresses the switch has lost."""
        return frozenset(self._learning.lost)

    def some_stick(self) -> bool:
        """Whether there may be some that do not age."""
        return self._learning.any_extern or bool(self._learning.sticky)

    def learned(self, vid: int, mac: int) -> Entry | None:
        """The entry of an address that was learned, or None."""
        entry = self._fdb.get(vid, mac)
        return entry if entry is not None and entry.was_learned else None

    def port_of(self, entry: Entry) -> int:
        """The switch's number of the port where an entry is."""
        return entry.port

    def installed(self, vid: int, mac: int) -> bool:
        """Whether the switch should have flows of the address, of any type."""
        entry = self._fdb.get(vid, mac)
        return entry is not None and self._learning.forwards(entry.port)

    def count(self, what: str, times: int = 1) -> None:
        """Count a difference that was found in the switch and corrected."""
        self._learning.counters[what] += times

    def counted(self, what: str) -> int:
        """The value of that counter since the bridge is known."""
        return self._learning.counters[what]
