"""Find the bridges and ports that requests name."""

from __future__ import annotations

import re

from ofapp.api.base import PortPath, PortRef
from ofapp.api.problems import AGAIN, ProblemError, field_problem
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.ports.port import Port
from ofapp.common.words import listed
from ofapp.config.base import port_number
from ofapp.controller.configuration.changes.ports import missing_port
from ofapp.controller.network import Network

SHOWN = 8
"""Most names that an error lists."""


def is_datapath_id(text: str) -> bool:
    """Whether the text has the form of a datapath id; a name may have it, too."""
    return re.fullmatch("[0-9a-fA-F]{16}", text) is not None


def find_bridge(network: Network, text: str) -> Bridge:
    """The bridge of a resource below it; see `named_bridge` and `with_ports`."""
    return with_ports(network, named_bridge(network, text))


def with_ports(network: Network, bridge: Bridge) -> Bridge:
    """The same bridge; 503 until its switch has reported its ports.

    Before that, what exists would seem to be missing.  While another controller is master of the
    switch, this one knows no ports, and answers so.
    """
    datapath = network.datapaths.get(bridge.datapath_id)
    if bridge.ports.complete or (datapath is not None and datapath.status().owner is not None):
        return bridge
    what = f"the ports of bridge {bridge.name} are not known yet: its switch has just connected"
    raise ProblemError(503, what, [("dpid", what)], AGAIN)


def named_bridge(network: Network, text: str, field: str = "dpid") -> Bridge:
    """The bridge with this datapath id or name; 404, 409 if several have the name.

    A datapath id takes precedence: it is unique, and a name may look like one.
    """
    if is_datapath_id(text):
        bridge = network.bridges.get(int(text, 16))
        if bridge is not None:
            return bridge
    matches = [own for own in network.bridges.values() if own.name == text]
    if not matches:
        names = listed(sorted({own.name for own in network.bridges.values()}), SHOWN)
        there = f"; there are: {names}" if names else ""
        raise field_problem(404, field, f"there is no bridge {text}{there}")
    if len(matches) > 1:
        ids = ", ".join(sorted(f"{bridge.datapath_id:016x}" for bridge in matches))
        what = f"{len(matches)} bridges are called {text}, give a datapath id: {ids}"
        raise field_problem(409, field, what)
    return matches[0]


def find_port(bridge: Bridge, text: str, status: int = 404) -> Port:
    """The port with this name or number, or LOCAL; a problem of that status when there is none."""
    port = known_port(bridge, text)
    if port is None:
        raise no_port(bridge, text, status)
    return port


def bridge_and_port(network: Network, path: PortPath) -> tuple[Bridge, Port]:
    """The bridge and the port of a path."""
    bridge = find_bridge(network, path.dpid)
    return bridge, find_port(bridge, path.port)


def known_port(bridge: Bridge, text: str) -> Port | None:
    """The same, None when there is none.  Digits are always a number (see `ports.names`)."""
    number = port_number(text)
    return bridge.ports.named(text) if number is None else bridge.ports.get(number)


def no_port(bridge: Bridge, text: str, status: int) -> ProblemError:
    """The problem of a port that does not exist, or that is no port of the bridge."""
    return field_problem(status, "port", missing_port(bridge, text))


def port_ref(bridge: Bridge, number: int) -> PortRef:
    """Reference to a port by number and name."""
    port = bridge.ports.get(number)
    return PortRef(number=number, name=port.name if port else str(number))


def by_number(bridge: Bridge) -> list[Port]:
    """A bridge's ports in order."""
    return sorted(bridge.ports, key=lambda port: port.number)
