"""Queue of sightings to be learned, served port by port, so that a busy port delays no other one.

Sightings wait only briefly: a host that still sends is seen again with its next frame, and older
sightings would only delay newer ones.
"""

from collections import Counter
from collections.abc import Iterable
from itertools import islice, takewhile

from ofapp.bridge.fdb.learning import Sample

ROOM = 10_000
"""Most sightings that wait; ports that have some share them equally."""
LONGEST = 0.5
"""Seconds for which a sighting waits since it was last seen."""


class Backlog:
    """Sightings by port, each once, the oldest first.

    dropped: how many were not learned for lack of room or of time, by port.
    """

    def __init__(self, room: int = ROOM) -> None:
        self.dropped: Counter[int] = Counter()
        self._room = room
        self._queues: dict[int, dict[Sample, float]] = {}  # when each was seen last

    def __len__(self) -> int:
        return sum(map(len, self._queues.values()))

    def __bool__(self) -> bool:
        return bool(self._queues)

    def __contains__(self, port: int) -> bool:
        """Whether sightings of this port wait."""
        return port in self._queues

    def put(self, samples: Iterable[Sample], now: float) -> None:
        """Queue sightings as far as there is room."""
        queues = self._queues
        for sample in samples:
            queue = queues.get(sample[0])
            if queue is None:
                queue = queues[sample[0]] = {}
            if len(queue) < self._room // len(queues) or sample in queue:
                queue[sample] = now
            else:
                self.dropped[sample[0]] += 1

    def expire(self, now: float) -> None:
        """Drop sightings that have waited for too long."""
        oldest = now - LONGEST
        for port, queue in list(self._queues.items()):
            late = [*takewhile(lambda sample: queue[sample] < oldest, queue)]  # noqa: B023
            for sample in late:
                del queue[sample]
            if late:
                self.dropped[port] += len(late)
            if not queue:
                del self._queues[port]

    def take(self, count: int) -> list[Sample]:
        """Take the next sightings, equally many of each port that has enough."""
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
                    queues[port] = queue  # behind ports that were not served yet
        return taken
