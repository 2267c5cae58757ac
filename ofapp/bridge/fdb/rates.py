"""Rates at which each port may send frames of unknown sources to the controller.

`BridgeParams.packet_in_rate` is guaranteed to every port.  A port that uses it up and reports new
hosts gets four times as much, and again, as long as neither its switch nor the controller is
overloaded: an uplink with 100,000 hosts is learned in seconds after a topology change, and not in
minutes.  Under overload the work done is shared: each switch gets as much as any other, and so does
each port of a switch, but none more than it uses (max-min fairness), and none less than its
guaranteed rate.  A port without new hosts falls back, for instance where a host invents addresses
and there is no more room for them, as does one that has become quiet.

The capacity of a switch is the most that it has done lately.  ovs-vswitchd that learns some
thousand hosts a second does next to nothing for 200 ms now and then, mostly when it deletes cached
flows by the ten thousand. With the work of such an interval as capacity an uplink stayed at a tenth
of what its switch could take for ten seconds [measured].

Rates change seldom, as each change of one is a message to the switch and a new burst for the port.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

K = TypeVar("K")

USED = 0.8
"""The share of its rate that a port must use to get more."""
NEWS = 1 / 8
"""The share of its sightings that must be new hosts for a port to get more."""
KEPT = 0.8
"""The share of the capacity that is given out under overload."""
LATELY = 2.0
"""Seconds for which the work of a switch counts as its capacity."""
FEW = 500
"""Sightings that may wait before the switch is considered too slow: a portion or two."""
FASTEST = 1_000_000
HOLD = 1.0
"""Seconds without an increase after a decrease."""
CAREFUL = 10.0
"""Seconds after a decrease in which rates grow by half each second, not fourfold at each look."""
QUIET = 10.0
"""Seconds after which a port that did not use its rate falls back."""
STALE = 1.0
"""Seconds after which a port that reports no new hosts falls back."""


@dataclass(frozen=True, slots=True)
class Load:
    """The result of a switch's sightings in the last `seconds`.

    seen: sightings by port; learned: new addresses by port; waiting: how many sightings wait for
    the switch.
    """

    seconds: float
    seen: Mapping[int, int]
    learned: Mapping[int, int]
    waiting: int

    @property
    def done(self) -> float:
        """New addresses a second."""
        return sum(self.learned.values()) / self.seconds


def shares(demands: Mapping[K, float], capacity: float) -> dict[K, float]:
    """Shares of a capacity: equal ones, but none greater than its demand."""
    given: dict[K, float] = {}
    for number, (key, demand) in enumerate(sorted(demands.items(), key=lambda item: item[1])):
        given[key] = min(demand, capacity / (len(demands) - number))
        capacity -= given[key]
    return given


class Rates:
    """Rates of one bridge's ports; times in seconds, monotonic.

    raised: the rates of ports that have more than the guaranteed one.
    """

    def __init__(self) -> None:
        self.raised: dict[int, int] = {}
        self._news: dict[int, float] = {}  # when a raised port last made use of that
        self._lowered = -CAREFUL
        self._raised_at = 0.0
        self._done: list[tuple[float, float]] = []  # when, and new addresses a second
        self._crowded = False  # at the last look more waited than the switch takes till the next

    def of(self, port: int, sure: int) -> int:
        """A port's rate; `sure`: the guaranteed one."""
        return max(self.raised.get(port, 0), sure)

    def observe(self, load: Load, sure: int, capacity: float | None, now: float) -> list[int]:
        """Adapt the rates to a load; gives the ports whose rate has changed.

        capacity: sightings a second that the controller can take from this switch, None while it is
        not overloaded.
        """
        before = dict(self.raised)
        if (most := self._most(load, now)) is not None:
            capacity = most if capacity is None else min(capacity, most)
        self._fall_back(load, sure, now)
        if capacity is not None:
            self._share_out(load, capacity, sure, now)
        elif not self._crowded and now - self._lowered >= HOLD:
            self._raise(load, sure, now)
        ports = before.keys() | self.raised.keys()
        return sorted(port for port in ports if before.get(port) != self.raised.get(port))

    def _most(self, load: Load, now: float) -> float | None:
        """Sightings a second that the switch should get; None while it takes all.

        A queue at a single look is caused by a pause, and not by a slow switch.
        """
        self._done = [(at, done) for at, done in self._done if now - at < LATELY]
        self._done.append((now, load.done))
        can = max(done for _, done in self._done)
        lasting, self._crowded = self._crowded, load.waiting > max(can * load.seconds, FEW)
        return can * KEPT if lasting and self._crowded else None

    def _fall_back(self, load: Load, sure: int, now: float) -> None:
        for port in list(self.raised):
            needs = load.seen.get(port, 0) >= USED * sure * load.seconds
            if needs and _has_new_hosts(load, port):
                self._news[port] = now
            elif now - self._news.setdefault(port, now) > (STALE if needs else QUIET):
                self._set(port, 0, sure)

    def _share_out(self, load: Load, capacity: float, sure: int, now: float) -> None:
        self._lowered = now
        demands = {port: count / load.seconds for port, count in load.seen.items()}
        for port, share in shares(demands, capacity).items():
            if share < KEPT * self.raised.get(port, 0):
                self._set(port, int(share), sure)

    def _raise(self, load: Load, sure: int, now: float) -> None:
        careful = now - self._lowered < CAREFUL
        if careful and now - self._raised_at < 1.0:
            return
        factor = 1.5 if careful else 4.0
        for port, count in load.seen.items():
            rate = self.of(port, sure)
            if count >= USED * rate * load.seconds and _has_new_hosts(load, port):
                self._set(port, int(rate * factor) + 1, sure)
                self._raised_at = now

    def _set(self, port: int, rate: int, sure: int) -> None:
        if rate > sure and sure < FASTEST:
            self.raised[port] = min(rate, FASTEST)
        else:
            self.raised.pop(port, None)
            self._news.pop(port, None)


def _has_new_hosts(load: Load, port: int) -> bool:
    return load.learned.get(port, 0) >= load.seen.get(port, 0) * NEWS > 0


def share_controller(loads: Mapping[K, Load], lags: bool) -> Mapping[K, float | None]:
    """The controller's capacity for each switch; None while it is not overloaded."""
    if not lags:
        return dict.fromkeys(loads)
    demands = {key: sum(load.seen.values()) / load.seconds for key, load in loads.items()}
    return dict(shares(demands, KEPT * sum(load.done for load in loads.values())))
