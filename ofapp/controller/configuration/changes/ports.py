"""Ports that requests name."""

from __future__ import annotations

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.input_error import InputError
from ofapp.bridge.ports.names import MAX_NAME, called
from ofapp.bridge.ports.port import LOCAL_PORT, Port


def named_port(bridge: Bridge, name: str) -> Port:
    """The port of that name.  Raises InputError."""
    port = bridge.ports.named(name)
    if port is None:
        raise InputError("port", missing_port(bridge, name))
    return port


def missing_port(bridge: Bridge, name: str) -> str:
    """Why the bridge has no port of that name, in words."""
    lag = bridge.params.lag_of(name)
    if lag is not None:
        return f"{name} is a member of {lag}, which is one port of bridge {bridge.name}"
    if alike := called(bridge.ports, name[:MAX_NAME]):
        which = ", ".join(f"{port.number} ({port.name})" for port in alike)
        return (
            f"{len(alike)} ports of bridge {bridge.name} are called {name[:MAX_NAME]}, as OpenFlow"
            f" has {MAX_NAME} characters of a name: give a number: {which}"
        )
    port = bridge.ports.named(name[:MAX_NAME])
    if port is not None:
        return f"OpenFlow has {MAX_NAME} characters of a name: {port.name} is port {port.number}"
    return f"bridge {bridge.name} has no port {name!r}"


def refuse_local(port: Port) -> None:
    """InputError for LOCAL, behind which no bridge can be."""
    if port.number == LOCAL_PORT:
        raise InputError("port", f"port {port.name} is LOCAL, which takes no part")
