"""The time of port access control, and the times at which ports and hosts act by themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from heapq import heapify, heappop, heappush

from ofapp.bridge.pausable import PausableTime
from ofapp.bridge.port_access.port import ControlledPort, Limit

Key = tuple[int, int]
"""Number of a port, and MAC address of a host; 0 for the port itself."""
POLICIES: Key = (0, 0)
"""The key of the bridge: VLANs of ports are to be applied."""
PORTION, REST = 32, 0.1
"""Hosts that act in one go, and the seconds until the next ones.

A thousand hosts that authenticate again at once keep Open vSwitch busy for half a second, in which
hellos wait: on a real switch they were up to 0.36 s late.
"""
RENEWAL = 0.2
"""Seconds for which changed VLANs of ports are collected: the whole bridge follows them."""
LATELY = 300.0
"""Seconds for which a limit that was exceeded is a problem."""
OBSOLETE = 1024
"""Timers that may be kept for times that do not count any more."""


class Timers:
    """The protocol's time in seconds, and its timers.

    A timer counts while its port, its host or the bridge still has that time.
    seen: the time of the last input.
    renewal: when changed VLANs of ports are applied; None: none have changed.
    """

    def __init__(self, ports: Mapping[int, ControlledPort]) -> None:
        """ports: the controlled ports by number, which others change."""
        self._ports = ports
        self._clock = PausableTime()
        self._wakes: list[tuple[float, Key]] = []
        self._most_wakes = OBSOLETE
        self._rests = 0.0  # until then no host acts
        self._paused: float | None = None  # since then, in the shell's time
        self.seen = 0.0
        self.renewal: float | None = None

    @property
    def runs(self) -> bool:
        """Whether time passes."""
        return self._clock.runs

    def at(self, now: float) -> float:
        """Note an input; returns its time.  now: the shell's time."""
        self.seen = self._clock.at(now)
        return self.seen

    def then(self, now: float) -> float:
        """The time of a query, which is no input."""
        return self._clock.at(now)

    def wake(self, when: float | None, key: Key) -> None:
        """Set a timer; None for none."""
        if when is None:
            return
        heappush(self._wakes, (when, key))
        if len(self._wakes) > self._most_wakes:  # each frame of a flood may have added one
            self._wakes = [*{wake for wake in self._wakes if self._counts(*wake)}]
            heapify(self._wakes)
            self._most_wakes = 2 * len(self._wakes) + OBSOLETE

    def exceed(self, port: ControlledPort, limit: Limit) -> bool:
        """Count that something exceeds a limit of a port; true if that is to be reported."""
        new = limit not in port.limited
        port.count(limit.value)
        port.limited[limit] = self.seen + LATELY
        self.wake(port.limited[limit], (port.port.number, 0))
        return new

    def renew_soon(self) -> None:
        """Set the time at which what hosts bring is applied, with others until then."""
        if self.renewal is None:
            self.renewal = self.seen + RENEWAL

    def take(self, at: float) -> Iterator[tuple[float, Key]]:
        """Take the timers that are due, those of ports and hosts in portions."""
        if self.renewal is not None and self.renewal <= at:
            yield self.renewal, POLICIES
        if at < self._rests:
            return
        for _ in range(PORTION):
            if not self._wakes or self._wakes[0][0] > at:
                return
            yield heappop(self._wakes)
        self._rests = at + REST

    def next_wakeup(self) -> float | None:
        """The shell's time of the next timer; None while paused or without one."""
        while self._wakes and not self._counts(*self._wakes[0]):
            heappop(self._wakes)
        hosts = max(self._wakes[0][0], self._rests) if self._wakes else None
        times = [each for each in (hosts, self.renewal) if each is not None]
        return self._clock.due(min(times, default=None))

    def _counts(self, when: float, key: Key) -> bool:
        port = self._ports.get(key[0])
        if port is None:
            return False
        if not key[1]:
            return when in (port.due, *port.limited.values())
        session = port.sessions.get(key[1])
        return session is not None and when in (session.acts, session.interim)

    def beat(self, now: float) -> None:
        """Note that the controller runs (`PausableTime.beat`)."""
        self._clock.beat(now)
        self.at(now)

    def pause(self, now: float) -> None:
        """Pause the time."""
        if self._paused is None:
            self._paused = now
        self._clock.pause(now)

    def resume(self, now: float) -> float:
        """Let time pass again; returns the seconds of the pause."""
        since, self._paused = self._paused, None
        self._clock.resume(now)
        return 0.0 if since is None else now - since

    def restart(self) -> None:
        """Begin at 0, paused."""
        self._clock, self.seen, self._rests = PausableTime(paused=0.0), 0.0, 0.0
