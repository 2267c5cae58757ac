"""Where problems come from: the state of bridges, switches, fabrics, cables and the configuration.

Each source is asked for what is wrong now, and remembers nothing but what is needed for that.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.fabric.status import FabricStatus, LinkState
from ofapp.bridge.problem import Problem, ProblemKind
from ofapp.common import hub
from ofapp.common.peer import host
from ofapp.common.words import listed
from ofapp.config.base import is_pattern
from ofapp.controller.bridges.datapath import Datapath
from ofapp.controller.bridges.dispatcher import Shared
from ofapp.controller.bridges.owners import Alone, Owners
from ofapp.controller.configuration.reload import Reloader
from ofapp.controller.configuration.versioned import ConfigurationVersions
from ofapp.controller.managed_fabric import ManagedFabric
from ofapp.controller.problems import kinds
from ofapp.controller.problems.absent import AbsentSwitches
from ofapp.controller.problems.cables.watch import CableWatch
from ofapp.controller.problems.certificates import Certificates
from ofapp.controller.problems.file_on_disk import FileOnDisk
from ofapp.controller.problems.notifier import Notifier
from ofapp.controller.problems.overload import problems as overload
from ofapp.controller.state.store import State

REFUSALS = 3
"""Most refusals of a switch that a text has."""
_LINKED = (LinkState.CARRIES, LinkState.UNREACHABLE)
"""States of links that are no problem by themselves: a disconnected member is the problem."""


class Found(NamedTuple):
    """A problem, and the bridge that it is about; None for the controller."""

    bridge: Bridge | None
    problem: Problem


class Sources:
    """All sources of one controller.

    cables: those between its bridges.
    absent: switches that have not come back since the controller started.
    owners: whether other controllers may have the bridges that this controller does not know.
    certificates: those in files of the launch options.
    """

    def __init__(
        self,
        shared: Shared,
        reloader: Reloader,
        versions: ConfigurationVersions,
        fabrics: Mapping[str, ManagedFabric],
        state: State,
        owners: Owners,
        notifier: Notifier,
    ) -> None:
        self._notifier = notifier
        self._alone = isinstance(owners, Alone)
        self._owners = owners
        self._registry = shared.registry
        self._running = shared.running
        self._file = FileOnDisk(reloader, versions)
        self._fabrics = fabrics
        self._state = state
        self.certificates = Certificates({})
        self.cables = CableWatch(shared.registry, state.cables)
        self.absent = AbsentSwitches(shared.registry, state.known)

    def problems(self) -> Iterator[Found]:
        """All that is wrong now; other greenlets run in between."""
        for _, bridge in sorted(self._registry.bridges.items()):
            for problem in self._of_bridge(bridge):
                yield Found(bridge, problem)
            hub.sleep(0)
        yield from (Found(*each) for each in self.cables.problems())
        for fabric in [*self._fabrics.values()]:
            for problem in of_fabric(fabric.status(time.monotonic())):
                yield Found(fabric.bridge, problem)
        yield from (Found(None, problem) for problem in self._of_controller())

    def judges(self, bridge: int | None) -> bool:
        """Whether what is wrong with a bridge, or (None) with controllers, is known here alone."""
        return self._alone if bridge is None else bridge in self._registry.bridges

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
            others = [words for words in status.refused if words not in status.full]
            for kind, refused in ((kinds.FULL, status.full), (kinds.REFUSED, others)):
                if refused:
                    yield _refused(kind, refused)
        elif not status.in_line:
            yield kinds.OUT_OF_SYNC.at("the switch does not hold all that its bridge wants")
        if status.foreign:
            text = f"the switch has flows that another program has set: {status.foreign}"
            yield kinds.FOREIGN.at(text, data={"flows": status.foreign})
        if alike := same_zones(bridge, self._registry.datapaths.values()):
            text = f"{', '.join(alike)} has the same connection tracking zones"
            yield kinds.SHARED_ZONES.at(text, data={"bridges": alike})
        yield from overload(status)
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
        for key in {*named} - present:
            free = sorted(present - {*named})
            close = [] if key.isdigit() else get_close_matches(key, free, n=1, cutoff=0.7)
            kind = kinds.UNKNOWN_PORT if close else kinds.ABSENT_PORT
            hint = f"; is {close[0]} meant?" if close else ""
            text = f"the configuration names port {key}, which the bridge does not have{hint}"
            yield kind.at(text, subject=key, data={"port_name": key})

    def _of_controller(self) -> Iterator[Problem]:
        yield from self._file.problems()
        if (why := self._state.unsaved) is not None:
            yield kinds.UNSAVED.at(f"what is set at run time cannot be saved: {why}")
        yield from self.certificates.problems()
        yield from self._owners.problems()
        yield from self._notifier.problems()
        if self._alone:
            yield from self.absent.problems(self._running.config.forget_after)
            yield from self._named_bridges()

    def _named_bridges(self) -> Iterator[Problem]:
        """Sections of the file for bridges that are not known."""
        used = {key for known in self._registry.bridges for key in self._running.keys(known)}
        config = self._running.config
        names = [bridge.name for bridge in self._registry.bridges.values()]
        for key in config.bridges.keys() - used - config.fabrics.keys():
            if self.absent.find(key) is not None:
                continue
            close = get_close_matches(key, names, n=1, cutoff=0.7)
            hint = f"; is {close[0]} meant?" if close else ""
            text = f"the file has settings for bridge {key}, which has not connected{hint}"
            yield kinds.UNKNOWN_BRIDGE.at(text, subject=key, data={"section": key})


def _refused(kind: ProblemKind, refused: Sequence[str]) -> Problem:
    """A problem with what a switch refuses, in words."""
    text = f"the switch refuses {listed(refused, REFUSALS)}"
    return kind.at(text, data={"refused": [*refused[:REFUSALS]], "count": len(refused)})


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


def same_zones(bridge: Bridge, datapaths: Iterable[Datapath]) -> list[str]:
    """Names of the other bridges that track connections in the zones of this one.

    Switches do not report which process they run in: connections from one address are taken for
    bridges of one ovs-vswitchd.
    """
    if not bridge.tracks_connections:
        return []
    hosts = {each.bridge: host(each.channel.address) for each in datapaths}
    return [
        other.name
        for other, address in hosts.items()
        if other is not bridge
        and address == hosts.get(bridge)
        and other.tracks_connections
        and other.first_zone == bridge.first_zone
    ]
