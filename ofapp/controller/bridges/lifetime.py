"""A bridge from its switch's first connection on, through its absences, until it is forgotten.

The state of a switch that is disconnected for a minute is kept.  A deleted switch never comes
back, and looks the same from here: so a bridge is forgotten after a time, or on request.
"""

from __future__ import annotations

import logging
import secrets
import time

from ofapp.bridge import stp
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.event import Event, EventKind
from ofapp.bridge.fdb import learned_addresses
from ofapp.bridge.input_error import InputError
from ofapp.bridge.lldp import OwnAgents
from ofapp.bridge.ports.port import SURE, PortRoom
from ofapp.bridge.state import SharedState
from ofapp.common import hub
from ofapp.common.version import full_version
from ofapp.config.bridge import Bridge as Settings
from ofapp.controller.audit import record
from ofapp.controller.bridges.absentees import Absentees
from ofapp.controller.bridges.dispatcher import Shared
from ofapp.controller.bridges.events import BRIDGE_FORGOTTEN, BRIDGE_LIMIT, RECORDING_FULL
from ofapp.controller.configuration.events import CONFIG_RESTORED, CONFIG_SKIPPED
from ofapp.controller.configuration.run_time_entries import SavedEntries, follow_file
from ofapp.controller.state.saving import Ticket
from ofapp.controller.state.store import State
from ofapp.recording import Recorder

LOG = logging.getLogger(__name__)

MAX_BRIDGES = 1024
"""Most bridges kept; a host that reaches the OpenFlow port can invent endless datapath ids."""

MAX_LISTED = 10
"""Most restored settings that an event lists."""

LOOK_FOR_AWAY = 1.0
"""Seconds between checks for switches that have been disconnected for too long."""


class Lifetime:
    """Lifetime of all bridges of a registry.

    entries: those that were set at run time; state: restores and forgets what is stored; agents:
    authenticate the LLDP of bridges.
    recorder: records the bridges; None unless `record` was called.
    """

    def __init__(
        self,
        shared: Shared,
        entries: SavedEntries,
        state: State,
        absentees: Absentees,
        agents: OwnAgents,
    ) -> None:
        self._registry = shared.registry
        self._running = shared.running
        self._entries = entries
        self._state = state
        self._absentees = absentees
        self._events = shared.events
        self._life = secrets.randbits(24)
        self._shared_state = SharedState(stp.OwnTrees(self._life), agents)
        self.recorder: Recorder | None = None
        self._reported = False

    def record(self) -> None:
        """Record all bridges, before the first one is made."""
        self.recorder = Recorder(self._life, full_version())

    def has_room(self, datapath_id: int) -> bool:
        """Whether a switch may have a bridge: an absent one is forgotten for a new one."""
        bridges = self._registry.bridges
        if datapath_id in bridges or len(bridges) < MAX_BRIDGES:
            return True
        longest = self._registry.disconnected.longest()
        full = f"there are {MAX_BRIDGES} bridges, the most there can be"
        if longest is None:
            event = BRIDGE_LIMIT.event(f"refused a switch: {full}")
            self._events.emit(datapath_id, event)
            return False
        self._forget(longest, f"its switch is disconnected, and {full}")
        return True

    def knows_entries(self, datapath_id: int) -> bool:
        """Whether the bridge's static entries are stored, so that the switch need not be asked."""
        return self._entries.has_entry(datapath_id)

    def back(self, datapath_id: int) -> Bridge:
        """The bridge of a switch that has connected, again or for the first time."""
        bridges = self._registry.bridges
        bridge = bridges.get(datapath_id)
        if bridge is None:
            bridge = bridges[datapath_id] = self._make(datapath_id)
        self._registry.disconnected.back(datapath_id)
        bridge.former_name = None
        return bridge

    def expect_fabric(self, datapath_id: int, now: float) -> None:
        """Make the bridge of a fabric, which is disconnected until one of its members connects."""
        bridges = self._registry.bridges
        if datapath_id not in bridges:
            bridges[datapath_id] = self._make(datapath_id)
            self._registry.disconnected.left(datapath_id, now)

    def retire(self, datapath_id: int, why: str) -> None:
        """Forget the bridge of a switch that is in a fabric now, or of a fabric that is none."""
        if datapath_id in self._registry.bridges:
            self._forget(datapath_id, why)

    def left(self, bridge: Bridge, now: float) -> None:
        """Handle the disconnection of a bridge's switch."""
        self._registry.disconnected.left(bridge.datapath_id, now)
        self.falls_silent(bridge, now)

    def falls_silent(self, bridge: Bridge, now: float) -> None:
        """Handle that the protocols of a bridge may be paused: a switch of it has disconnected."""
        self._absentees.gone(bridge, now)

    def expect(self, datapath_id: int) -> None:
        """Handle the end of the cluster member that served the switch."""
        self._absentees.expect(datapath_id, time.monotonic())

    def release(self, datapath_id: int) -> None:
        """Leave a switch's stored state to the cluster member that serves it now.

        No state is kept here that may be outdated.
        """
        bridge = self._registry.bridges.get(datapath_id)
        if bridge is not None and self._registry.datapath(bridge) is None:
            del self._registry.bridges[datapath_id]
            bridge.leave()
            self._registry.disconnected.back(datapath_id)
            self._running.forget(datapath_id)
        self._absentees.spoken_for(datapath_id, time.monotonic())

    def forget(self, bridge: Bridge) -> tuple[Ticket, ...]:
        """Forget the bridge and its stored settings; InputError while it is connected."""
        if self._registry.datapath(bridge) is not None:
            raise InputError(
                "dpid",
                f"the switch of bridge {bridge.name} is connected: delete the bridge there, or "
                f"take its controller from it, first (ovs-vsctl del-controller {bridge.name})",
            )
        self._forget(bridge.datapath_id, "on request")
        record(f"{bridge.name} ({bridge.datapath_id:016x}): known -> forgotten")
        return self._state.forget(bridge.datapath_id)

    def forget_absent(self, datapath_id: int) -> tuple[Ticket, ...]:
        """Forget all that is stored of a switch that has not connected since the start."""
        self._absentees.forget(datapath_id)
        record(f"switch {datapath_id:016x}: known -> forgotten")
        return self._state.forget(datapath_id)

    def forget_overdue(self, now: float) -> None:
        """Forget the bridges whose switch has been disconnected for as long as the file says.

        As on a restart, what was set at run time stays on disk.
        """
        patience = self._running.config.forget_after
        if patience:
            for datapath_id in self._registry.disconnected.overdue(patience, now):
                self._forget(datapath_id, f"its switch has been disconnected for {patience:g} s")

    def make_room(self) -> None:
        """Forget an absent bridge when another bridge finds no room for its ports."""
        room, bridges = self._shared_state.of(PortRoom), self._registry.bridges
        if room.wanted:
            room.wanted = False
            longest = max(
                self._registry.disconnected,
                key=lambda known: len(bridges[known].ports),
                default=None,
            )
            if longest is not None and len(bridges[longest].ports) > SURE:
                why = "its switch is disconnected, and another one has no room for its ports"
                self._forget(longest, why)

    def run(self) -> None:
        """Forget bridges that are overdue or whose room is needed; does not return."""
        while True:
            hub.sleep(LOOK_FOR_AWAY)
            self.forget_overdue(time.monotonic())
            self.make_room()
            self.report_recording()

    def report_recording(self) -> None:
        """Report once that the part of the recording that can be replayed has ended."""
        if self.recorder is not None and self.recorder.full and not self._reported:
            self._reported = True
            octets = len(self.recorder.packed())
            message = f"the recording has {octets} octets, the most: the last minutes follow"
            self._events.emit(None, RECORDING_FULL.event(message, data={"octets": octets}))

    def set_traces(self) -> None:
        """Turn BPDUs and learned addresses into events only while a listener wants them."""
        for bridge in self._registry.bridges.values():
            self._set_trace(bridge)

    # Inside

    def _set_trace(self, bridge: Bridge) -> None:
        def wanted(kinds: tuple[EventKind, ...]) -> bool:
            listener = self._events.wanted
            return any(listener(bridge.datapath_id, one, one.severity) for one in kinds)

        bridge.stp.set_trace(wanted(stp.TRACE))
        bridge.addresses.set_trace(wanted(learned_addresses.TRACE))

    def _forget(self, datapath_id: int, why: str) -> None:
        bridge = self._registry.bridges.pop(datapath_id)
        name = bridge.name
        bridge.leave()
        self._registry.disconnected.back(datapath_id)
        self._running.forget(datapath_id)
        self._absentees.forget(datapath_id)
        self._state.forget_protocols(datapath_id)
        self._events.emit(datapath_id, BRIDGE_FORGOTTEN.event(f"is forgotten: {why}"), name)

    def _make(self, datapath_id: int) -> Bridge:
        if restored := self._running.restore(datapath_id):
            message = f"restored what was set at run time: {'; '.join(restored[:MAX_LISTED])}"
            more = f", and {len(restored) - MAX_LISTED} more" if len(restored) > MAX_LISTED else ""
            event = CONFIG_RESTORED.event(message + more, data={"settings": restored})
            self._events.emit(datapath_id, event)
        configuration = self._running.of(datapath_id)
        params = self._running.params(datapath_id)
        names = [each.name for each in self._running.fabrics if each.datapath_id == datapath_id]
        bridge = Bridge(datapath_id, params, self._shared_state, *names)
        if self.recorder is not None:
            self.recorder.record(bridge)
        self._absentees.greet(bridge, time.monotonic())
        self._set_trace(bridge)
        for effect in follow_file(bridge, Settings(), configuration, time.monotonic()):
            if isinstance(effect, Event) and effect.of is CONFIG_SKIPPED:
                self._events.emit(datapath_id, effect)
        self._state.restore(bridge)
        return bridge
