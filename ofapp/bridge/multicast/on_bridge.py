"""Multicast snooping on a bridge, with the permanent entries, which stay while it is off.

It begins with the first port, LOCAL where there is one: queries need the bridge's address.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ofapp.bridge import multicast
from ofapp.bridge.effects import Effect, LookAgain
from ofapp.bridge.multicast import SetGroup, SetUnregistered, Snapshot
from ofapp.bridge.multicast.permanent_entries import PermanentEntries, PermanentEntry
from ofapp.bridge.multicast.running import RunningSnooping
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import Port
from ofapp.bridge.ports.sending import sent
from ofapp.bridge.protocol import Protocol, Reconfigured
from ofapp.bridge.state import BridgeState


class SnoopingOnBridge(Protocol[multicast.Params]):
    """running: None while it is off, and before the bridge has its first port.

    permanent: the permanent entries of all ports, present or not.
    """

    name = "multicast"
    hears = ("snooped",)

    def __init__(self, state: BridgeState) -> None:
        super().__init__(state)
        self.running: RunningSnooping | None = None
        self.permanent = PermanentEntries()
        self._names: dict[int, str] = {}

    @property
    def runs(self) -> bool:
        """Whether multicast is snooped."""
        return self.running is not None

    # Ports

    def put_ports(self, ports: Sequence[Port], now: float) -> list[Effect]:
        """Add ports with their permanent entries; forget members behind links that are down."""
        new: list[Port] = []
        down: list[int] = []
        for port in ports:
            name = self._names.get(port.number)
            if name is not None and not self._state.usable(port):
                down.append(port.number)
            if name != port.name:
                new.append(port)
                if name is not None:
                    self.permanent.rename(name, port.name)
                self._names[port.number] = port.name
        effects = self._add(new, now) if new else []
        return effects + (self.running.lose_links(down, now) if self.running and down else [])

    def _add(self, ports: Sequence[Port], now: float) -> list[Effect]:
        params = self._state.params
        if params.multicast is None:
            return []
        if self.running is None:
            self.running = RunningSnooping(
                params.multicast,
                params.multicast_vlans,
                self._state.address,
                self._state.port_policies,
            )
        known = {port.number: params.port(port.name, port.number) for port in ports}
        effects = self.running.put_ports(known, now)
        for port in ports:
            for entry in self.permanent.on(port.name):
                effects += self.running.add_permanent(entry, port.number, now)
        return effects

    def remove_ports(self, numbers: Sequence[int], now: float) -> list[Effect]:
        """Remove ports; their permanent entries wait for ports of the same names."""
        effects: list[Effect] = []
        for number in numbers:
            name = self._names.pop(number, None)
            if self.running is not None and name is not None:
                for entry in self.permanent.on(name):
                    effects += self.running.remove_permanent(entry, number, now)
        return effects + (self.running.remove_ports(numbers, now) if self.running else [])

    def set_port_states(self, states: Mapping[int, tuple[bool, bool]], now: float) -> list[Effect]:
        """Apply changed states of ports: whether each forwards, and is an edge."""
        return self.running.set_port_states(states, now) if self.running else []

    def change_topology(self, now: float) -> list[Effect]:
        """Send queries: hosts may be behind other ports."""
        return self.running.topology_change(now) if self.running else []

    # Parameters

    def set_params(self, change: Reconfigured, now: float) -> list[Effect]:
        """Start, administer or stop snooping."""
        params, before = self._state.params, change.before
        effects: list[Effect] = []
        if (self.params, params.multicast_vlans) != (before.multicast, before.multicast_vlans):
            if self.params is None:
                stopped, self.running = self.running, None
                effects += [] if stopped is None else stopped.close(now)
            elif self.running is not None:
                effects += self.running.set_params(self.params, params.multicast_vlans, now)
            else:
                effects += self._add([*self._state.ports], now)
        for port, was, new in change.ports:
            if new.multicast != was.multicast and self.running is not None:
                effects += self.running.set_port_params(port.number, new.multicast, now)
        if (self.params is None) is not (before.multicast is None):
            effects.append(LookAgain())  # whether the switch has the flows of snooping, or none
        return effects

    def apply_policies(self, now: float) -> list[Effect]:
        """Apply changed VLANs of ports."""
        return self.running.set_policies(self._state.port_policies, now) if self.running else []

    # Frames and time

    def hear(self, kind: str, frames: Sequence[tuple[int, bytes]], now: float) -> list[Effect]:
        """Handle IGMP, MLD, PIM and MRD frames; only what this returns is forwarded."""
        return [effect for port, frame in frames for effect in self._hear(port, frame, now)]

    def _hear(self, port: int, frame: bytes, now: float) -> list[Effect]:
        if self.running is not None:
            return self.running.receive(port, frame, now)
        flood = self._state.relay.flood_ports  # the switch does not know yet that snooping is off
        others = flood - {port} if port in flood else frozenset()
        return sent(self._state.port_policies, others, port, frame)

    def tick(self, now: float) -> list[Effect]:
        """Let time pass."""
        return self.running.tick(now) if self.running else []

    def next_wakeup(self) -> float | None:
        """When `tick` is due; None while paused or when nothing is."""
        return self.running.next_wakeup() if self.running else None

    def beat(self, now: float) -> None:
        """Note that the controller runs."""
        if self.running is not None:
            self.running.clock.beat(now)

    def pause(self, now: float) -> None:
        """Pause while the switch is disconnected."""
        if self.running is not None:
            self.running.clock.pause(now)

    def resume(self, now: float) -> None:
        """Run again: the switch has reconnected."""
        if self.running is not None:
            self.running.clock.resume(now)

    # Entries

    def restore_entries(
        self, groups: list[SetGroup], unregistered: list[SetUnregistered], now: float
    ) -> list[Effect]:
        """Take over the entries that a switch had before this controller started; only once."""
        if self.running is None or not self.running.fresh:
            return []
        return self.running.restore(groups, unregistered, now)

    def add_permanent(self, entry: PermanentEntry, now: float) -> list[Effect]:
        """Forward a group to a port for good; InputError."""
        self.permanent.add(entry)
        port = self._state.ports.named(entry.port)
        if self.running is None or port is None:
            return []
        return self.running.add_permanent(entry, port.number, now)

    def remove_permanent(self, entry: PermanentEntry, now: float) -> list[Effect]:
        """Undo `add_permanent`; InputError."""
        self.permanent.remove(entry)
        port = self._state.ports.named(entry.port)
        if self.running is None or port is None:
            return []
        return self.running.remove_permanent(entry, port.number, now)

    def join(self, entry: PermanentEntry, port: int, now: float) -> tuple[bool, list[Effect]]:
        """Join a port to a group as if a host had done so; whether it is a member now."""
        return self.running.join(entry, port, now) if self.running else (False, [])

    def forget(
        self,
        now: float,
        vid: int | None = None,
        group: bytes | None = None,
        port: int | None = None,
        source: bytes | None = None,
    ) -> tuple[int, list[Effect]]:
        """Forget members that match all arguments, or that source of theirs; and how many."""
        return self.running.forget(now, vid, group, port, source) if self.running else (0, [])

    # Values

    def status(self, now: float) -> Snapshot | None:
        """The state, for display; None where it is off."""
        return self.running.snapshot(now) if self.running else None

    def desired(self, params: BridgeParams) -> tuple[SetGroup | SetUnregistered, ...] | None:
        """The entries of the datapath; None where it is off."""
        running = None if params.multicast is None else self.running
        return None if running is None else tuple(running.desired())
