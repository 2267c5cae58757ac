"""Sightings on their way to be learned: as many at a time as the switch takes, its ports in turn.

While a switch is busy with what it was told, sightings wait here, where they cost nobody anything;
so the more there are, the more go at once, and that is cheaper for the switch.  A port that has
only now something to say does not wait for the others, as long as it is little.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from operator import itemgetter

from ofapp.bridge.backlog import Backlog
from ofapp.bridge.learning import Sample
from ofapp.openflow.wire.window import Window

FEW = 4
"""Sightings of a port that need not wait for the switch's answer, once for each answer."""
PORTS_AT_ONCE = 16
"""Ports that have this for one answer."""

_port = itemgetter(0)


class Intake:
    """For one switch.

    window: what the switch takes; learn: what becomes of sightings whose turn it is; counters: gets
    those that there was no room for.  opened: whether the switch is ready for any; seen: how many
    came by each port since somebody took this.
    """

    def __init__(
        self, window: Window, learn: Callable[[list[Sample]], None], counters: Counter[str]
    ) -> None:
        self.opened = False
        self.seen: Counter[int] = Counter()
        self._counters = counters
        self._window = window
        self._learn = learn
        self._backlog = Backlog()
        self._served: set[int] = set()

    def __len__(self) -> int:
        """How many wait for the switch's answers."""
        return len(self._backlog) if self.opened else 0

    @property
    def quiet(self) -> bool:
        """Whether nothing was seen since somebody took `seen`, and nothing waits."""
        return not self.seen and not self._backlog

    def take_in(self, samples: list[Sample]) -> None:
        """They were seen, in this order."""
        if not samples:
            return
        self.seen.update(map(_port, samples))
        if not self.opened:
            self._put(samples)
        elif not self._window.is_open:
            self._put(self._without_few(samples))
        elif self._backlog or len(samples) > self._window.hosts:
            self._put(samples)
            while self._backlog and self._window.is_open:  # what is known already sends nothing
                self.learn_some()
        else:
            self._learn(samples)

    def answered(self) -> None:
        """The switch has carried something out."""
        self._served.clear()

    def learn_some(self) -> None:
        """As many of those that wait as may go at once."""
        if self.opened and self._backlog:
            self._learn(self._backlog.take(self._window.hosts))

    def _put(self, samples: list[Sample]) -> None:
        if refused := self._backlog.put(samples):
            self._counters["sightings_dropped"] += refused

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
