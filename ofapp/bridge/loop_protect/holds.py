"""The ports that loop protection holds, and for how long.

A held port goes on sending.  Its time runs from the last frame that came back, so it never opens
into a loop that is still there, and each further hold lasts twice as long.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

LONGEST = 86_400.0
"""Most seconds of a hold."""


@dataclass(frozen=True, slots=True)
class Held:
    """A port that is held, or was lately.

    name: the port's.  other: the port at the other end of the loop, by number; the same port for a
    loop behind it.  vid: the VLAN, 0 for none.  times: how often the port was held in a row.
    seconds: how long it stays held without a returned frame.  until: when that ends; None: open.
    freed: when it opened.
    """

    name: str
    other: int
    vid: int
    times: int
    seconds: float
    until: float | None
    freed: float = 0.0


class LatestHolds:
    """When each bridge of this controller last began a hold, in the controller's time."""

    def __init__(self) -> None:
        self._begun: dict[int, float] = {}

    def note(self, datapath_id: int, now: float) -> None:
        """Note that a bridge begins a hold."""
        self._begun[datapath_id] = now

    def others(self, datapath_id: int) -> float | None:
        """When another bridge last began a hold; None: none has."""
        begun = (now for each, now in self._begun.items() if each != datapath_id)
        return max(begun, default=None)


class Holds:
    """Held ports by number, and those that opened lately; times are the protocol's."""

    def __init__(self) -> None:
        self._known: dict[int, Held] = {}

    def get(self, port: int) -> Held | None:
        """The hold of a port that is held."""
        known = self._known.get(port)
        return known if known is not None and known.until is not None else None

    def __iter__(self) -> Iterator[tuple[int, Held]]:
        return ((port, held) for port, held in [*self._known.items()] if held.until is not None)

    def begin(
        self, port: int, loop: tuple[str, int, int], seconds: tuple[float, float], now: float
    ) -> Held:
        """Hold a port.  loop: its name, the other port, the VLAN; seconds: the first time and the
        longest time of a hold."""
        first, longest = seconds
        known, times, length = self._known.get(port), 1, first
        if known is not None and known.name == loop[0] and now - known.freed < longest:
            times, length = known.times + 1, known.seconds * 2
        length = min(length, longest)
        held = self._known[port] = Held(*loop, times, length, now + length)
        return held

    def extend(self, port: int, now: float) -> None:
        """Start the time of a held port again: its loop is still there."""
        held = self._known[port]
        self._known[port] = replace(held, until=now + held.seconds)

    def end(self, port: int, now: float) -> None:
        """Note that a held port opens."""
        self._known[port] = replace(self._known[port], until=None, freed=now)

    def forget(self, port: int) -> None:
        """Forget a port."""
        self._known.pop(port, None)

    def dump(self) -> list[dict[str, Any]]:
        """The held ports as JSON-serialisable data."""
        return [
            {
                **{"port": port, "name": held.name, "other": held.other, "vlan": held.vid},
                **{"times": held.times, "seconds": held.seconds},
            }
            for port, held in self
        ]

    def restore(self, data: Any, now: float) -> None:
        """Restore a dump; the time of each hold starts again.  Raises ValueError."""
        try:
            for one in data:
                about = str(one["name"]), int(one["other"]), int(one["vlan"]), int(one["times"])
                seconds = min(max(float(one["seconds"]), 1.0), LONGEST)
                self._known[int(one["port"])] = Held(*about, seconds, now + seconds)
        except (KeyError, TypeError, AttributeError, OverflowError) as error:
            raise ValueError(f"not the ports that are held: {error!r}") from error
