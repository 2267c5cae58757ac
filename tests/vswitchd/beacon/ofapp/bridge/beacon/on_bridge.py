"""Beacons on a bridge: each port may send so many, and is closed for further ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ofapp.bridge.beacon.effects import ClosedPort
from ofapp.bridge.beacon.events import BEACON_CLOSED
from ofapp.bridge.beacon.params import BeaconParams

from ofapp.bridge.effects import Effect, StateChanged
from ofapp.bridge.event import PortNumber
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import Port
from ofapp.bridge.protocol import Protocol
from ofapp.bridge.state import BridgeState
from ofapp.common.portions import AT_ONCE, Portions


class Beacons(Protocol[BeaconParams]):
    """The beacons of a bridge's ports."""

    name = "beacon"
    hears = ("beacon",)

    def __init__(self, state: BridgeState) -> None:
        super().__init__(state)
        self._heard: Counter[str] = Counter()

    def hear(self, kind: str, frames: Sequence[tuple[int, bytes]], now: float) -> list[Effect]:
        """Count beacons; the switch drops those of a port that has reached its limit."""
        if self.params is None:
            return []
        effects: list[Effect] = [StateChanged(self.name)]
        for number, _ in frames:
            port = self._state.ports.get(number)
            if port is None or self._heard[port.name] >= self.params.limit:
                continue
            self._heard[port.name] += 1
            if self._heard[port.name] == self.params.limit:
                text = PortNumber(number), " is closed for beacons"
                data = {"heard": self.params.limit}
                effects += [BEACON_CLOSED.event(text, number, data), ClosedPort(number)]
        return effects

    def put_ports(self, ports: Sequence[Port], now: float) -> list[Effect]:
        """A port may have been closed before, by its name."""
        numbers = {port.number for port in ports}
        return [each for each in self.desired(self._state.params) if each.port in numbers]

    def remove_ports(self, numbers: Sequence[int], now: float) -> list[Effect]:
        """Remove what the switch holds of ports that are gone."""
        return [ClosedPort(number, closed=False) for number in numbers]

    def desired(self, params: BridgeParams) -> tuple[ClosedPort, ...]:
        """The ports that are closed for beacons."""
        if params.beacon is None:
            return ()
        ports, limit = self._state.ports, params.beacon.limit
        return tuple(ClosedPort(p.number) for p in ports if self._heard[p.name] >= limit)

    def desired_port(self, port: Port, params: BridgeParams) -> bool | None:
        """Whether beacons of the port are counted; None where they are ordinary frames."""
        return None if params.beacon is None else True

    def status(self, now: float) -> Mapping[str, int] | None:
        """Beacons heard, by port name."""
        return None if self.params is None else dict(self._heard)

    def dump(self, portions: Portions = AT_ONCE) -> dict[str, Any] | None:
        """The counts."""
        return dict(self._heard)

    def restore(self, data: Any) -> list[str]:
        """Restore the counts; ValueError for anything else."""
        if not isinstance(data, dict) or not all(type(count) is int for count in data.values()):
            raise ValueError("it has no counts")
        self._heard.update(data)
        return []
