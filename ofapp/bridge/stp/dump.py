"""Dump a spanning tree to plain data and revive it, for a restart of the controller.

The switch keeps its port states while the controller is disconnected.  A new tree would block every
port that is not an edge until its neighbour agrees; one that is revived resumes where it was, and
learns from its neighbours' next BPDUs what it has missed.

A port's variables are kept, under their names in 802.1D; counters start at zero.  Timers are
instants of the dumped tree's time, which goes on from there.  Values that most ports share are
written once: each of thousands of ports takes a few hundred octets, and is read in a fifth of the
time.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import lru_cache
from typing import Any

from ofapp.bridge.stp.core import Core
from ofapp.bridge.stp.dumped import (
    MAX_PORT,
    MAX_REASON,
    flag,
    instant,
    timer,
    times,
    vector,
    whole,
)
from ofapp.bridge.stp.own import OwnTrees
from ofapp.bridge.stp.params import BridgeParams, Link, PortParams
from ofapp.bridge.stp.port import InfoIs, TreePort
from ofapp.bridge.stp.tree import SpanningTree
from ofapp.bridge.stp.vectors import (
    ADDRESS_MASK,
    NO_TIMES,
    PORT_NUMBER_MASK,
    PriorityVector,
    Times,
)
from ofapp.common.portions import AT_ONCE, Portions

_FORMAT = 3
_OLDER = 2  # in which each port has all its values

# Variables that are known from elsewhere, momentary, or counted since the start.
_GIVEN = {"params", "link", "port_no", "number", "address", "port_id", "port_path_cost"}
_COUNTED = {"drops_reported", "guard_counts", "sent", "received", "drops"}
_SAID = {"serial", "unanswered", "heard", "says", "said", "last_number", "asked"}
_MOMENTARY = {"msg", "rcvd_bpdu", "rcvd_msg", "own_neighbour", "stance", "unheard", "edge_from"}
_NOT_KEPT = _GIVEN | _COUNTED | _MOMENTARY | _SAID
_KEPT = dict.fromkeys(name for name in TreePort.__slots__ if name not in _NOT_KEPT)
_OWN = ("port_no", "number", "address")
_ALIKE = ["link", "params", *_KEPT]
_MODEL = TreePort(1, 1, PortParams(), Link(up=True), 0)  # has variables of each kind


class OtherParametersError(ValueError):
    """The dump is of a tree with other parameters than the present ones."""


def dump(tree: SpanningTree, portions: Portions = AT_ONCE) -> dict[str, Any]:
    """Dump the tree as JSON-serialisable data (infinite floats included).

    A dump made in portions is consistent only if `revision` is the same after it as before.
    """
    core = tree.core
    ports = [_dump_port(port) for port in portions.of([*core.ports.values()])]
    alike = _alike(ports, portions)
    return {
        "format": _FORMAT,
        "params": _worded(core.params),
        "address": core.address,
        "now": core.now,
        "root_priority": core.root_priority,
        "root_times": core.root_times,
        "root_port": core.root_port.port_no if core.root_port else None,
        "tc": [core.tc_active, core.tc_count, core.tc_since, core.tc_port],
        "alike": alike,
        "ports": [_own(port, alike) for port in portions.of(ports)],
    }


def revive(
    params: BridgeParams,
    data: Mapping[str, Any],
    own: OwnTrees,
    port_params: Callable[[int], PortParams],
) -> tuple[SpanningTree, float]:
    """Restore the tree that was dumped; gives it and its present instant.

    Raises ValueError when the data are not a dump of this version, and OtherParametersError when
    the parameters have changed.
    """
    try:
        if data["format"] not in (_FORMAT, _OLDER):
            raise ValueError(f"format {data['format']!r} is not {_FORMAT}")
        alike = {} if data["format"] == _OLDER else data["alike"]
        if data["params"] != repr(params):
            raise OtherParametersError("the parameters were others")
        tree = SpanningTree(params, whole("address", data["address"], ADDRESS_MASK), own)
        core = tree.core
        core.now = instant("now", data["now"])
        core.root_priority = vector("root_priority", data["root_priority"])
        core.root_times = times("root_times", data["root_times"])
        _revive_changes(core, data["tc"])
        kept = _read_kept(alike, core.now)
        for item in data["ports"]:
            said = kept | _read_kept(item, core.now)
            _revive_port(core, {**alike, **item}, said, port_params)
        root = data["root_port"]
        core.root_port = None if root is None else core.ports[root]
    except (KeyError, TypeError, AttributeError, IndexError, OverflowError) as error:
        raise ValueError(f"not a dump of a spanning tree: {error!r}") from error
    return tree, core.now


def _dump_port(port: TreePort) -> dict[str, Any]:
    return {
        "port_no": port.port_no,
        "number": port.number,
        "address": port.address,
        "link": (port.link.up, port.link.speed_mbps, port.link.full_duplex),
        "params": _worded(port.params),
        **{name: _plain(getattr(port, name)) for name in _KEPT},
    }


def _revive_changes(core: Core, data: Any) -> None:
    active, count, since, port = data
    core.tc_active = flag("tc", active)
    core.tc_count = whole("tc", count)
    core.tc_since = None if since is None else instant("tc", since)
    core.tc_port = None if port is None else whole("tc", port, MAX_PORT)


def _alike(ports: Sequence[Mapping[str, Any]], portions: Portions) -> dict[str, Any]:
    """The value that most ports have, by variable."""
    counts: dict[str, Counter[Any]] = {name: Counter() for name in _ALIKE}
    for port in portions.of(ports):
        for name, count in counts.items():
            count[port[name]] += 1
    return {name: max(count, key=count.__getitem__) for name, count in counts.items() if count}


def _own(port: Mapping[str, Any], alike: Mapping[str, Any]) -> dict[str, Any]:
    """The port's identity, and its values that differ from `alike`."""
    return {name: value for name, value in port.items() if name in _OWN or value != alike[name]}


def _read_kept(values: Mapping[str, Any], now: float) -> dict[str, Any]:
    """Read those of a port's variables that are in `values`. Raises ValueError."""
    return {
        name: _like(name, getattr(_MODEL, name), value, now)
        for name, value in values.items()
        if name in _KEPT
    }


def _revive_port(
    core: Core,
    data: Mapping[str, Any],
    kept: Mapping[str, Any],
    port_params: Callable[[int], PortParams],
) -> None:
    port_no = whole("port_no", data["port_no"], MAX_PORT)
    number = whole("number", data["number"], PORT_NUMBER_MASK)
    if port_no in core.ports or number in core.numbers:
        raise ValueError(f"port {port_no} is there twice")
    params = port_params(port_no)
    if data["params"] != _worded(params):
        raise OtherParametersError("the parameters of a port were others")
    up, speed, duplex = data["link"]
    link = Link(flag("link", up), whole("link", speed), flag("link", duplex))
    port = TreePort(port_no, number, params, link, whole("address", data["address"], ADDRESS_MASK))
    for name in _KEPT:
        setattr(port, name, kept[name])
    if port.info_is is not InfoIs.DISABLED and NO_TIMES in (port.port_times, port.designated_times):
        raise ValueError(f"port {port_no} is in use and has no times")
    if not port.selected or port.updt_info:  # a tree at rest has processed all BPDUs
        raise ValueError(f"port {port_no} has no role")
    core.add(port)
    core.note(port)


@lru_cache
def _worded(params: BridgeParams | PortParams) -> str:
    """The parameters as text, cached: most bridges, and most ports, have the same."""
    return repr(params)


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Enum) else value


def _like(name: str, model: Any, plain: Any, now: float) -> Any:
    """Convert `plain` to the type of `model`. Raises ValueError."""
    match model:
        case Enum():
            return type(model)(plain)
        case PriorityVector():
            return vector(name, plain)
        case Times():
            return times(name, plain)
        case bool():
            return flag(name, plain)
        case int():
            return whole(name, plain)
        case float():
            return timer(name, plain, now)
    if not isinstance(plain, str) or len(plain) > MAX_REASON:
        raise ValueError(f"{name} is not a text")
    return plain
