"""A spanning tree to plain data and back, for a controller that is restarted.

The switch keeps its port states while the controller is away.  A tree that began anew would block
every port that is not an edge until its neighbour agrees; one that is revived goes on where it
was, and hears from its neighbours' next BPDUs what it has missed.

What a port knows is kept, by the names of 802.1D's variables; counters begin anew.  Timers are
instants of the dumped tree's own time, which goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from ofapp.bridge.stp.core import Core
from ofapp.bridge.stp.own import OwnTrees
from ofapp.bridge.stp.params import BridgeParams, Link, PortParams
from ofapp.bridge.stp.port import Port
from ofapp.bridge.stp.tree import SpanningTree
from ofapp.bridge.stp.vectors import PriorityVector, Times

_FORMAT = 1

# What comes by other ways, is of the moment only, or counts since the start.
_GIVEN = {"params", "link", "port_no", "number", "address"}
_COUNTED = {"drops_told", "guard_counts", "sent", "received", "drops"}
_NOT_KEPT = _GIVEN | _COUNTED | {"msg", "own_neighbour"}
_KEPT = [name for name in Port.__slots__ if name not in _NOT_KEPT]


def dump(tree: SpanningTree) -> dict[str, Any]:
    """The tree as JSON-serialisable data (infinite floats included)."""
    core = tree._core
    return {
        "format": _FORMAT,
        "params": repr(core.params),
        "address": core.address,
        "now": core.now,
        "root_priority": core.root_priority,
        "root_times": core.root_times,
        "root_port": core.root_port.port_no if core.root_port else None,
        "tc": [core.tc_active, core.tc_count, core.tc_since, core.tc_port],
        "ports": [_dump_port(port) for port in core.ports.values()],
    }


def revive(
    params: BridgeParams,
    data: Mapping[str, Any],
    own: OwnTrees,
    port_params: Callable[[int], PortParams],
) -> tuple[SpanningTree, float]:
    """The tree that was dumped, and the instant of its own time at which it stands.

    Raises ValueError when the data are not a dump of this version's, or other parameters would
    make another tree of it.
    """
    try:
        if data["format"] != _FORMAT or data["params"] != repr(params):
            raise ValueError("of another version, or of other parameters")
        tree = SpanningTree(params, data["address"], own)
        core = tree._core
        core.now = float(data["now"])
        core.root_priority = PriorityVector(*data["root_priority"])
        core.root_times = Times(*data["root_times"])
        core.tc_active, core.tc_count, core.tc_since, core.tc_port = data["tc"]
        for item in data["ports"]:
            _revive_port(core, item, port_params(item["port_no"]))
        core.root_port = core.ports[data["root_port"]] if data["root_port"] else None
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise ValueError(f"not a dump of a spanning tree: {error!r}") from error
    return tree, core.now


def _dump_port(port: Port) -> dict[str, Any]:
    return {
        "port_no": port.port_no,
        "number": port.number,
        "address": port.address,
        "link": [port.link.up, port.link.speed_mbps, port.link.full_duplex],
        "params": repr(port.params),
        **{name: _plain(getattr(port, name)) for name in _KEPT},
    }


def _revive_port(core: Core, data: Mapping[str, Any], params: PortParams) -> None:
    if data["params"] != repr(params):
        raise ValueError("of other port parameters")
    port = Port(data["port_no"], data["number"], params, Link(*data["link"]), data["address"])
    for name in _KEPT:
        setattr(port, name, _like(getattr(port, name), data[name]))
    core.add(port)


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Enum) else value


def _like(model: Any, plain: Any) -> Any:
    """`plain` as a value of the kind that `model` is."""
    if isinstance(model, Enum):
        return type(model)(plain)
    if isinstance(model, PriorityVector | Times):
        return type(model)(*plain)
    if isinstance(model, bool | int | str) and type(plain) is not type(model):
        raise ValueError(f"{plain!r} is not a {type(model).__name__}")
    return plain
