"""Sightings on their way to be learned: as many at a time as the switch takes, its ports in turn.

While a switch is busy with earlier messages, sightings wait here, where they cost it nothing;
so the more there are, the more go at once, and that is cheaper for the switch.  A port with its
first sightings does not wait for the others, as long as they are few.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
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

    window: what the switch takes; learn: called with the sightings that are next.
    opened: whether the switch is ready for any; seen: how many came by each port since this was
    taken.
    """

    def __init__(self, window: FlowControl, learn: Callable[[list[Sample]], None]) -> None:
        self.opened = False
        self.seen: Counter[int] = Counter()
        self._window = window
        self._learn = learn
        self._backlog = Backlog()
        self._served: set[int] = set()

    def __len__(self) -> int:
        """How many wait for the switch's answers."""
        return len(self._backlog) if self.opened else 0

    @property
    def quiet(self) -> bool:
        """Whether nothing was seen since `seen` was last taken, and nothing waits."""
        return not self.seen and not self._backlog

    @property
    def dropped(self) -> Mapping[int, int]:
        """How many sightings were never learned, by port."""
        return self._backlog.dropped

    def take_in(self, samples: list[Sample], now: float) -> None:
        """They were seen, in this order."""
        if not samples:
            return
        if len(samples) < FEW:
            for port, _, _ in samples:
                self.seen[port] += 1
        else:
            self.seen.update(map(_port, samples))
        if not self.opened:
            self._backlog.put(samples, now)
        elif not self._window.is_open:
            self._backlog.put(self._without_few(samples), now)
            self._window.wait()
        elif self._backlog or len(samples) > self._window.hosts:
            self._backlog.put(samples, now)
            while self._backlog and self._window.is_open:  # what is known already sends nothing
                self.learn_some(now)
        else:
            self._learn(samples)

    def answered(self) -> None:
        """The switch has carried something out."""
        self._served.clear()

    def learn_some(self, now: float) -> None:
        """Pass on as many of the waiting sightings as may go at once."""
        self._backlog.expire(now)
        if self.opened and self._backlog:
            self._learn(self._backlog.take(self._window.hosts))

    def _without_few(self, samples: list[Sample]) -> list[Sample]:
        """Learn those of ports that are not waiting for their turn; gives the others."""
        few = {
            port
            for port, count in Counter(map(_port, samples)).items()
            if count <= FEW and port not in self._backlog and port not in self._served
        }
        if not few or len(self._served) + len(few) > PORTS_AT_ONCE:
            return samples
        self._served |= few
        self._learn([sample for sample in samples if sample[0] in few])
        return [sample for sample in samples if sample[0] not in few]
