"""Passes the effects of a bridge to its datapath, or to the handlers of notices.

Effects for a switch are dropped while it is disconnected: it is synchronized when it is back.  A
`Notice`, which is not for the switch, is handled whether the switch is connected or not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import NOTICES, Effect, Notice
from ofapp.bridge.event import Event
from ofapp.common import hub
from ofapp.controller.bridges.registry import Registry
from ofapp.controller.configuration.running import RunningConfiguration
from ofapp.controller.events import EventLog

N = TypeVar("N", bound=Notice)

PATIENCE = 2.0
"""Seconds that a request waits for the switch to carry it out."""


class Dispatcher:
    """Dispatcher for all bridges of a registry; events go to the log."""

    def __init__(self, registry: Registry, events: EventLog) -> None:
        self._registry = registry
        self.events = events
        self._handlers: dict[type, Callable[[Bridge, Any], object]] = {Event: self.emit}

    def on(self, kind: type[N], do: Callable[[Bridge, N], object]) -> None:
        """Handle notices of this type with `do`, before the effects that follow them."""
        self._handlers[kind] = do

    def after(self, kind: type[N], do: Callable[[Bridge], object]) -> None:
        """Handle notices of this type with `do`, after all effects of the same batch."""
        self._handlers[kind] = lambda bridge, _notice: hub.watch(self.events.fault, do, bridge)

    def apply(self, bridge: Bridge, effects: list[Effect]) -> None:
        """Carry effects out, in order."""
        datapath = self._registry.datapath(bridge)
        if datapath is not None:
            datapath.apply(effects)
            return
        for effect in effects:
            if type(effect) in NOTICES:
                self.handle(bridge, effect)  # type: ignore[arg-type]

    def carried_out(self, bridge: Bridge) -> bool:
        """Wait until the bridge's switch has carried everything out; False when that is unknown."""
        datapath = self._registry.datapath(bridge)
        return datapath is not None and datapath.carried_out(PATIENCE)

    def handle(self, bridge: Bridge, notice: Notice) -> None:
        """Handle a notice, which is not for the switch."""
        if handler := self._handlers.get(type(notice)):
            handler(bridge, notice)

    def emit(self, bridge: Bridge, event: Event) -> None:
        """Log an event with the names of the bridge and of its ports."""
        self.events.emit(bridge.datapath_id, event, bridge.name, bridge.port_at)

    def settle_names(self) -> None:
        """Log the bridges that give their names up to others: see `Registry`."""
        for bridge, event in self._registry.settle_names():
            self.emit(bridge, event)


class Shared(NamedTuple):
    """One of each for a controller."""

    registry: Registry
    dispatcher: Dispatcher
    running: RunningConfiguration

    @property
    def events(self) -> EventLog:
        """The log of events."""
        return self.dispatcher.events
