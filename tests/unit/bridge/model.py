"""A switch reduced to what the bridge's effects are about: dictionaries instead of flow tables."""

from __future__ import annotations

from collections.abc import Iterable

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import (
    ClosePort,
    Effect,
    Flush,
    HoldDown,
    InstallDestination,
    InstallEntry,
    InstallSticky,
    LetGo,
    PutStatic,
    RemoveDestination,
    RemoveSource,
    RemoveStatic,
    SetFlood,
    SetGate,
)
from ofapp.bridge.event import Event
from ofapp.bridge.stp import PortState, SetPortState
from ofapp.openflow.switch.audit.sweep import HeldHalf, Occasion, Sweep


class ModelSwitch:
    """sources: (port, vid, mac) -> serial; destinations: (vid, mac) -> (port, serial).

    sticky: (vid, mac); gates: closed, (port, None) or (None, vid); held: (vid, mac).
    """

    def __init__(self) -> None:
        self.sources: dict[tuple[int, int, int], int] = {}
        self.destinations: dict[tuple[int, int], tuple[int, int]] = {}
        self.sticky: set[tuple[int, int]] = set()
        self.gates: set[tuple[int | None, int | None]] = set()
        self.held: set[tuple[int, int]] = set()
        self.pins: dict[tuple[int, int | None], int | None] = {}
        self.open: set[int] = set()
        self.flood: frozenset[int] = frozenset()
        self.events: list[Event] = []

    def apply(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            match effect:
                case InstallEntry(port, vid, mac, serial, old_port) | InstallSticky(
                    port, vid, mac, serial, old_port
                ):
                    if isinstance(effect, InstallSticky):
                        self.sticky.add((vid, mac))
                    else:
                        self.sticky.discard((vid, mac))
                    self.destinations[vid, mac] = port, serial
                    self.sources[port, vid, mac] = serial
                    if old_port:
                        self.sources.pop((old_port, vid, mac), None)
                case InstallDestination(port, vid, mac, serial):
                    self.destinations[vid, mac] = port, serial
                case RemoveSource(port, vid, mac, serial):
                    if self.sources.get((port, vid, mac)) == serial:
                        del self.sources[port, vid, mac]
                case RemoveDestination(vid, mac, serial):
                    if self.destinations.get((vid, mac), (0, None))[1] == serial:
                        del self.destinations[vid, mac]
                case PutStatic(mac, vid, port):
                    self.pins[mac, vid] = port
                    if vid is not None and port is not None:
                        self.destinations.pop((vid, mac), None)  # the same flow, overwritten
                case RemoveStatic(mac, vid):
                    self.pins.pop((mac, vid), None)
                case SetPortState(port, PortState.FORWARDING):
                    self.open.add(port)
                case SetPortState(port):
                    self.open.discard(port)
                case ClosePort(port):
                    self.open.discard(port)
                case SetFlood(ports):
                    self.flood = ports
                case Flush():
                    self._flush(effect)
                case SetGate(gate_port, gate_vid, True):
                    self.gates.add((gate_port, gate_vid))
                case SetGate(gate_port, gate_vid):
                    self.gates.discard((gate_port, gate_vid))
                case HoldDown(vid, mac):
                    self.held.add((vid, mac))
                case LetGo(vid, mac):
                    self.held.discard((vid, mac))
                case Event():
                    self.events.append(effect)

    def _flush(self, flush: Flush) -> None:
        def stays(port: int, vid: int, mac: int) -> bool:
            spared = (vid, mac) in self.sticky and not flush.sticky
            return spared or flush.port not in (None, port) or flush.vid not in (None, vid)

        self.sources = {
            (port, vid, mac): serial
            for (port, vid, mac), serial in self.sources.items()
            if stays(port, vid, mac)
        }
        self.destinations = {
            (vid, mac): (port, serial)
            for (vid, mac), (port, serial) in self.destinations.items()
            if stays(port, vid, mac)
        }

    def bring_in_line(self, bridge: Bridge, number: int, occasion: Occasion, now: float) -> None:
        """What a session does: the fixed part by comparison, the learned part by a sweep."""
        self.open = set(frozenset(bridge.relay.states))
        self.flood = bridge.relay.flood_ports
        self.pins = {(pin.mac, pin.vid): pin.port for pin in bridge.static_entries}
        self.held = set(bridge.learning.move_guard.held)
        limits = bridge.learning.limits
        closed = [
            limit for limit in (*limits.ports.values(), *limits.vlans.values()) if limit.closed
        ]
        self.gates = {(limit.port, limit.vid) for limit in closed}
        sweep = Sweep(bridge, number, occasion, now)
        for (port, vid, mac), serial in list(self.sources.items()):
            sticky = (vid, mac) in self.sticky
            self.apply(sweep.source(HeldHalf(port, vid, mac, serial, 0, sticky), now))
        for (vid, mac), (port, serial) in list(self.destinations.items()):
            sticky = (vid, mac) in self.sticky
            self.apply(sweep.destination(HeldHalf(port, vid, mac, serial, 0, sticky), now))
        self.apply(sweep.finish(now))
