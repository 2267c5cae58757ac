"""Where problems come from: the state of bridges, switches, fabrics, cables and the configuration.

Each source is asked for what is wrong now, and remembers nothing but what is needed for that.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from typing import NamedTuple

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.fabric.status import FabricStatus, LinkState
from ofapp.bridge.problem import Problem
from ofapp.common import hub
from ofapp.config.base import is_pattern
from ofapp.controller.bridges.dispatcher import Shared
from ofapp.controller.configuration.reload import Reloader
from ofapp.controller.fabrics import ManagedFabric
from ofapp.controller.problems import kinds
from ofapp.controller.problems.cables import Cables, Socket
from ofapp.controller.problems.file_on_disk import FileOnDisk
from ofapp.controller.problems.stored_cables import Stored
from ofapp.controller.state.document import Store
from ofapp.controller.topology import Surroundings, surroundings

REFUSALS = 3
"""Most refusals of a switch that a text has."""
PACE = 0.02
"""Seconds between two bridges.  Without a pause, 24 bridges that share a busy ovs-vswitchd learned
for 6 to 10 s after a flood of new addresses, and for less than 4 s with it [measured].  The cause
is not known.
"""
OBSERVE = 5.0
"""Seconds between two times that all cables are looked for while none is missing: 100 bridges take
50 ms.  A lost carrier is noticed at each review."""
_LINKED = (LinkState.CARRIES, LinkState.UNREACHABLE)
"""States of links that are no problem by themselves: a disconnected member is the problem."""


class Found(NamedTuple):
    """A problem, and the bridge that it is about; None for the controller."""

    bridge: Bridge | None
    problem: Problem


class Sources:
    """All sources of one controller.

    unsaved: why state cannot be saved; None while all is saved.
    alone: no other controller may have the bridges that this controller does not know.
    """

    def __init__(
        self,
        shared: Shared,
        reloader: Reloader,
        fabrics: Mapping[str, ManagedFabric],
        stored: Store[Stored],
        unsaved: Callable[[], str | None],
        alone: bool,
    ) -> None:
        self._alone = alone
        self._registry = shared.registry
        self._running = shared.running
        self._file = FileOnDisk(reloader)
        self._fabrics = fabrics
        self._stored = stored
        self._unsaved = unsaved
        self._cables = Cables()
        self._remembered: set[int] = set()
        self._observed = -OBSERVE
        self._some_missing = False

    def problems(self) -> Iterator[Found]:
        """All that is wrong now; other greenlets run in between."""
        for _, bridge in sorted(self._registry.bridges.items()):
            for problem in self._of_bridge(bridge):
                yield Found(bridge, problem)
            hub.sleep(PACE)
        # Cables (`missing_cables`) are not looked for until that is tried with test_flooded
        # (tests/mininet), which failed without PACE and passed with it, without cables.
        for fabric in [*self._fabrics.values()]:
            for problem in of_fabric(fabric.status(time.monotonic())):
                yield Found(fabric.bridge, problem)
        yield from (Found(None, problem) for problem in self._of_controller())

    def judges(self, bridge: int | None) -> bool:
        """Whether what is wrong with a bridge, or (None) with controllers, is known here alone."""
        return self._alone if bridge is None else bridge in self._registry.bridges

    def forget_cable(self, datapath_id: int, port: str) -> bool:
        """Forget the missing cables of a port, by its name; whether there was one."""
        before = {*self._cables}
        known = self._cables.forget(Socket(datapath_id, port))
        self._save({cable.a.datapath_id for cable in before.difference(self._cables)})
        return known

    # Inside

    def _of_bridge(self, bridge: Bridge) -> Iterator[Problem]:
        datapath = self._registry.datapath(bridge)
        if datapath is None:
            yield kinds.DISCONNECTED.at("the switch is not connected")
            return
        yield from bridge.problems(time.monotonic())
        status = datapath.status()
        if status.owner is not None:
            yield kinds.STANDBY.at(f"{status.owner} is master of the switch")
        elif status.refused:
            refused = [*status.refused]
            more = f" and {len(refused) - REFUSALS} more" if len(refused) > REFUSALS else ""
            text = f"the switch refuses {', '.join(refused[:REFUSALS])}{more}"
            yield kinds.REFUSED.at(
                text, data={"refused": refused[:REFUSALS], "count": len(refused)}
            )
        elif not status.in_line:
            yield kinds.OUT_OF_SYNC.at("the switch does not hold all that its bridge wants")
        if status.owner is None and bridge.ports.complete:
            yield from self._named_ports(bridge)

    def _named_ports(self, bridge: Bridge) -> Iterator[Problem]:
        """Ports that the configuration names and the bridge does not have."""
        keys = self._running.keys(bridge.datapath_id)
        if len(keys) > 1:
            text = f"the file has the sections {keys[0]} and {keys[1]}; {keys[0]} counts"
            yield kinds.TWO_SECTIONS.at(text, data={"sections": keys})
        named = [
            key for key in self._running.filed(bridge.datapath_id).ports if not is_pattern(key)
        ]
        if not named:
            return
        ports = bridge.lags.physical(bridge.ports)
        present = {port.name for port in (*ports, *bridge.ports)}
        present |= {str(port.number) for port in ports} | {"LOCAL"}
        free = sorted(present - {*named})
        for key in named:
            if key in present:
                continue
            close = [] if key.isdigit() else get_close_matches(key, free, n=1, cutoff=0.7)
            kind = kinds.UNKNOWN_PORT if close else kinds.ABSENT_PORT
            hint = f"; is {close[0]} meant?" if close else ""
            text = f"the configuration names port {key}, which the bridge does not have{hint}"
            yield kind.at(text, subject=key, data={"port_name": key})

    def missing_cables(self) -> list[tuple[int, Problem]]:
        """Cables that are missing."""
        bridges = {**self._registry.bridges}
        for datapath_id in bridges.keys() - self._remembered:
            self._cables.remember(self._stored.load(datapath_id) or ())
        self._remembered = {*bridges}
        if self._some_missing or time.monotonic() >= self._observed + OBSERVE:
            self._observe(bridges)
        connected = bridges.keys() & self._registry.datapaths.keys()
        names = {datapath_id: bridges[datapath_id].name for datapath_id in connected}
        missing = [*self._cables.problems(names, self._down())]
        self._some_missing = bool(missing)
        return missing

    def _observe(self, bridges: Mapping[int, Bridge]) -> None:
        """Learn the present cables of all bridges."""
        around: dict[int, Surroundings] = {}
        for datapath_id, bridge in bridges.items():
            connected = datapath_id in self._registry.datapaths
            around[datapath_id] = surroundings(bridge, connected, time.monotonic())
            hub.sleep(PACE)
        before = {*self._cables}
        if self._cables.observe(around):
            changed = before.symmetric_difference(self._cables)
            self._save({cable.a.datapath_id for cable in changed})
        self._observed = time.monotonic()

    def _down(self) -> dict[Socket, str]:
        """Why a remembered socket cannot be linked now."""
        down = {}
        for cable in self._cables:
            for end in cable:
                bridge = self._registry.bridges.get(end.datapath_id)
                if bridge is None:
                    continue
                ports = (*bridge.ports, *bridge.lags.physical(bridge.ports))
                port = next((port for port in ports if port.name == end.port), None)
                if port is None:
                    down[end] = "is no port any more"
                elif not port.up:
                    down[end] = "has no carrier"
        return down

    def _save(self, datapath_ids: set[int]) -> None:
        for datapath_id in datapath_ids & self._registry.bridges.keys():
            own = [cable for cable in self._cables if cable.a.datapath_id == datapath_id]
            self._stored.save(datapath_id, tuple(own))

    def _of_controller(self) -> Iterator[Problem]:
        yield from self._file.problems()
        if (why := self._unsaved()) is not None:
            yield kinds.UNSAVED.at(f"what is set at run time cannot be saved: {why}")
        if self._alone:
            yield from self._named_bridges()

    def _named_bridges(self) -> Iterator[Problem]:
        """Sections of the file for bridges that are not known."""
        used = {key for known in self._registry.bridges for key in self._running.keys(known)}
        config = self._running.config
        names = [bridge.name for bridge in self._registry.bridges.values()]
        for key in config.bridges.keys() - used - config.fabrics.keys():
            close = get_close_matches(key, names, n=1, cutoff=0.7)
            hint = f"; is {close[0]} meant?" if close else ""
            text = f"the file has settings for bridge {key}, which has not connected{hint}"
            yield kinds.UNKNOWN_BRIDGE.at(text, subject=key, data={"section": key})


def of_fabric(status: FabricStatus) -> Iterator[Problem]:
    """Members and links of a fabric that do not do their work."""
    name = status.name
    for member in status.members:
        data = {"fabric": name, "member": member.name}
        if not member.connected:
            text = f"member {name}/{member.name} is not connected"
            yield kinds.FABRIC_MEMBER.at(text, subject=member.name, data=data)
        elif member.refuses:
            text = f"member {name}/{member.name} refuses flows of the fabric"
            yield kinds.FABRIC_MEMBER.at(text, subject=member.name, data=data)
    for link in status.links:
        if link.state not in _LINKED:
            other = link.other or "its other end"
            text = f"the link from {link.one} to {other} {link.state.value}: {link.reason}"
            data = {"fabric": name, "port_name": link.one}
            yield kinds.FABRIC_LINK.at(text, subject=f"{link.one}-{link.other}", data=data)
    if status.paused:
        text = f"protocols of {name} are paused: {status.paused}"
        yield kinds.FABRIC_PAUSED.at(text, data={"fabric": name})
