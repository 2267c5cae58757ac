"""State shared by all parts of the controller: bridges, configuration and the dispatcher of
their effects."""

from __future__ import annotations

from typing import NamedTuple

from ofapp.controller.bridges.dispatcher import Dispatcher
from ofapp.controller.bridges.registry import Registry
from ofapp.controller.configuration.running import RunningConfiguration
from ofapp.controller.events import EventLog


class Shared(NamedTuple):
    """One of each for a controller."""

    registry: Registry
    dispatcher: Dispatcher
    running: RunningConfiguration

    @property
    def events(self) -> EventLog:
        """The log of events."""
        return self.dispatcher.events
