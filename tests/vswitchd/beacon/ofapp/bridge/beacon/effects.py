"""What a switch holds of beacons beside what every port has."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClosedPort:
    """A port whose beacons the switch drops, or no longer."""

    port: int
    closed: bool = True
