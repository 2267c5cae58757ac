"""Devices under test: each is set up by name, waited for, and removed.

A device says how it is to be measured (`Device`), and what is known of it once it is up (`Up`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from ofapp.bench import BenchError
from ofapp.bench.bed import Bed


@dataclass(frozen=True, slots=True)
class Up:
    """A device that is up.

    programs: process ids whose time is the device's; spinning: cores that its threads never leave,
    where the generator must not be; gateway: the address that frames go to when it is a router;
    space: the namespace of its ports.
    """

    programs: tuple[int, ...] = ()
    spinning: frozenset[int] = frozenset()
    gateway: bytes | None = None
    space: str | None = None


@dataclass(frozen=True, slots=True)
class Cycles:
    """Processor cycles that a device has spent on frames so far, by its own count."""

    spent: int
    frames: int


class Device(ABC):
    """Device under test, between the two ends of the test bed."""

    label: str
    """Unique in a run; `ofapp netdev`, say."""
    learns = True
    """Whether it is a bridge: has a table of addresses, and floods."""
    largest = 1 << 16
    """The largest frame that it can carry."""

    @abstractmethod
    def up(self, bed: Bed, hosts: int) -> AbstractContextManager[Up]:
        """Set it up with room for so many hosts; 0 = as it is shipped."""

    @contextmanager
    def without_controller(self, bed: Bed) -> Iterator[None]:
        """Let it forward without its controller meanwhile; BenchError if it has none."""
        raise BenchError(f"{self.label} has no controller")
        yield

    def cycles(self) -> Cycles | None:
        """Return the device's own count of cycles, if it has one."""
        return None
