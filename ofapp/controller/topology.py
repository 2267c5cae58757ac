"""The topology of a network: links between its bridges, and other neighbours at their ports.

Each bridge's part of it is a value, so that it is the same whether this controller manages the
bridge or another member of its cluster does and reports it.

Two protocols provide it. Spanning tree knows every link with a bridge at both ends: a port that is
not designated knows the designated port. LLDP knows the links of the switch's ports, members of
aggregations too, with or without spanning tree.

Neither is trusted blindly. A link is one between two ports of these bridges. LLDP makes a link if
each end receives frames that are authenticated as the other's (`lldp.own`), or if a port is
configured as a link: then the LLDP received there is trusted. All others are neighbours.
"""

from __future__ import annotations

import time
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from ofapp.bridge import stp
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.lldp import AgentStatus, NeighbourStatus, Relative
from ofapp.bridge.lldp.information import MAC_CHASSIS
from ofapp.bridge.queries import all_ports, switch_ports
from ofapp.bridge.stp.vectors import ADDRESS_MASK, PORT_NUMBER_MASK
from ofapp.common import hub


class End(NamedTuple):
    """One end of a link.  port: OpenFlow number of the bridge's port (an aggregation is one),
    unless said to be the switch's."""

    datapath_id: int
    port: int


@dataclass(frozen=True, slots=True)
class Surroundings:
    """A bridge's knowledge of its neighbourhood.

    tree: None without spanning tree.
    names: names of bridge ports and switch ports, by port number.
    members: number of the aggregation's port on the bridge, by number of the member port.
    """

    datapath_id: int
    name: str
    connected: bool
    address: int
    tree: stp.Around | None
    agents: tuple[AgentStatus, ...]
    names: Mapping[int, str]
    members: Mapping[int, int]


def surroundings(bridge: Bridge, connected: bool, now: float) -> Surroundings:
    """Surroundings of a bridge that this controller manages.  now: core time."""
    physical = switch_ports(bridge)
    lags = {port.number: bridge.lags.of_member(port.number) for port in physical}
    folded = {number: bridge.ports.named(lag) for number, lag in lags.items() if lag is not None}
    return Surroundings(
        datapath_id=bridge.datapath_id,
        name=bridge.name,
        connected=connected,
        address=bridge.address,
        tree=bridge.stp.around(),
        agents=bridge.lldp.status(now),
        names={port.number: port.name for port in all_ports(bridge)},
        members={number: port.number for number, port in folded.items() if port is not None},
    )


def around(bridges: Mapping[int, Bridge], connected: Container[int]) -> list[Surroundings]:
    """Surroundings of bridges, by datapath id; other greenlets run in between.

    connected: datapath ids of connected switches.
    """
    result = []
    for datapath_id, bridge in sorted(bridges.items()):
        result.append(surroundings(bridge, datapath_id in connected, time.monotonic()))
        hub.sleep(0)
    return result


Source = Literal["lldp", "stp"]


@dataclass(frozen=True, slots=True)
class Link:
    """Two of these bridges' ports with a cable between them, the lower end first.

    tree: spanning tree's state of each end; None where it does not run.
    seen: seconds since LLDP was received there; None where it is not.
    members: ports of the switches, where LLDP announces them and an end is an aggregation.
    """

    a: End
    b: End
    source: Source
    tree: tuple[stp.PortAround | None, stp.PortAround | None]
    seen: float | None = None
    members: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A neighbour that is none of these bridges, known by `bpdu` or `lldp`; the other is None.

    member: the switch's port, where `at` is an aggregation.
    trusted: the port is configured as a link.
    """

    at: End
    member: int | None = None
    bpdu: stp.PortAround | None = None
    lldp: NeighbourStatus | None = None
    trusted: bool = False


@dataclass(frozen=True, slots=True)
class Topology:
    """trees: spanning tree's knowledge, by datapath id; bridges without one are not in it."""

    trees: Mapping[int, stp.Around]
    links: list[Link]
    neighbours: list[Neighbour]


def topology(bridges: Iterable[Surroundings]) -> Topology:
    """Links and neighbours in the order of their ends."""
    known = {bridge.datapath_id: bridge for bridge in bridges}
    trees = {number: bridge.tree for number, bridge in known.items() if bridge.tree is not None}
    spanning, discovered = _Trees(trees), _Discovered(known)
    links = {(link.a, link.b): link for link in spanning.links()}
    for link in discovered.links():
        of_tree = links.get((link.a, link.b))
        both = of_tree.tree if of_tree else (spanning.port(link.a), spanning.port(link.b))
        links[link.a, link.b] = replace(link, tree=both)
    neighbours = [*spanning.neighbours(), *discovered.neighbours()]
    ordered = [links[ends] for ends in sorted(links)]
    return Topology(trees, ordered, sorted(neighbours, key=lambda neighbour: neighbour.at))


def link_ends(bridges: Iterable[Surroundings]) -> set[End]:
    """The ports that lead from one of these bridges to another."""
    return {end for link in topology(bridges).links for end in (link.a, link.b)}


class _Trees:
    """Topology by spanning tree; two bridges with the same address cannot be identified."""

    def __init__(self, trees: Mapping[int, stp.Around]) -> None:
        self._by_address: dict[int, list[int]] = {}
        self._ports: dict[End, stp.PortAround] = {}
        self._by_number: dict[End, End] = {}
        for datapath_id, tree in trees.items():
            self._by_address.setdefault(tree.bridge_id & ADDRESS_MASK, []).append(datapath_id)
            for port in tree.ports:
                end = End(datapath_id, port.port)
                self._ports[end] = port
                self._by_number[End(datapath_id, port.number)] = end

    def port(self, end: End) -> stp.PortAround | None:
        """Spanning tree's knowledge of a port."""
        return self._ports.get(end)

    def links(self) -> Iterator[Link]:
        """Links of which one end knows the other."""
        for at, port in self._ports.items():
            far = self._far(port)
            if far is not None and far != at:
                a, b = sorted((at, far))
                yield Link(a, b, "stp", (self._ports[a], self._ports[b]))

    def neighbours(self) -> Iterator[Neighbour]:
        """Bridges that are not this controller's."""
        for at, port in self._ports.items():
            if port.bridge and port.bridge & ADDRESS_MASK not in self._by_address:
                yield Neighbour(at, bpdu=port)

    def _far(self, port: stp.PortAround) -> End | None:
        named = self._by_address.get(port.bridge & ADDRESS_MASK, ())
        if port.far_port is None or len(named) != 1:
            return None
        return self._by_number.get(End(named[0], port.far_port & PORT_NUMBER_MASK))


class _Discovered:
    """Topology by LLDP, by ports of the switches."""

    def __init__(self, bridges: Mapping[int, Surroundings]) -> None:
        self._bridges = bridges
        self._sent = {
            End(number, agent.number): agent.sent
            for number, bridge in bridges.items()
            for agent in bridge.agents
        }
        self._heard = [
            (End(datapath_id, agent.number), agent, neighbour)
            for datapath_id, bridge in bridges.items()
            for agent in bridge.agents
            for neighbour in agent.neighbours
        ]
        self._proven = {
            (at, far) for at, _, heard in self._heard if (far := self._sender(heard)) is not None
        }
        self._named: dict[tuple[bytes, bytes], End] | None = None

    def links(self) -> Iterator[Link]:
        """Each link once; an aggregation's with all known members."""
        result: dict[tuple[End, End], dict[tuple[End, End], float]] = {}
        for at, agent, heard in self._heard:
            far = self._far(at, agent, heard)
            if far is None:
                continue
            ends = sorted((self._logical(at), self._logical(far)))
            cables = result.setdefault((ends[0], ends[1]), {})
            cable = (at, far) if self._logical(at) == ends[0] else (far, at)
            cables[cable] = min(heard.seen, cables.get(cable, heard.seen))
        for (a, b), cables in result.items():
            seen = min(cables.values())
            folded = any(cable != (a, b) for cable in cables)
            members = tuple(sorted((one.port, other.port) for one, other in cables))
            yield Link(a, b, "lldp", (None, None), seen, members if folded else ())

    def neighbours(self) -> Iterator[Neighbour]:
        """Neighbours that are not identified as this controller's, by proof or by trust."""
        for at, agent, heard in self._heard:
            if heard.sender is None and self._far(at, agent, heard) is None:
                logical = self._logical(at)
                member = None if logical == at else at.port
                yield Neighbour(logical, member, lldp=heard, trusted=agent.link)

    def _far(self, at: End, agent: AgentStatus, heard: NeighbourStatus) -> End | None:
        """The port at the other end, if it is authenticated or trusted."""
        if heard.sender is None:
            return self._claimed(heard) if agent.link else None
        far = self._sender(heard)
        if far is None or far.datapath_id not in self._bridges:
            return None
        return far if agent.link or (far, at) in self._proven else None

    def _sender(self, heard: NeighbourStatus) -> End | None:
        """The authenticated port of the sender; another member's only with a fresh frame."""
        if heard.sender is None:
            return None
        if not isinstance(heard.sender, Relative):
            return End(*heard.sender)
        far = End(*heard.sender.sender)
        return far if heard.sender.serial in self._sent.get(far, ()) else None

    def _claimed(self, heard: NeighbourStatus) -> End | None:
        """The port of these bridges that a trusted sender claims to be."""
        if self._named is None:
            self._named = {
                (bridge.address.to_bytes(6, "big"), agent.name.encode()): End(number, agent.number)
                for number, bridge in self._bridges.items()
                for agent in bridge.agents
            }
        said = heard.said
        if said.chassis.subtype != MAC_CHASSIS:
            return None
        return self._named.get((said.chassis.octets, said.port.octets))

    def _logical(self, end: End) -> End:
        """The bridge's port of a switch's port: itself, or its aggregation."""
        members = self._bridges[end.datapath_id].members
        return End(end.datapath_id, members.get(end.port, end.port))
