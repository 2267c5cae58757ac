"""The one way by which new settings of a bridge come into force.

A file, a reload, a push, the CLI, the API and the page all end here: the plan is recorded in the
audit trail, stored, and applied to the bridge without losing a frame.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import islice

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.datapath_status import PlannedItem
from ofapp.bridge.effects import Effect, LookAgain
from ofapp.bridge.event import Event
from ofapp.controller.audit import record_of
from ofapp.controller.bridges.datapath import Changes, Plan
from ofapp.controller.bridges.dispatcher import Shared
from ofapp.controller.configuration.plan import BridgePlan, plan_file
from ofapp.controller.configuration.run_time_entries import SavedEntries, follow_file
from ofapp.controller.state.saving import Ticket

SwitchChanges = Callable[[], Changes | None]
"""Waits until all messages are sent to a switch, and gives the changes there, as `plan` does."""


SHOWN = 1000
"""Most items, and most flow changes, of a bridge that are reported."""


@dataclass(frozen=True)
class Preview:
    """Effect of a plan in a switch.

    sent: how many flows, groups and meters change, None while the switch is disconnected.
    items: what changes in terms of the network; lines: each change of a flow, group or meter.
    """

    sent: dict[str, int] | None = None
    items: tuple[PlannedItem, ...] = ()
    lines: tuple[str, ...] = ()


def preview_of(planned: Plan, most: int = SHOWN) -> Preview:
    """The counts of a plan, and its first items."""
    return Preview(planned.changes.counts(), tuple(islice(planned.items(), most)))


@dataclass(frozen=True)
class Applied:
    """saved: ends when the settings are saved; changed: those of the bridge's switch."""

    saved: Ticket
    changed: SwitchChanges


class Configurator:
    """Puts settings into force, for the bridges of a registry."""

    def __init__(self, shared: Shared, entries: SavedEntries) -> None:
        self._registry = shared.registry
        self._dispatcher = shared.dispatcher
        self._running = shared.running
        self._entries = entries

    def preview(self, plan: BridgePlan) -> Preview:
        """The effect that a plan would have in the bridge's switch."""
        datapath = self._registry.datapath(plan.bridge)
        if datapath is None:
            return Preview()
        planned = datapath.plan(plan.new.params())
        lines = islice(planned.changes.lines(), SHOWN)
        return replace(preview_of(planned), lines=tuple(lines))

    def set(self, plan: BridgePlan, event: Event | None = None) -> Applied:
        """Record, store and apply a plan.

        event: logged before those of the protocols.
        """
        bridge = plan.bridge
        for change in plan.changes:
            record_of(bridge, change)
        if event is not None:
            self._dispatcher.emit(bridge, event)
        saved = self._running.set(bridge.datapath_id, plan.new)
        effects = _effects(plan) if plan.changes else []
        datapath = self._registry.datapath(bridge)
        if datapath is not None:
            return Applied(saved, datapath.reconfigure(effects))
        self._dispatcher.apply(bridge, effects)
        return Applied(saved, lambda: None)

    def named(self, bridge: Bridge) -> None:
        """Handle the new name of a bridge, to which another entry of the file may apply."""
        datapath_id = bridge.datapath_id
        if self._registry.bridges.get(datapath_id) is not bridge:
            return  # forgotten meanwhile
        self._dispatcher.settle_names()
        running = self._running
        filed, old = running.filed(datapath_id), running.of(datapath_id)
        if running.learn_name(datapath_id, bridge.name):
            new = running.carried(
                datapath_id, filed, running.filed(datapath_id), bridge.ports.numbers
            )
            self.set(plan_file(bridge, filed, old, new))
            self.settled(bridge)

    def settled(self, bridge: Bridge) -> None:
        """Finish a change of the file: store the entries, log ambiguous sections."""
        self._entries.save(bridge)
        for event in self._running.ambiguities(bridge.datapath_id):
            self._dispatcher.emit(bridge, event)


def _effects(plan: BridgePlan) -> list[Effect]:
    """Effects that apply a plan."""
    bridge, now = plan.bridge, time.monotonic()
    effects = bridge.set_params(plan.new.params(), now)
    if plan.filed is None:
        return effects
    effects += follow_file(bridge, plan.filed, plan.new, now)
    return [*effects, LookAgain()] if effects else []
