"""A copy of a fabric in the twin: its members, and the cables between their link ports.

Members carry out at once what the fabric wants. A link port has a number here that no port of the
fabric's bridge has, so that each cable leads from one port of a bridge to another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.desired import Desired
from ofapp.bridge.effects import Effect, ForFabric, OnMember, SendFrame
from ofapp.bridge.fabric.fabric import Fabric
from ofapp.bridge.fabric.plans.graph import End, Graph, Link
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.twin.cable import Cable, SwitchPort, cable
from ofapp.common.portions import AT_ONCE

LINKS = 1 << 24
"""Numbers of link ports are from here on; OpenFlow's are below 2 to the power of 16."""

NOTICED = 15.0
"""Seconds until the controller gives up a switch without power: three echo requests."""

MOST_COMPARED = 32
"""Most members of a fabric whose paths are compared: there are paths between each two."""

Links = tuple[tuple[str, str], ...]
"""A path: links, each with the names of the ports where frames leave and enter."""

Paths = Mapping[tuple[int, int], tuple[Links, ...]]
"""Paths between two members of a fabric, by their datapath ids."""


class PathChange(NamedTuple):
    """Paths between two members, by their datapath ids, that differ afterwards."""

    a: int
    b: int
    before: tuple[Links, ...]
    after: tuple[Links, ...]


def link_port(fabric: Fabric, end: End) -> SwitchPort:
    """The port of a bridge that a link port is here."""
    return SwitchPort(fabric.bridge.datapath_id, LINKS + (end.member << 16) + end.port)


class FabricCopy:
    """A copy of a fabric, and its members' switches.

    off: numbers of members that have no power.
    runs_lacp: LACP runs in the copy.
    replanned: members hold something else than when this was set to False.
    """

    def __init__(self, original: Fabric, bridge: Bridge, now: float) -> None:
        """bridge: the copy of the fabric's bridge, which has its ports."""
        self.fabric = original.copied(bridge)
        self.off: set[int] = set()
        self.runs_lacp = self.replanned = False
        members = original.status(now).members
        self._connected = {each.number for each in members if each.connected}
        self._refusing = {each.number for each in members if each.refuses}
        self._places: dict[int, End] = {}
        self.names: dict[SwitchPort, str] = {}
        for name, end in original.links.ports().items():
            port = link_port(original, end)
            self._places[port.port], self.names[port] = end, name
        for member in original.params.present:
            for number in self.fabric.view(member).ports.edges:
                known = self.fabric.number(member, number)
                if known is not None:
                    self._places[known] = End(member, number)

    # Members and ports

    def members(self) -> dict[int, int]:
        """Numbers of members that have power, by the datapath ids of their switches."""
        present = self.fabric.params.present.items()
        return {each.datapath_id: at for at, each in present if at not in self.off}

    def switch_names(self) -> dict[int, str]:
        """Names of members' switches with that of the fabric before it, by datapath id."""
        params = self.fabric.params
        present = params.present.values()
        return {each.datapath_id: f"{params.name}/{each.name}" for each in present}

    def unmanaged(self) -> list[str]:
        """Names of members that are without the controller, or refuse their plan, all the time."""
        managed = self._connected - self._refusing
        params = self.fabric.params
        return [
            f"{params.name}/{each.name}" for at, each in params.present.items() if at not in managed
        ]

    def switch_at(self, port: int) -> int:
        """Datapath id of the switch that has a port; of an aggregation the first in use."""
        known = self._places.get(port)
        member = self.fabric.member_of(port) if known is None else known.member
        return self.fabric.params.members[(member or 1) - 1].datapath_id

    def is_off(self, port: int) -> bool:
        """Whether a port is at a member without power."""
        place = self._places.get(port)
        return place is not None and place.member in self.off

    def is_at(self, port: int, datapath_id: int) -> bool:
        """Whether a port that is no aggregation is at a member's switch."""
        return port in self._places and self.switch_at(port) == datapath_id

    def cables(self) -> Iterator[Cable]:
        """Cables between members."""
        for one, other in self.fabric.links.cables():
            yield cable(link_port(self.fabric, one), link_port(self.fabric, other))

    def graph(self, cables: Iterable[Cable]) -> Graph:
        """Members that have power, and those of these cables that are links between them."""
        own = self.fabric.bridge.datapath_id
        ends = (
            (self._places[a.port], self._places[b.port])
            for a, b in cables
            if a.datapath_id == b.datapath_id == own and min(a.port, b.port) >= LINKS
        )
        return Graph(tuple(self.members().values()), tuple(sorted(Link(*each) for each in ends)))

    def meeting(self, cables: Iterable[Cable]) -> frozenset[tuple[int, int]]:
        """Pairs of members that reach each other, by datapath id, the lower first."""
        ids = {number: datapath_id for datapath_id, number in self.members().items()}
        return frozenset(
            (min(ids[one], ids[other]), max(ids[one], ids[other]))
            for one, other in self.fabric.meeting(self.graph(cables))
        )

    def paths(self, cables: Iterable[Cable]) -> Paths:
        """The paths between each two members that have power."""
        ids = {number: datapath_id for datapath_id, number in self.members().items()}
        return {
            (ids[one], ids[other]): tuple(
                sorted(tuple((hop.out, hop.into) for hop in path) for path in found)
            )
            for one, other, found in self.fabric.paths(self.graph(cables))
        }

    def desired(self, params: BridgeParams | None) -> dict[int, Desired]:
        """The desired state of members that are programmed.  params: those of the bridge."""
        members = sorted(self._connected - self.off)
        return {at: self.fabric.view(at).desired_as_of_now(params)(AT_ONCE) for at in members}

    # Inputs

    def set_link(self, port: int, up: bool, now: float) -> list[Effect]:
        """Set the link of a member's port up or down; KeyError without such a port."""
        member, number = self._places[port]
        view = self.fabric.view(member)
        known = view.ports.known(number)
        if known is None or known.up is up or member not in self._connected - self.off:
            return []
        return view.put_ports([replace(known, up=up, live=up)], now)

    def hear(self, port: int, frame: bytes, now: float) -> list[Effect]:
        """Handle a probe that arrives at a link port."""
        member, number = self._places[port]
        return self.fabric.view(member).hear("probe", [(number, frame)], now)

    def disconnect(self, members: Iterable[int], now: float) -> list[Effect]:
        """Note that members have lost their connection to the controller."""
        return [each for at in members for each in self.fabric.disconnected(at, now)]

    def disconnect_all(self, now: float) -> list[Effect]:
        """Note that all members have lost their connection."""
        return self.disconnect(sorted(self._connected - self.off), now)

    def reconnect(self, links: Mapping[int, bool], now: float) -> Iterator[list[Effect]]:
        """Connect members again.  links: ports whose link has changed meanwhile."""
        members = sorted(self._connected - self.off)
        for member in members:
            self.fabric.view(member).resume(now)
        for member in members:
            for port in (port for port in links if self._places[port].member == member):
                yield self.set_link(port, links[port], now)
            yield self.fabric.view(member).go_on(now)

    def tick(self, now: float) -> list[Effect]:
        """Let time pass; due at `next_wakeup`."""
        return self.fabric.tick(now)

    def next_wakeup(self) -> float | None:
        """When `tick` is due; None when nothing is."""
        return self.fabric.next_wakeup()

    # Effects

    def carry_out(self, effects: Iterable[Effect], now: float) -> list[Effect]:
        """Have members carry effects out; gives all effects, with frames of links as `SendFrame`.

        Call it for all effects, in their order.
        """
        plain = [each for effect in effects for each in _of_bridge(effect)]
        self.fabric.steps(plain)
        while contents := self.fabric.contents(now):
            self.replanned = True
            for member, content in contents:
                if member in self._refusing:
                    plain += self.fabric.refuse(member, now)
                elif member not in self.off:
                    plain += self.fabric.confirm(member, content, now)
        if not self.runs_lacp:
            self.fabric.bridge.lags.clock.pause(now)
        return [*map(self._numbered, plain)]

    def _numbered(self, effect: Effect) -> Effect:
        if not (isinstance(effect, OnMember) and isinstance(effect.effect, SendFrame)):
            return effect
        ends = (End(effect.member, port) for port in effect.effect.ports)
        ports = frozenset(link_port(self.fabric, end).port for end in ends)
        return replace(effect.effect, ports=ports)


def paths_of(fabrics: Iterable[FabricCopy], cables: Iterable[Cable]) -> Paths:
    """The paths through fabrics with at most `MOST_COMPARED` members."""
    few = [fabric for fabric in fabrics if len(fabric.members()) <= MOST_COMPARED]
    return {pair: found for fabric in few for pair, found in fabric.paths(cables).items()}


def changed(before: Paths, after: Paths) -> tuple[PathChange, ...]:
    """The paths that differ."""
    pairs = sorted(before.keys() | after.keys())
    changes = (PathChange(*pair, before.get(pair, ()), after.get(pair, ())) for pair in pairs)
    return tuple(each for each in changes if each.before != each.after)


def _of_bridge(effect: Effect) -> Iterable[Effect]:
    return effect.effects if isinstance(effect, ForFabric) else (effect,)
