"""Rates: which ports send too much, the events about it, and when it counts as over."""

from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from typing import Any

from ofapp.bridge.event import Event, PortNumber, Severity
from ofapp.openflow.model.trap import MeterKind
from ofapp.openflow.model.traps import LIMITED, SIGHTING
from ofapp.openflow.pipeline.meters import metered
from ofapp.openflow.switch.counters.events import HELD_BACK, LEARNING, Limited


class Policer:
    """Lets so many sightings a second and port through.  For switches that have no meters.

    rate: a port's, when asked; dropped: sightings not let through, by port.
    """

    def __init__(self, rate: Callable[[int], int]) -> None:
        self.dropped: Counter[int] = Counter()
        self._rate = rate
        self._second = -1
        self._taken: Counter[int] = Counter()

    def admit(
        self, samples: Iterable[tuple[int, int, int]], now: float
    ) -> list[tuple[int, int, int]]:
        """The (port, vid, mac) samples that are within the rate."""
        if int(now) != self._second:
            self._second = int(now)
            self._taken.clear()
        admitted = []
        for sample in samples:
            port = sample[0]
            if self._taken[port] < self._rate(port):
                self._taken[port] += 1
                admitted.append(sample)
            else:
                self.dropped[port] += 1
        return admitted


class RateWatch:
    """Tells when a port's frames begin and cease to be held back, from counts that only grow.

    kinds: the events; what: what is held back, and fate: what that means, for people.
    dropped: counts at the last look; limited: ports with more of them than at the look before.
    """

    def __init__(
        self,
        kinds: Limited,
        what: str,
        fate: str = "were too fast for the controller and held back",
    ) -> None:
        self._kinds = kinds
        self._what = what
        self._fate = fate
        self.dropped: Mapping[int, int] = {}
        self.limited: set[int] = set()

    def observe(self, dropped: Mapping[int, int], others: Container[int] = ()) -> list[Event]:
        """`dropped` is how many were held back on each port up to now.

        others: ports of which it is no more than information, as another bridge's hosts are there.
        """
        events = []
        for port, count in dropped.items():
            more = count - self.dropped.get(port, 0)
            if more > 0 and port not in self.limited:
                self.limited.add(port)
                events.append(self._held_back(port, more, port in others))
            elif more <= 0 and port in self.limited:
                self.limited.discard(port)
                events.append(self._let_through(port, count))
        self.limited &= dropped.keys()
        self.dropped = dict(dropped)
        return events

    def _held_back(self, port: int, more: int, others: bool) -> Event:
        text = (PortNumber(port), f": {more} {self._what} {self._fate}")
        severity = Severity.INFO if others else None
        return self._kinds.began.event(text, port, {"held_back": more}, severity)

    def _let_through(self, port: int, count: int) -> Event:
        text = (PortNumber(port), f": no {self._what} are held back any more")
        return self._kinds.ended.event(text, port, {"held_back": count})


class LearningWatch:
    """Tells of ports with more new addresses than the switch takes, and when that is over."""

    PERIOD = 5.0
    """Seconds between two looks: it is over when nothing was dropped for so long."""

    def __init__(self, is_edge: Callable[[int], bool]) -> None:
        self._is_edge = is_edge
        self._looked = 0.0
        fate = "came faster than the switch takes them; they are learned with a later frame"
        self._watch = RateWatch(LEARNING, "new addresses", fate)

    @property
    def limited(self) -> Collection[int]:
        """Ports with new addresses that were dropped lately, and that are no links to bridges."""
        return {port for port in self._watch.limited if self._is_edge(port)}

    def look(self, dropped: Mapping[int, int], now: float) -> list[Event]:
        """`dropped` is how many were not learned on each port up to now."""
        if not dropped or now - self._looked < self.PERIOD:
            return []
        self._looked = now
        return self._watch.observe(dropped, [port for port in dropped if not self._is_edge(port)])


class MeterWatch:
    """Frames that the meters of a switch's ports drop, by kind, as of the last poll."""

    def __init__(self) -> None:
        self._watches = {kind: RateWatch(HELD_BACK[kind], kind.what, kind.fate) for kind in LIMITED}

    @property
    def dropped(self) -> Mapping[str, Mapping[int, int]]:
        """Count the frames that meters dropped, by kind and port."""
        return {kind.name: watch.dropped for kind, watch in self._watches.items()}

    @property
    def limited(self) -> Mapping[str, Collection[int]]:
        """Ports with frames that were dropped before the last poll, by kind."""
        return {kind.name: watch.limited for kind, watch in self._watches.items()}

    def observe(self, policed: Mapping[int, int], stats: Iterable[Any]) -> Iterator[Event]:
        """policed: sightings held back here, for a switch without meters.

        stats: all its meters (os-ken's OFPMeterStats).
        """
        dropped: dict[MeterKind, dict[int, int]] = {kind: {} for kind in LIMITED}
        dropped[SIGHTING] |= policed
        for entry in stats:
            limited = metered(entry.meter_id)
            if limited is not None and entry.band_stats:
                port, kind = limited
                dropped[kind][port] = entry.band_stats[0].packet_band_count
        for kind, watch in self._watches.items():
            yield from watch.observe(dropped[kind])
