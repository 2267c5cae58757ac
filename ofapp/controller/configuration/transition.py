"""Transition from the old settings of a bridge to new ones, without losing a frame."""

from __future__ import annotations

import time
from collections.abc import Callable

from ofapp.bridge import answers
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Effect
from ofapp.bridge.event import Event, Severity
from ofapp.bridge.input_error import InputError
from ofapp.bridge.mac import parse_mac
from ofapp.bridge.params.params import BridgeParams
from ofapp.config.bridge import Bridge as Settings
from ofapp.controller.bridges.shared import Shared
from ofapp.controller.configuration.run_time_entries import SavedEntries
from ofapp.controller.configuration.running import permanent_entries, static_entries
from ofapp.openflow.switch.program import Changes

Changed = Callable[[], Changes | None]
"""Waits until all messages are sent to a switch, and gives the changes there, as `plan` does."""


class Transition:
    """Transitions of the bridges of a registry."""

    def __init__(self, shared: Shared, entries: SavedEntries) -> None:
        self._registry = shared.registry
        self._dispatcher = shared.dispatcher
        self._running = shared.running
        self._entries = entries

    def plan(self, bridge: Bridge, params: BridgeParams) -> Changes | None:
        """Changes that new parameters would make in the bridge's switch; None while it is away."""
        session = self._registry.session(bridge)
        return None if session is None else session.plan(params)

    def carry_out(self, bridge: Bridge, filed: Settings, new: Settings) -> Changed:
        """Apply settings to the bridge; the result gives the changes in its switch.

        filed: settings of the old file.
        """
        done = effects(bridge, filed, new)
        session = self._registry.session(bridge)
        if session is None:
            self._dispatcher.apply(bridge, done)
            return lambda: None
        return session.reconfigure(done) if done else Changes

    def named(self, bridge: Bridge) -> None:
        """Handle the new name of a bridge, to which another entry of the file may apply."""
        datapath_id = bridge.datapath_id
        if self._registry.bridges.get(datapath_id) is not bridge:
            return  # forgotten meanwhile
        self._dispatcher.settle_names()
        running = self._running
        before = running.filed(datapath_id)
        if running.learn_name(datapath_id, bridge.name):
            filed = running.filed(datapath_id)
            after = running.carried(datapath_id, before, filed, bridge.ports.numbers)
            running.set(datapath_id, after)
            self.carry_out(bridge, before, after)
            self.settled(bridge)

    def settled(self, bridge: Bridge) -> None:
        """Finish a change of the file: store the entries, log ambiguous sections."""
        self._entries.save(bridge)
        for event in self._running.doubts(bridge.datapath_id):
            self._dispatcher.emit(bridge, event)


def effects(bridge: Bridge, filed: Settings, new: Settings) -> list[Effect]:
    """Effects that apply new settings.  filed: settings of the old file; both in effective form.

    Entries made over the API stay; an entry of the file that the API has moved is the API's.
    """
    now = time.monotonic()
    return [
        *bridge.set_params(new.params(), now),
        *_static(bridge, filed, new, now),
        *_permanent(bridge, filed, new, now),
    ]


def _static(bridge: Bridge, filed: Settings, new: Settings, now: float) -> list[Effect]:
    before = {(own.vlan, parse_mac(own.mac)): own.port for own in static_entries(filed)}
    after = {(own.vlan, parse_mac(own.mac)): own.port for own in static_entries(new)}
    done: list[Effect] = []
    for (vid, mac), port in before.items():
        if (vid, mac) not in after and answers.static_entries(bridge).get((vid, mac)) == port:
            done += bridge.remove_static(vid, mac)
    for (vid, mac), port in after.items():
        if answers.static_entries(bridge).get((vid, mac)) != port:
            try:
                done += bridge.add_static(vid, mac, port, now)
            except InputError as error:
                done.append(Event("config.skipped", str(error), Severity.WARNING))
    return done


def _permanent(bridge: Bridge, filed: Settings, new: Settings, now: float) -> list[Effect]:
    before, after = permanent_entries(filed), permanent_entries(new)
    kept, there = {entry.key for entry in after}, {*answers.permanent_entries(bridge)}
    done: list[Effect] = []
    for entry in before:
        if entry.key not in kept and entry in there:
            done += bridge.remove_permanent(entry, now)
    for entry in after:
        if entry not in there:
            done += bridge.add_permanent(entry, now)
    return done
