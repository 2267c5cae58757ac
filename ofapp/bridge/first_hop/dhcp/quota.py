"""Entries that hosts cause, with room for those of each port."""

from collections.abc import Iterator
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class PortQuota(Generic[K, V]):
    """Entries by key, the oldest first, each of a port.

    A port without room loses its own oldest entry, so that one port cannot take the room of others.

    replaced: entries that newer ones took the place of.
    """

    def __init__(self, of_port: int, of_all: int) -> None:
        self.replaced = 0
        self._of_port = of_port
        self._of_all = of_all
        self._entries: dict[K, tuple[int, V]] = {}
        self._on: dict[int, dict[K, None]] = {}

    def __iter__(self) -> Iterator[tuple[K, V]]:
        """All entries, the oldest first; changes meanwhile are safe."""
        return iter([(key, value) for key, (_, value) in self._entries.items()])

    def get(self, key: K) -> V | None:
        """The entry with a key."""
        entry = self._entries.get(key)
        return None if entry is None else entry[1]

    def put(self, key: K, port: int, value: V) -> None:
        """Set an entry, which is the newest then."""
        self.drop(key)
        mine = self._on.get(port, {})
        if len(mine) >= self._of_port:
            self._replace(next(iter(mine)))
        elif len(self._entries) >= self._of_all:
            self._replace(next(iter(self._entries)))
        self._entries[key] = port, value
        self._on.setdefault(port, {})[key] = None

    def oldest(self) -> tuple[K, V] | None:
        """The oldest entry."""
        for key, (_, value) in self._entries.items():
            return key, value
        return None

    def drop(self, key: K) -> None:
        """Drop an entry, if there is one."""
        entry = self._entries.pop(key, None)
        if entry is not None:
            port = entry[0]
            mine = self._on[port]
            del mine[key]
            if not mine:
                del self._on[port]

    def drop_port(self, port: int) -> None:
        """Drop the entries of a port."""
        for key in self._on.pop(port, {}):
            del self._entries[key]

    def _replace(self, key: K) -> None:
        self.replaced += 1
        self.drop(key)
