"""Changes of aggregations: their members and parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.event import Event
from ofapp.bridge.input_error import InputError
from ofapp.config import checks
from ofapp.config.base import FaultsError
from ofapp.controller.bridges.dispatcher import Dispatcher
from ofapp.controller.configuration.changes.asked import apply_running, changed, listed, record_set
from ofapp.controller.configuration.running import RunningConfiguration
from ofapp.controller.state.keeper import Ticket, done


class LagChanges:
    """Changes of aggregations in the running configuration."""

    def __init__(self, dispatcher: Dispatcher, running: RunningConfiguration) -> None:
        self._dispatcher = dispatcher
        self._running = running

    def set(self, bridge: Bridge, name: str, values: Mapping[str, Any]) -> Ticket:
        """Set members or parameters of an existing aggregation; InputError."""
        own = self._running.of(bridge.datapath_id)
        old = own.lags[name]
        try:
            new = old.changed(values)
        except FaultsError as error:
            raise _refused(error.faults[0]) from None
        changes = changed(old, new)
        if not changes:
            return done()
        others = {other: lag for other, lag in own.lags.items() if other != name}
        last = own.model_copy(update={"lags": {**others, name: new}})  # as the one to blame
        for fault in (*checks.faults(last), *checks.local_members(bridge.name, last)):
            raise _refused(fault)
        after = own.model_copy(update={"lags": {**own.lags, name: new}})
        record_set(bridge, f"aggregation {name}", old, changes)
        saved = self._running.set(bridge.datapath_id, after)
        about = {"lag": name, **changes}
        event = Event("lag.set", f"aggregation {name}: {listed(changes)}", data=about)
        apply_running(self._dispatcher, self._running, bridge, event)
        return saved


def _refused(fault: checks.Fault) -> InputError:
    """A fault named by the field of the request instead of a path in the file."""
    path, what = fault
    named = path[2] if path[:1] == ("lags",) and len(path) > 2 else path[0]
    return InputError(str(named), f"{named}: {what}")
