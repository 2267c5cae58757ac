"""What requests have in common: what of a resource they change, and the ports that they name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.input_error import InputError
from ofapp.bridge.ports import LOCAL_PORT, Port


def changed(old: BaseModel, new: BaseModel) -> dict[str, Any]:
    """The new values of the fields that differ, as JSON has them."""
    before = old.model_dump(mode="json")
    return {name: v for name, v in new.model_dump(mode="json").items() if v != before[name]}


def listed(values: Mapping[str, Any]) -> str:
    """The same for people."""
    return ", ".join(f"{name} = {json.dumps(value)}" for name, value in values.items())


def named_port(bridge: Bridge, name: str) -> Port:
    """The port of that name; InputError."""
    port = bridge.ports.named(name)
    if port is None:
        raise InputError("port", f"bridge {bridge.name} has no port {name!r}")
    return port


def refuse_local(port: Port) -> None:
    """InputError for a port that no bridge can be behind."""
    if port.number == LOCAL_PORT:
        raise InputError("port", f"port {port.name} is LOCAL, which takes no part")
