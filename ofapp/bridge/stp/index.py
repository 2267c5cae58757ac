"""Indexes of the ports of a bridge, which save looking at all of them.

A bridge may have thousands of ports, and a hello is due somewhere all the time.  An index has only
candidates: a port's own variables decide whether it fulfils a condition, or is due.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from heapq import heapify, heappop, heappush

from ofapp.bridge.stp.port import PAUSED, TreePort

PORTION = 128
"""Due ports that are handled in one go.

A thousand switches' timers wait meanwhile, and thousands of ports may be due together: those of a
switch whose controller resumes all open at the same instant.  The later ones are late by some
milliseconds, as a timer may be.
"""


class Candidates:
    """Ports that may fulfil a condition; an iteration drops those that do not.

    Code that makes a port fulfil it adds the port; it need not be removed.
    """

    def __init__(self, test: Callable[[TreePort], bool]) -> None:
        self._test = test
        self._ports: dict[int, TreePort] = {}

    def __iter__(self) -> Iterator[TreePort]:
        for number, port in list(self._ports.items()) if self._ports else ():
            if self._test(port):
                yield port
            else:
                del self._ports[number]

    def add(self, port: TreePort) -> None:
        """Add a port that fulfils the condition now, or may."""
        self._ports[port.port_no] = port

    def discard(self, port: TreePort) -> None:
        """Remove a port that is gone."""
        self._ports.pop(port.port_no, None)


class Wakes:
    """The instants at which ports are due (`TreePort.wake`), the earliest first.

    An entry is valid while the port is there and its `wake` is the same.  Stale ones stay until
    they are due, and are swept out when they are many.
    """

    def __init__(self, ports: Mapping[int, TreePort]) -> None:
        self._ports = ports
        self._heap: list[tuple[float, int]] = []

    def soon(self, ports: Iterable[TreePort], now: float) -> None:
        """Make ports due at once: many of them in portions."""
        for port in ports:
            port.wake = now
            self.put(port)

    def put(self, port: TreePort) -> None:
        """Note that the port's `wake` has changed."""
        if port.wake != PAUSED:
            heappush(self._heap, (port.wake, port.port_no))
            if len(self._heap) > 4 * len(self._ports) + 64:
                awake = [port for port in self._ports.values() if port.wake != PAUSED]
                self._heap = [(port.wake, port.port_no) for port in awake]
                heapify(self._heap)

    def next(self) -> float | None:
        """The earliest instant, None without any."""
        heap = self._heap
        while heap and not self._counts(*heap[0]):
            heappop(heap)
        return heap[0][0] if heap else None

    def due(self, now: float) -> list[TreePort]:
        """Take out the ports that are due by `now`, PORTION at most; the others come next."""
        ports: dict[int, TreePort] = {}
        while self._heap and self._heap[0][0] <= now and len(ports) < PORTION:
            when, number = heappop(self._heap)
            if self._counts(when, number):
                ports[number] = self._ports[number]
        return list(ports.values())

    def _counts(self, when: float, number: int) -> bool:
        port = self._ports.get(number)
        return port is not None and port.wake == when
