"""Frames with the bridge's own address as the source: a loop, or a host with the same address."""

from collections import Counter
from collections.abc import Iterable

from ofapp.bridge.effects import Effect
from ofapp.bridge.event import PortNumber
from ofapp.bridge.fdb.events import FDB_OWN_ADDRESS
from ofapp.bridge.mac import format_mac
from ofapp.bridge.packet.ethernet import frame_vid

INTERVAL = 60.0
"""Least seconds between two events about one port."""
LASTING, QUIET = 1.0, 10.0
"""Seconds for which such frames must arrive until a loop is suspected, and the same without any
until it is not suspected any more."""


class OwnAddress:
    """The copies of such frames that the switch has sent, of which it sends a few a second.

    counters: gets `own_address`, the number of copies.
    """

    def __init__(self, counters: Counter[str]) -> None:
        self._counters = counters
        self._reported: dict[int, float] = {}  # when, by port
        self._unreported: Counter[int] = Counter()
        self._spells: dict[int, tuple[float, float]] = {}  # first and last frame, by port

    def suspected(self, now: float) -> list[int]:
        """Ports on which such frames keep arriving."""
        return [
            port
            for port, (first, last) in self._spells.items()
            if last - first >= LASTING and now - last < QUIET
        ]

    def hear(self, frames: Iterable[tuple[int, bytes]], now: float) -> list[Effect]:
        """Count frames, each with its port; gives events."""
        effects: list[Effect] = []
        for port, frame in frames:
            self._counters["own_address"] += 1
            self._unreported[port] += 1
            first, last = self._spells.get(port, (now, now))
            self._spells[port] = first if now - last < QUIET else now, now
            if now < self._reported.get(port, -INTERVAL) + INTERVAL:
                continue
            self._reported[port] = now
            mac = format_mac(int.from_bytes(frame[6:12], "big"))
            data = {"mac": mac, "vlan": frame_vid(frame), "frames": self._unreported.pop(port)}
            text = f" has received a frame with the bridge's own address {mac} as its source"
            effects.append(FDB_OWN_ADDRESS.event((PortNumber(port), text), port, data))
        return effects

    def forget(self, ports: Iterable[int]) -> None:
        """Forget ports that are gone."""
        for port in ports:
            self._reported.pop(port, None)
            self._unreported.pop(port, None)
            self._spells.pop(port, None)
