"""Sightings that wait to be learned, each port in turn, so that none waits for a louder one."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from ofapp.bridge.learning import Sample

ROOM = 10_000
"""Sightings that wait at most on one port; on one of several, its share of that."""


class Backlog:
    """By port, each sighting once, the oldest first."""

    def __init__(self, room: int = ROOM) -> None:
        self._room = room
        self._queues: dict[int, dict[Sample, None]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._queues.values()))

    def __bool__(self) -> bool:
        return bool(self._queues)

    def __contains__(self, port: int) -> bool:
        """Whether sightings of this port wait."""
        return port in self._queues

    def put(self, samples: Iterable[Sample]) -> int:
        """Let them wait; gives how many there was no room for, which will be seen again."""
        queues, refused = self._queues, 0
        for sample in samples:
            queue = queues.get(sample[0])
            if queue is None:
                queue = queues[sample[0]] = {}
            if len(queue) < self._room // len(queues):
                queue[sample] = None
            elif sample not in queue:
                refused += 1
        return refused

    def take(self, count: int) -> list[Sample]:
        """The next ones, as many of each port as of any other while it has some."""
        queues = self._queues
        taken: list[Sample] = []
        while queues and len(taken) < count:
            share = max(1, (count - len(taken)) // len(queues))
            for port in list(islice(queues, count - len(taken))):
                queue = queues.pop(port)
                batch = list(islice(queue, share))
                taken += batch
                if len(batch) < len(queue):
                    for sample in batch:
                        del queue[sample]
                    queues[port] = queue  # behind those that have not had their turn
        return taken
