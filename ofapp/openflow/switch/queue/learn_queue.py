"""Sightings on their way to be learned: as many at a time as the switch takes, its ports in turn.

While a switch is busy with earlier messages, sightings wait here, where they cost it nothing;
so the more there are, the more go at once, and that is cheaper for the switch.  A port with its
first sightings does not wait for the others, as long as they are few.
"""

from collections import Counter
from collections.abc import Mapping
from operator import itemgetter

from ofapp.bridge.fdb.backlog import Backlog
from ofapp.bridge.fdb.learning import Sample
from ofapp.openflow.wire.flow_control import FlowControl

FEW = 4
"""Sightings of a port that need not wait for the switch's answer, once for each answer."""
PORTS_AT_ONCE = 16
"""Ports that have this for one answer."""

_port = itemgetter(0)


class LearnQueue:
    """Sightings of one switch that wait to be learned.

    flow: how much the switch takes.
    opened: whether the switch is ready for any; seen: how many came by each port since this was
    taken.
    """

    def __init__(self, flow: FlowControl) -> None:
        self.opened = False
        self.seen: Counter[int] = Counter()
        self._flow = flow
        self._backlog = Backlog()
        self._served: set[int] = set()

    def __len__(self) -> int:
        """Count the addresses that wait for the switch's answers."""
        return len(self._backlog) if self.opened else 0

    def __bool__(self) -> bool:
        """Whether some wait for the switch's answers."""
        return self.opened and bool(self._backlog)

    @property
    def quiet(self) -> bool:
        """Whether nothing was seen since `seen` was last taken, and nothing waits."""
        return not self.seen and not self._backlog

    @property
    def dropped(self) -> Mapping[int, int]:
        """Count the sightings that were never learned, by port."""
        return self._backlog.dropped

    def put(self, samples: list[Sample], now: float) -> list[Sample]:
        """Take sightings in, in their order, and give those that are to be learned at once.

        After them, while the flow control is open, `take` gives more.
        """
        if not samples:
            return []
        if len(samples) < FEW:
            for port, _, _ in samples:
                self.seen[port] += 1
        else:
            self.seen.update(map(_port, samples))
        if not self.opened:
            self._backlog.put(samples, now)
            return []
        if not self._flow.is_open:
            few, waiting = self._few(samples), samples
            if few:
                waiting = [one for one in samples if one[0] not in few]
            self._backlog.put(waiting, now)
            self._flow.wait()
            return [one for one in samples if one[0] in few] if few else []
        if self._backlog or len(samples) > self._flow.hosts:
            self._backlog.put(samples, now)
            return []
        return samples

    def answered(self) -> None:
        """The switch has carried something out."""
        self._served.clear()

    def take(self, now: float) -> list[Sample]:
        """Take as many of the waiting sightings as may be sent at once."""
        self._backlog.expire(now)
        return self._backlog.take(self._flow.hosts) if self else []

    def _few(self, samples: list[Sample]) -> set[int]:
        """Ports whose sightings do not wait for the switch's answer."""
        few = {
            port
            for port, count in Counter(map(_port, samples)).items()
            if count <= FEW and port not in self._backlog and port not in self._served
        }
        if len(self._served) + len(few) > PORTS_AT_ONCE:
            return set()
        self._served |= few
        return few
