"""Has the effects of a bridge carried out: by its switch's session, or by who asked for them.

What is for a switch goes nowhere while that is away: it is brought in line when it is back.  What
is not for a switch (`Notice`) is carried out whether it is there or not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import NOTICES, Effect, Notice
from ofapp.bridge.event import Event
from ofapp.common import hub
from ofapp.controller.events import EventLog
from ofapp.controller.registry import Registry

N = TypeVar("N", bound=Notice)


class Dispatcher:
    """For all bridges of a registry; events go to the log."""

    def __init__(self, registry: Registry, events: EventLog) -> None:
        self._registry = registry
        self.events = events
        self._heeds: dict[type, Callable[[Bridge, Any], object]] = {Event: self.tell}

    def on(self, kind: type[N], do: Callable[[Bridge, N], object]) -> None:
        """Have notices of this type carried out by `do`, before anything that follows them."""
        self._heeds[kind] = do

    def after(self, kind: type[N], do: Callable[[Bridge], object]) -> None:
        """The same, once all that was decided together is carried out."""
        self._heeds[kind] = lambda bridge, _notice: hub.watch(self.events.fault, do, bridge)

    def apply(self, bridge: Bridge, effects: list[Effect]) -> None:
        """Carry effects out, in order."""
        session = self._registry.session(bridge)
        if session is not None:
            session.apply(effects)
            return
        for effect in effects:
            if type(effect) in NOTICES:
                self.heed(bridge, effect)  # type: ignore[arg-type]

    def heed(self, bridge: Bridge, notice: Notice) -> None:
        """Carry out what is not for the switch."""
        if heed := self._heeds.get(type(notice)):
            heed(bridge, notice)

    def tell(self, bridge: Bridge, event: Event) -> None:
        """Tell people, with the names of the bridge and of its ports."""
        self.events.tell(bridge.datapath_id, event, bridge.name, bridge.ports)

    def settle_names(self) -> None:
        """Tell of the bridges that give their names up to others: see `Registry`."""
        for bridge, event in self._registry.settle_names():
            self.tell(bridge, event)
