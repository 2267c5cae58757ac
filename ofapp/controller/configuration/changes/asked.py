"""Common parts of requests: differences, events, the audit trail, and ports by name."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.event import Event, PortNumber
from ofapp.bridge.input_error import InputError
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.controller.audit import record, record_fields
from ofapp.controller.bridges.dispatcher import Dispatcher
from ofapp.controller.configuration.running import RunningConfiguration


def changed(old: BaseModel, new: BaseModel) -> dict[str, Any]:
    """The new values of the fields that differ, as JSON has them."""
    before = old.model_dump(mode="json")
    return {name: v for name, v in new.model_dump(mode="json").items() if v != before[name]}


def apply_running(
    dispatcher: Dispatcher, running: RunningConfiguration, bridge: Bridge, event: Event
) -> None:
    """Log a change, then apply the running configuration: events that follow from it come later."""
    dispatcher.emit(bridge, event)
    params = running.params(bridge.datapath_id)
    dispatcher.apply(bridge, bridge.set_params(params, time.monotonic()))


def bridge_set(kind: str, what: str, values: Mapping[str, Any]) -> Event:
    """Event of new values of a bridge; what: their subject, in words."""
    return Event(kind, f"{what}: {listed(values)}", data=values)


def port_set(kind: str, port: Port, values: Mapping[str, Any]) -> Event:
    """Event of new values of a port."""
    text = PortNumber(port.number), f": {listed(values)}"
    return Event(kind, text, port=port.number, data=values)


def listed(values: Mapping[str, Any]) -> str:
    """Values as text for messages."""
    return ", ".join(f"{name} = {json.dumps(value)}" for name, value in values.items())


def record_of(bridge: Bridge, change: str) -> None:
    """Record a change of a bridge in the audit trail."""
    record(f"{bridge.name} ({bridge.datapath_id:016x}): {change}")


def record_set(bridge: Bridge, about: str, old: BaseModel, changes: Mapping[str, Any]) -> None:
    """Record changed fields of an object of a bridge, with their old and new values."""
    record_fields(f"{bridge.name} ({bridge.datapath_id:016x}): {about}", old, changes)


def named_port(bridge: Bridge, name: str) -> Port:
    """The port of that name; InputError."""
    port = bridge.ports.named(name)
    if port is None:
        raise InputError("port", missing_port(bridge, name))
    return port


def missing_port(bridge: Bridge, name: str) -> str:
    """Why the bridge has no port of that name, in words."""
    lag = bridge.params.lag_of(name)
    if lag is not None:
        return f"{name} is a member of {lag}, which is one port of bridge {bridge.name}"
    return f"bridge {bridge.name} has no port {name!r}"


def refuse_local(port: Port) -> None:
    """InputError for LOCAL, behind which no bridge can be."""
    if port.number == LOCAL_PORT:
        raise InputError("port", f"port {port.name} is LOCAL, which takes no part")
