"""A day of each port's traffic: a sample a minute, in memory.

A port takes 6 kB, and 12 kB once it has had errors or drops: 100 switches with 48 ports take 28 to
55 MB.  A rate is stored in 16 bits by its logarithm, within 0.05 %.  A restart forgets all.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from heapq import nlargest
from math import log2
from typing import NamedTuple

from ofapp.bridge.ports.port import PortCount
from ofapp.common import hub
from ofapp.controller.bridges.datapath import Datapath

INTERVAL = 60
"""Seconds between two samples."""
KEPT = 24 * 60
"""Samples of a port that are kept."""
HOUR = 60
"""Samples of an hour."""
PACE = 0.05
"""Seconds between requests to two switches."""
PATIENCE = 5.0
"""Seconds that switches have for their answers."""
STEPS = 1500
"""Stored steps for a doubling of a value."""
UNKNOWN = 0


class Load(NamedTuple):
    """Mean traffic of a port, in bytes a second."""

    datapath_id: int
    port: int
    rx: float
    tx: float


class Samples(NamedTuple):
    """Values of successive minutes, the first of which begins at `start` (seconds since the epoch).

    rx_bytes, tx_bytes: bytes a second; errors, drops: frames in the minute.
    None stands for a minute without a sample.
    """

    start: int
    rx_bytes: list[float | None]
    tx_bytes: list[float | None]
    errors: list[float | None]
    drops: list[float | None]


class History:
    """Samples of all ports of connected datapaths, by datapath id."""

    def __init__(
        self, datapaths: Mapping[int, Datapath], clock: Callable[[], float] = time.time
    ) -> None:
        self._datapaths = datapaths
        self._clock = clock
        self._last: dict[int, tuple[float, Mapping[int, PortCount]]] = {}
        self._ports: dict[int, dict[int, _Series]] = {}
        self._samples = 0
        self._busiest: tuple[tuple[int, int, int], list[Load]] | None = None

    def run(self) -> None:
        """Take samples until the process ends; does not return."""
        while True:
            self.sample()
            hub.sleep(INTERVAL - self._clock() % INTERVAL)

    def sample(self) -> None:
        """Ask all switches for their counters, and keep what has changed since the last time."""
        for datapath in [*self._datapaths.values()]:
            datapath.port_counters.ask()
            hub.sleep(PACE)
        end = time.monotonic() + PATIENCE
        minute = round(self._clock() / INTERVAL) - 1  # the one that has just ended
        for datapath_id, datapath in [*self._datapaths.items()]:
            counters = datapath.port_counters
            counters.wait(max(end - time.monotonic(), 0))
            if counters.at is not None:
                self.take(datapath_id, counters.at, dict(counters.latest), minute)
            hub.sleep(0)
        self._forget(minute)

    def take(
        self, datapath_id: int, at: float, counts: Mapping[int, PortCount], minute: int
    ) -> None:
        before, known = self._last.get(datapath_id, (at, {}))
        self._last[datapath_id] = at, counts
        if at <= before:
            return
        self._samples += 1
        ports = self._ports.setdefault(datapath_id, {})
        for port, count in counts.items():
            if port in known:
                series = ports.setdefault(port, _Series(minute))
                series.put(minute, known[port], count, at - before)

    def _forget(self, minute: int) -> None:
        """Drop ports and switches without a sample in a day."""
        for datapath_id, ports in [*self._ports.items()]:
            for port in [port for port, own in ports.items() if own.newest <= minute - KEPT]:
                del ports[port]
            if not ports and datapath_id not in self._datapaths:
                del self._ports[datapath_id]
                self._last.pop(datapath_id, None)

    def of(self, datapath_id: int, port: int) -> Samples | None:
        """Samples of a port; None before the first one."""
        series = self._ports.get(datapath_id, {}).get(port)
        return None if series is None else series.samples()

    def busiest(self, most: int) -> list[Load]:
        """The ports with most traffic in the last hour, the busiest first.

        They are computed once for each sample, which takes 50 ms with 100 switches of 48 ports.
        """
        since = round(self._clock() / INTERVAL) - HOUR
        asked = (most, since, self._samples)
        if self._busiest is None or self._busiest[0] != asked:
            loads = self._loads(since)
            found = nlargest(most, loads, key=lambda load: max(load.rx, load.tx))
            self._busiest = asked, found
        return self._busiest[1]

    def _loads(self, since: int) -> Iterator[Load]:
        for datapath_id, ports in [*self._ports.items()]:
            for port, series in [*ports.items()]:
                if (means := series.means(since)) is not None:
                    yield Load(datapath_id, port, *means)
            hub.sleep(0)


class _Series:
    """A ring of samples of one port.  newest, first: numbers of minutes since the epoch."""

    def __init__(self, minute: int) -> None:
        self.newest = self.first = minute
        self._rx, self._tx = _ring(), _ring()
        self._faults: tuple[array[int], array[int]] | None = None

    def put(self, minute: int, old: PortCount, new: PortCount, seconds: float) -> None:
        """Take the difference of two readings as the sample of a minute."""
        rings = [self._rx, self._tx, *(self._faults or ())]
        for skipped in range(max(self.newest + 1, minute - KEPT + 1), minute + 1):
            for ring in rings:
                ring[skipped % KEPT] = UNKNOWN
        self.newest = max(minute, self.newest)
        at = self.newest % KEPT
        self._rx[at] = _encode(_more(old.rx_bytes, new.rx_bytes), seconds)
        self._tx[at] = _encode(_more(old.tx_bytes, new.tx_bytes), seconds)
        errors = _sum(_more(old.rx_errors, new.rx_errors), _more(old.tx_errors, new.tx_errors))
        drops = _sum(_more(old.rx_dropped, new.rx_dropped), _more(old.tx_dropped, new.tx_dropped))
        if self._faults is None and (errors or drops):
            self._faults = _ring(), _ring()
            for minute in self._minutes():
                if self._rx[minute % KEPT] != UNKNOWN:
                    self._faults[0][minute % KEPT] = self._faults[1][minute % KEPT] = 1
        if self._faults is not None:
            self._faults[0][at] = _encode(errors, 1.0)
            self._faults[1][at] = _encode(drops, 1.0)

    def samples(self) -> Samples:
        """All samples, the oldest first."""
        minutes, values = self._minutes(), _values()
        rx, tx = ([values[ring[m % KEPT]] for m in minutes] for ring in (self._rx, self._tx))
        if self._faults is None:
            none = [None if value is None else 0.0 for value in rx]
            return Samples(minutes[0] * INTERVAL, rx, tx, none, none)
        errors, drops = ([values[ring[m % KEPT]] for m in minutes] for ring in self._faults)
        return Samples(minutes[0] * INTERVAL, rx, tx, errors, drops)

    def means(self, since: int) -> tuple[float, float] | None:
        """Mean rates from a minute on, in bytes a second; None without a sample."""
        minutes = range(max(since, self.first, self.newest - KEPT + 1), self.newest + 1)
        values = _values()
        known = [
            [value for m in minutes if (value := values[ring[m % KEPT]]) is not None]
            for ring in (self._rx, self._tx)
        ]
        if not any(known):
            return None
        rx, tx = (sum(rates) / len(rates) if rates else 0.0 for rates in known)
        return rx, tx

    def _minutes(self) -> range:
        return range(max(self.first, self.newest - KEPT + 1), self.newest + 1)


def _ring() -> array[int]:
    return array("H", bytes(2 * KEPT))


def _more(old: int | None, new: int | None) -> int | None:
    """Growth of a counter; None where it is not counted, or was reset."""
    return None if old is None or new is None or new < old else new - old


def _sum(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else one + other


def _encode(value: int | None, seconds: float) -> int:
    """A rate as its logarithm, 1 for zero."""
    return UNKNOWN if value is None else min(0xFFFF, 1 + round(log2(1 + value / seconds) * STEPS))


@cache
def _values() -> Sequence[float | None]:
    """The value of each stored number.  It takes 20 ms, so it is computed when it is asked for."""
    return [None, *(2 ** (step / STEPS) - 1 for step in range(0xFFFF))]
