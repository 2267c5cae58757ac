"""Known bridges, with switches that are connected or away.

A `Bridge` outlives its switch's connection, so that its state survives when the switch is away for
a minute; a `Datapath` is there while it is connected.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.event import Event
from ofapp.controller.bridges.away import Away
from ofapp.controller.bridges.datapath import Datapath
from ofapp.controller.bridges.events import BRIDGE_NAME_GIVEN_UP


class Registry:
    """Bridges, and sessions (their connected datapaths), by datapath id."""

    def __init__(self) -> None:
        self.bridges: dict[int, Bridge] = {}
        self.sessions: dict[int, Datapath] = {}
        self.away = Away()

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

    def session(self, bridge: Bridge) -> Datapath | None:
        """The bridge's connection; None while its switch is away."""
        return self.sessions.get(bridge.datapath_id)

    def settle_names(self) -> Iterator[tuple[Bridge, Event]]:
        """Release the names of absent bridges that connected ones use; gives the events.

        Until their switches are back they are named by their datapath ids.
        """
        absent = [self.bridges[known] for known in self.away]
        if not absent:  # a thousand switches that connect at once: no search for each
            return
        there = {bridge.name for known, bridge in self.bridges.items() if known not in self.away}
        for bridge in absent:
            name = bridge.name
            if name in there:
                bridge.former_name = name
                what = f"is away, and another bridge is called {name} now"
                yield bridge, BRIDGE_NAME_GIVEN_UP.event(what)
