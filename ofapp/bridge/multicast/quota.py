"""Who may add an entry to the datapath: the bridge's limit, shared so that nobody is starved.

Half of `mcast_hash_max` is set aside in equal parts for the ports, the rest is for whoever asks
first. A port that joins without end fills the common half and its own part, and every other port
still has its own: a hostile host harms its own port. An entry is charged to the port that caused
it and passes to another member when that one leaves.
"""

from __future__ import annotations


class EntryQuota:
    """Entries charged per port. The sum never passes the limit, save by `move`."""

    __slots__ = ("_common", "_common_used", "_limit", "_reserve", "_shared", "_used")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._used: dict[int, int] = {}
        self._shared = False

    def _share(self) -> None:
        """Work out the parts; not before somebody asks, as ports come by the thousand."""
        if self._shared:
            return
        self._shared = True
        count = len(self._used)
        self._reserve = self._limit // (2 * count) if count else 0
        self._common = self._limit - self._reserve * count
        self._common_used = sum(max(0, used - self._reserve) for used in self._used.values())

    def set_limit(self, limit: int) -> None:
        """A new limit; what is there stays."""
        self._limit = limit
        self._shared = False

    def add_port(self, port: int) -> None:
        """A port to share with."""
        self._used[port] = 0
        self._shared = False

    def remove_port(self, port: int) -> None:
        """A port that has no entries any more."""
        del self._used[port]
        self._shared = False

    def used(self, port: int) -> int:
        """Entries charged to the port."""
        return self._used[port]

    @property
    def total(self) -> int:
        """Entries charged to all ports."""
        return sum(self._used.values())

    @property
    def relaxed(self) -> bool:
        """Whether an eighth of the common part is free: far enough from the limit to say so."""
        self._share()
        return self._common_used <= self._common * 7 // 8

    def charge(self, port: int) -> bool:
        """Charge one entry to the port, or refuse."""
        self._share()
        if self._used[port] >= self._reserve:
            if self._common_used >= self._common:
                return False
            self._common_used += 1
        self._used[port] += 1
        return True

    def release(self, port: int) -> None:
        """Take one entry off the port."""
        self._share()
        if self._used[port] > self._reserve:
            self._common_used -= 1
        self._used[port] -= 1

    def move(self, old: int, new: int) -> None:
        """Pass a charge on. The new owner's was there to be had, so this is never refused."""
        self.release(old)
        if self._used[new] >= self._reserve:
            self._common_used += 1
        self._used[new] += 1
