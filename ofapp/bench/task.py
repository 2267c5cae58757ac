"""Interface of a test: where it applies, its points, and how one point is measured."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

from ofapp.bench.devices import Device
from ofapp.bench.model import Plan
from ofapp.bench.names import Measurement
from ofapp.bench.station import Station

At = dict[str, float]
"""Parameters by name, as in `Sample.at`."""
Outcome = tuple[At, dict[str, float]]
"""Parameters of one sample, and its figures."""


@dataclass(frozen=True, slots=True)
class Context:
    """The plan, and which repetition this is."""

    plan: Plan
    repetition: int


class Task(ABC):
    """One test."""

    test: Measurement
    programs: tuple[str, ...] = ()
    """Programs of other packages that it runs."""
    sized = True
    """Whether it sends frames of a size of the plan's."""
    learning = False
    """Whether it needs a bridge, and a third port to see what is flooded."""
    fills = False
    """Whether it leaves addresses behind, so that each repetition needs a new device."""

    def hosts(self, context: Context) -> int:
        """For how many hosts the device must have room; 0 = as it is shipped."""
        return 0

    def applies(self, device: Device, monitored: bool) -> bool:
        """Whether it can be done with this device at all."""
        return (device.learns and monitored) or not self.learning

    def points(self, context: Context) -> list[At]:
        """The parameters to measure at, one after another with the device up."""
        return [{"size": context.plan.sizes[0]}] if self.sized else [{}]

    @abstractmethod
    def measure(self, context: Context, station: Station, at: At) -> Iterator[Outcome]:
        """The samples of one point."""
