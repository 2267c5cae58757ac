"""A bridge's learned addresses, for who looks after its switch: sightings in, flows compared.

The switch forwards by flows, and the FDB is told of them.  Whoever has both in hand asks and tells
here, and has nothing else of how addresses are learned.
"""

from __future__ import annotations

from ofapp.bridge.fdb import Entry
from ofapp.bridge.learning import Learning


class LearnedAddresses:
    """Those of one bridge.

    learn, expired, forget, adopt, adopt_held, settle_held, reinstall, forwards, back, taken_back:
    as in `Learning`; get, cohorts, cohort: as in `Fdb`.
    """

    def __init__(self, learning: Learning) -> None:
        self._learning = learning
        self._fdb = fdb = learning.fdb
        # Bound once: every new host comes by here, and in a look at a switch each of its flows.
        self.learn, self.expired = learning.learn, learning.expired
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

    def __len__(self) -> int:
        """How many there are, the sticky ones among them."""
        return self._fdb.learned

    def by_port(self) -> dict[int, int]:
        """How many each port has."""
        return dict(self._fdb.learned_by_port)

    def lost(self) -> frozenset[int]:
        """The ports whose addresses the switch has lost."""
        return frozenset(self._learning.lost)

    def some_stick(self) -> bool:
        """Whether there may be sticky ones."""
        return bool(self._learning.sticky)

    def learned(self, vid: int, mac: int) -> Entry | None:
        """The entry of an address that was learned, or None."""
        entry = self._fdb.get(vid, mac)
        return entry if entry is not None and entry.was_learned else None

    def installed(self, vid: int, mac: int) -> bool:
        """Whether the switch should have flows of the address, whatever kind it is of."""
        entry = self._fdb.get(vid, mac)
        return entry is not None and self._learning.forwards(entry.port)

    def count(self, what: str, times: int = 1) -> None:
        """Something was found in the switch and dealt with."""
        self._learning.counters[what] += times

    def counted(self, what: str) -> int:
        """How often, since the bridge is known."""
        return self._learning.counters[what]
