"""Quota for entries of the datapath: the bridge's limit, shared so that each port gets some.

Half of `mcast_hash_max` is reserved in equal parts for the ports, the rest is first come, first
served. A port that joins without end fills the common half and its own part, and every other port
still has its own: a hostile host harms its own port only. An entry is charged to the port that
caused it, and then to another member when that one leaves.
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
        """Compute the parts; not before they are needed, as thousands of ports may be added."""
        if self._shared:
            return
        self._shared = True
        count = len(self._used)
        self._reserve = self._limit // (2 * count) if count else 0
        self._common = self._limit - self._reserve * count
        self._common_used = sum(max(0, used - self._reserve) for used in self._used.values())

    def set_limit(self, limit: int) -> None:
        """Set a new limit; existing entries stay."""
        self._limit = limit
        self._shared = False

    def add_port(self, port: int) -> None:
        """Add a port to share with."""
        self._used[port] = 0
        self._shared = False

    def remove_port(self, port: int) -> None:
        """Remove a port, which has no entries any more."""
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
        """Whether an eighth of the common part is free: enough to clear the alarm."""
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
        """Release one entry of the port."""
        self._share()
        if self._used[port] > self._reserve:
            self._common_used -= 1
        self._used[port] -= 1

    def move(self, old: int, new: int) -> None:
        """Move a charge to another port; never refused, as the entry exists already."""
        self.release(old)
        if self._used[new] >= self._reserve:
            self._common_used += 1
        self._used[new] += 1
