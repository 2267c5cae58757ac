"""What a switch has counted at its ports, asked for when somebody wants to know it.

Nobody is asked in vain, and nobody more than once a second.  Open vSwitch does nothing else while
it collects an answer, which takes some time for every port: of a bridge with many they are
asked for in slices, with rests between, so that BPDUs never wait for all of them.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping
from functools import reduce

from ofapp.bridge.bridge import Bridge
from ofapp.common import hub
from ofapp.openflow.switch.pace import Pace
from ofapp.openflow.wire.channel import Channel
from ofapp.openflow.wire.port_stats import PortCount, port_stats_request, read_port_stats
from ofapp.openflow.wire.requests import RequestError, bodies

LOG = logging.getLogger(__name__)

FRESH = 1.0
"""Seconds in which an answer serves whoever asks."""
AT_ONCE = 128
"""Ports whose counters a switch is asked for in one question."""
SLICE = 64
"""The same where there are more."""


class PortCounters:
    """Of one connection.  latest: as of the last answer, by port number; at: when that was."""

    def __init__(self, channel: Channel, bridge: Bridge) -> None:
        self.latest: Mapping[int, PortCount] = {}
        self.at: float | None = None
        self._channel = channel
        self._bridge = bridge
        self._pace = Pace()
        self._idle = hub.Event()
        self._idle.set()

    def ask(self) -> None:
        """Find out how they are, unless that is known; returns at once."""
        fresh = self.at is not None and time.monotonic() - self.at < FRESH
        if self._idle.is_set() and not fresh and not self._channel.dead:
            self._idle.clear()
            hub.spawn(self._ask)

    def wait(self, patience: float) -> None:
        """Until the answer is there; after so many seconds what is known has to do."""
        self._idle.wait(patience)

    def _ask(self) -> None:
        try:
            self.latest = self._with_lags(self._counts())
            self.at = time.monotonic()
        except (RequestError, ValueError) as error:
            LOG.warning("bridge %s: port counters are not known: %s", self._bridge.name, error)
        finally:
            self._idle.set()

    def _counts(self) -> dict[int, PortCount]:
        numbers = [port.number for port in self._bridge.lags.physical(self._bridge.ports)]
        if len(numbers) <= AT_ONCE:
            return self._answer([port_stats_request(self._channel)])
        found: dict[int, PortCount] = {}
        for at in range(0, len(numbers), SLICE):
            some = numbers[at : at + SLICE]
            with self._pace.resting():
                found |= self._answer([port_stats_request(self._channel, one) for one in some])
        return found

    def _with_lags(self, found: dict[int, PortCount]) -> dict[int, PortCount]:
        """And what aggregations have counted, which is what their members have."""
        for lag, members in self._bridge.lags.members().items():
            counts = [found[member] for member in members if member in found]
            if counts:
                found[lag] = reduce(PortCount.plus, counts)
        return found

    def _answer(self, requests: Iterable[object]) -> dict[int, PortCount]:
        found: dict[int, PortCount] = {}
        for body in bodies(self._channel, *requests):
            found |= read_port_stats(body)
        return found


def ask_all(of: Iterable[PortCounters], patience: float) -> None:
    """Ask all of these switches at the same time, and wait so many seconds for them at most."""
    asked = list(of)
    for counters in asked:
        counters.ask()
    end = time.monotonic() + patience
    for counters in asked:
        counters.wait(max(end - time.monotonic(), 0))
