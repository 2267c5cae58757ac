"""A datapath as the controller and the API know it: what forwards for one bridge.

An OpenFlow switch is one (`openflow_datapath`).  Another kind implements `Datapath`, and is made
where connections begin (`connections`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.datapath_status import DatapathStatus, PlannedItem
from ofapp.bridge.effects import Effect
from ofapp.bridge.fdb.rates import Load
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import PortCount


class Connection(Protocol):
    """The connection of one switch.

    id: its datapath id, None before it has introduced itself; address: address of its peer.
    """

    id: Any
    address: Any

    @property
    def counters(self) -> dict[str, int]:
        """Counters of messages, by kind."""

    @property
    def round_trip(self) -> float | None:
        """Seconds until the switch replied to the last echo request; None before the first."""

    @property
    def dead(self) -> bool:
        """Whether the connection has ended, also before the handlers were notified."""

    def close(self) -> None:
        """End the connection."""

    def hang_up(self) -> None:
        """Close at once: what is unsent is discarded, and the switch may connect again."""

    def fail(self, error: Exception) -> None:
        """Close after an error in the code that serves the connection."""


class Changes(Protocol):
    """Changes in a datapath."""

    def __len__(self) -> int: ...

    def counts(self) -> dict[str, int]:
        """Count the flows, groups and meters."""

    def lines(self) -> Iterator[str]:
        """One line for each change, in words."""


class Plan(Protocol):
    """Changes that are planned, and the items of the network that change."""

    @property
    def changes(self) -> Changes: ...

    def items(self) -> Iterator[PlannedItem]: ...


class PortCounters(Protocol):
    """Port counters."""

    @property
    def latest(self) -> Mapping[int, PortCount]:
        """Counters of the last answer, by port number."""

    @property
    def at(self) -> float | None:
        """When that was."""

    def ask(self) -> None:
        """Poll the counters, unless the last answer is fresh; returns at once."""

    def wait(self, patience: float) -> None:
        """Wait for the answer, at most so many seconds."""


class Datapath(Protocol):
    """Datapath that forwards for one bridge, while it is connected.

    port_counters: frames, bytes and errors at its ports.
    packet_ins: frames for the controller, by what for, since this connection began.
    """

    @property
    def channel(self) -> Connection:
        """The connection over which it is managed."""

    @property
    def bridge(self) -> Bridge: ...

    @property
    def port_counters(self) -> PortCounters: ...

    @property
    def packet_ins(self) -> Mapping[str, int]: ...

    @property
    def in_line(self) -> bool:
        """Whether it holds what the bridge wants."""

    def start(self) -> None:
        """Begin, or wait until no other controller is its master; returns at once."""

    def announce_end(self) -> None:
        """Send what partners have to receive before the controller ends."""

    def stop(self) -> None:
        """End: the connection is over."""

    def apply(self, effects: list[Effect]) -> None:
        """Carry effects out, in order; a `Notice` among them is handled."""

    def plan(self, params: BridgeParams) -> Plan:
        """Return the changes by other parameters, without those that protocols would make later."""

    def reconfigure(self, effects: list[Effect]) -> Callable[[], Changes]:
        """Carry a change out; gives a function that waits for it and gives what it changed."""

    def confirm(self, done: Callable[[], None]) -> bool:
        """Call `done` once it has carried out all; False when something waits to be sent."""

    def carried_out(self, patience: float) -> bool:
        """Wait until it has carried out all; False when it does not answer in time (seconds)."""

    def write_mark(self, mark: int | None) -> None:
        """Make this the mark of the snapshot that counts, before any later effect; None: no one."""

    def alive(self, patience: float) -> bool:
        """Whether it answers within `patience` seconds."""

    def status(self) -> DatapathStatus:
        """Its status."""

    def load(self, seconds: float) -> Load | None:
        """Sightings, and how many were learned, since the last call, `seconds` ago; None: none."""

    def report_drops(self, now: float) -> None:
        """Emit events for ports that have more new addresses than it takes."""

    def ask_acl_counters(self) -> None:
        """Poll the counters of access lists; while it is silent they stay as they are."""


def ask_all(of: Iterable[PortCounters], patience: float) -> None:
    """Ask all of these for their counters at the same time, and wait so many seconds at most."""
    asked = list(of)
    for counters in asked:
        counters.ask()
    end = time.monotonic() + patience
    for counters in asked:
        counters.wait(max(end - time.monotonic(), 0))
