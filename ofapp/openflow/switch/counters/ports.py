"""A switch's port counters (OpenFlow 1.3.5, 7.3.5.6), polled when a client asks for them.

A switch is polled only then, and at most once a second.  Open vSwitch does nothing else while
it collects an answer, which takes some time for every port: on a bridge with many they are
polled in slices, with rests between, so that BPDUs never wait for all of them.  With 500 ports
that takes some seconds, for which a client is not kept waiting when the last answer is recent.
"""

import logging
import struct
import time
from collections.abc import Iterable, Mapping
from functools import reduce

from ofapp.bridge.ports.port import PortCount
from ofapp.common import hub
from ofapp.openflow.switch.counters.pace import Pace
from ofapp.openflow.switch.switch_bridge import SwitchBridge
from ofapp.openflow.wire.channel import Channel
from ofapp.openflow.wire.requests import RequestError, bodies
from ofapp.osken import ofp, parser

LOG = logging.getLogger(__name__)

FRESH = 1.0
"""Seconds in which an answer serves all clients."""
AT_ONCE = 128
"""Ports whose counters a switch is asked for at once."""
SLICE = 64
"""The same where there are more."""
RECENT = 15.0
"""Seconds for which an answer serves those who need not wait for a newer one."""
SOON = 0.3
"""Seconds that they wait for a newer one all the same."""

_STATS = struct.Struct("!I4x8Q32x8x")
_UNKNOWN = (1 << 64) - 1


class PortCounters:
    """Port counters of one connection.

    latest: as of the last answer, by port number; at: when that was.
    """

    def __init__(self, channel: Channel, bridge: SwitchBridge) -> None:
        self.latest: Mapping[int, PortCount] = {}
        self.at: float | None = None
        self._channel = channel
        self._bridge = bridge
        self._pace = Pace()
        self._idle = hub.Event()
        self._idle.set()

    def ask(self) -> None:
        """Poll the counters, unless the last answer is fresh; returns at once."""
        fresh = self.at is not None and time.monotonic() - self.at < FRESH
        if self._idle.is_set() and not fresh and not self._channel.dead:
            self._idle.clear()
            hub.spawn(self._ask)

    def wait(self, patience: float) -> None:
        """Wait for the answer, at most so many seconds; then the last answer serves.

        A recent answer serves sooner.
        """
        recent = self.at is not None and time.monotonic() - self.at < RECENT
        self._idle.wait(min(patience, SOON) if recent else patience)

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
            return self._answer([ofp.OFPP_ANY])
        counts: dict[int, PortCount] = {}
        for at in range(0, len(numbers), SLICE):
            some = numbers[at : at + SLICE]
            with self._pace.resting():
                counts |= self._answer(some)
        return counts

    def _with_lags(self, by_port: dict[int, PortCount]) -> dict[int, PortCount]:
        """Add the counters of aggregations, which are the sums of their members'."""
        for lag, members in self._bridge.lags.members().items():
            counts = [by_port[member] for member in members if member in by_port]
            if counts:
                by_port[lag] = reduce(PortCount.plus, counts)
        return by_port

    def _answer(self, ports: Iterable[int]) -> dict[int, PortCount]:
        requests = [parser.OFPPortStatsRequest(self._channel, 0, port) for port in ports]
        counts: dict[int, PortCount] = {}
        for body in bodies(self._channel, *requests):
            counts |= read_port_stats(body)
        return counts


def read_port_stats(data: bytes) -> dict[int, PortCount]:
    """Counters by port number; ValueError when the last are cut short."""
    if len(data) % _STATS.size:
        raise ValueError(f"{len(data)} octets of port counters of {_STATS.size} each")
    by_port = {}
    for number, *counts in _STATS.iter_unpack(data):
        known = (None if count == _UNKNOWN else count for count in counts)
        by_port[number] = PortCount(*known)
    return by_port
