"""Ask the network's twin what a change would lead to.

Questions are answered in slices, between which all other greenlets run: no hello of the running
network waits for an answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.fabric.fabric import Fabric
from ofapp.bridge.ports.port import Port
from ofapp.bridge.queries import all_ports
from ofapp.bridge.twin.actions import Action
from ofapp.bridge.twin.cable import Cable, SwitchPort, cable
from ofapp.bridge.twin.content import Content
from ofapp.bridge.twin.prediction import Prediction, copy_of, learned_of, predict
from ofapp.common import hub
from ofapp.common.portions import Portions
from ofapp.controller.bridges.datapath import Plan
from ofapp.controller.bridges.fabric.summary import Plan as FabricPlan
from ofapp.controller.bridges.openflow_datapath import compared
from ofapp.controller.configuration.configurator import SHOWN, Preview, preview_of
from ofapp.controller.network import Network
from ofapp.controller.topology import End, Link, around, topology

T = TypeVar("T")

SLICE = 0.001
"""Seconds of work at a time: a hello passes several greenlets, and waits for a slice at each."""

_slices = hub.Lock()
"""Held while a slice of a question is worked on, by one question after the other."""


class BusyError(Exception):
    """A question is given up; the message says why."""


class Turn:
    """Work on one question in slices, between which other greenlets and questions have theirs.

    ends: when it is given up, monotonic seconds; has_left: whether the client has left.
    spent: seconds of processor time so far.
    """

    def __init__(self, ends: float, has_left: Callable[[], bool] = lambda: False) -> None:
        self.spent = 0.0
        self._ends = ends
        self._has_left = has_left

    def __enter__(self) -> Turn:
        _slices.acquire()
        self._began = time.thread_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.spent += time.thread_time() - self._began
        _slices.release()

    def over(self, items: Iterable[T]) -> Iterator[T]:
        """The same items, with a rest after each."""
        for each in items:
            yield each
            self.rest()

    def rest(self) -> None:
        """Let others work if this slice has lasted long enough.  Raises BusyError."""
        now = time.thread_time()
        if now - self._began < SLICE:
            return
        if self._has_left():
            raise BusyError("the client has left")
        if time.monotonic() > self._ends:
            raise BusyError("the answer takes too long: ask for fewer seconds, or later")
        self.spent += now - self._began
        hub.pause()  # no other question has a slice in this pass of the hub
        _slices.release()
        _slices.acquire()
        self._began = time.thread_time()


def present(network: Network) -> list[Bridge]:
    """The bridges that can be copied: those of connected switches, and of fabrics with some."""
    return [
        bridge
        for datapath_id, bridge in sorted(network.bridges.items())
        if datapath_id in network.datapaths
    ]


def fabric_of(network: Network, bridge: Bridge) -> Fabric | None:
    """The fabric that a bridge is; None for a bridge of one switch."""
    return next((each.core for each in network.fabrics.values() if each.bridge is bridge), None)


def cables_of(bridges: Iterable[Bridge]) -> set[Cable]:
    """The cables between these bridges, as LLDP and spanning tree know them."""
    known = {bridge.datapath_id: bridge for bridge in bridges}
    links = topology(around(known, known)).links
    return {each for link in links for each in _cables(known, link)}


def ask(network: Network, actions: Sequence[Action], seconds: float, turn: Turn) -> Prediction:
    """Predict what follows from changes; KeyError for a port that is not there, BusyError."""
    bridges = present(network)
    learned = learned_of(bridges, turn.rest)
    fabrics = [each.core for each in network.fabrics.values()]
    twin = copy_of(bridges, cables_of(bridges), time.monotonic(), turn.rest, fabrics)
    try:
        for predicted in predict(twin, learned, actions, seconds):
            if predicted is not None:
                return predicted
            turn.rest()
    finally:
        twin.close()
    raise AssertionError("predict ends with its answer")


def contents(
    network: Network, predicted: Prediction, rest: Callable[[], object]
) -> Iterator[tuple[Bridge, Preview]]:
    """How the content of switches differs afterwards: at most `SHOWN` items of all together.

    rest: lets other work run.
    """
    left = SHOWN
    for number in sorted(predicted.contents):
        bridge, datapath = network.bridges.get(number), network.datapaths.get(number)
        if bridge is not None and datapath is not None:
            plan = _plan(network, bridge, predicted, datapath.status().metered, Portions(rest))
            preview = preview_of(plan, left)
            left -= len(preview.items)
            yield bridge, preview


def _plan(
    network: Network, bridge: Bridge, predicted: Prediction, metered: bool, portions: Portions
) -> Plan:
    """The change of a bridge's switch, or of all members of its fabric."""
    number, fabric = bridge.datapath_id, fabric_of(network, bridge)

    def plan(content: Content, ports: Iterable[Port]) -> Plan:
        names = {port.number: port.name for port in ports}
        return compared(*content, metered, names, portions)

    if fabric is None:
        return plan(predicted.contents[number], all_ports(bridge))
    views = ((fabric.view(at), content) for at, content in predicted.members[number].items())
    return FabricPlan([(view.name, plan(own, view.ports.physical())) for view, own in views])


def _cables(bridges: dict[int, Bridge], link: Link) -> list[Cable]:
    """Pairs of switches' ports of a link.

    Members of aggregations whose partners are not known are paired in the order of their numbers.
    """
    pairs = link.members or zip(_members(bridges, link.a), _members(bridges, link.b), strict=False)
    a, b = link.a.datapath_id, link.b.datapath_id
    return [cable(SwitchPort(a, one), SwitchPort(b, other)) for one, other in pairs]


def _members(bridges: dict[int, Bridge], end: End) -> list[int]:
    """Ports of the switch that belong to a port of the bridge."""
    members = bridges[end.datapath_id].lags.members().get(end.port)
    return [end.port] if members is None else sorted(members)
