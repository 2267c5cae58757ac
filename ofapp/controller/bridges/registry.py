"""Known bridges, with switches that are connected or disconnected.

A `Bridge` outlives its switch's connection, so that its state survives when the switch is
disconnected for a minute; a `Datapath` is there while it is connected.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.event import Event
from ofapp.controller.bridges.datapath import Datapath
from ofapp.controller.bridges.events import BRIDGE_NAME_GIVEN_UP


class Disconnected:
    """Disconnected switches by datapath id, the first one first; times are monotonic.

    A deleted switch looks like a disconnected one: so its bridge is forgotten after a time, or on
    request.
    """

    def __init__(self) -> None:
        self._since: dict[int, float] = {}

    def __contains__(self, datapath_id: int) -> bool:
        return datapath_id in self._since

    def __iter__(self) -> Iterator[int]:
        return iter(self._since)

    def left(self, datapath_id: int, now: float) -> None:
        """Note that the switch has disconnected."""
        self._since.pop(datapath_id, None)
        self._since[datapath_id] = now

    def back(self, datapath_id: int) -> None:
        """Note that the switch is connected again, or that its bridge is forgotten."""
        self._since.pop(datapath_id, None)

    def seconds(self, datapath_id: int, now: float) -> float | None:
        """Seconds since the switch disconnected; None when it is connected."""
        since = self._since.get(datapath_id)
        return None if since is None else now - since

    def longest(self) -> int | None:
        """The switch that has been disconnected the longest; None when none is."""
        return next(iter(self._since), None)

    def overdue(self, patience: float, now: float) -> list[int]:
        """Switches that have been disconnected for `patience` seconds or more."""
        return [known for known, since in self._since.items() if now - since >= patience]


class Registry:
    """Bridges, and the datapaths of connected switches, by datapath id."""

    def __init__(self) -> None:
        self.bridges: dict[int, Bridge] = {}
        self.datapaths: dict[int, Datapath] = {}
        self.disconnected = Disconnected()

    def find(self, name: str) -> Bridge | None:
        """A bridge by its datapath id (16 hex digits) or its name; None when there is none."""
        for datapath_id, bridge in self.bridges.items():
            if name in (f"{datapath_id:016x}", bridge.name):
                return bridge
        return None

    def numbers(self, datapath_id: int) -> Mapping[str, int]:
        """The numbers of a bridge's ports, by name; none while the bridge is not known."""
        bridge = self.bridges.get(datapath_id)
        return {} if bridge is None else bridge.ports.numbers

    def datapath(self, bridge: Bridge) -> Datapath | None:
        """The bridge's connection; None while its switch is disconnected."""
        return self.datapaths.get(bridge.datapath_id)

    def settle_names(self) -> Iterator[tuple[Bridge, Event]]:
        """Release the names of absent bridges that connected ones use; gives the events.

        Until their switches are back they are named by their datapath ids.
        """
        absent = [self.bridges[known] for known in self.disconnected]
        if not absent:  # a thousand switches that connect at once: no search for each
            return
        used = {
            bridge.name for known, bridge in self.bridges.items() if known not in self.disconnected
        }
        for bridge in absent:
            name = bridge.name
            if name in used:
                bridge.former_name = name
                what = f"is disconnected, and another bridge is called {name} now"
                yield bridge, BRIDGE_NAME_GIVEN_UP.event(what)
