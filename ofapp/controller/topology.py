"""How the bridges of a network hang together, and who else is at their ports.

Each bridge's part of it is a value, so that it is the same whether this controller looks after the
bridge or another member of its cluster does, and has told.

Two protocols tell of it. Spanning tree knows every link that has a bridge at both ends: whoever is
not designated knows the very port that is. LLDP tells it of the switch's own ports, members of
aggregations too, and with or without spanning tree.

Neither is taken at its word. A link is one between two ports of these bridges. Of what LLDP says,
it is one if each end hears frames that prove to be the other's (`lldp.own`); or if somebody has
marked a port as a link: then what is heard there is believed. Everybody else is a neighbour.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from ofapp.bridge import stp
from ofapp.bridge.answers import switch_ports
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.lldp import AgentStatus, NeighbourStatus, Relative
from ofapp.bridge.lldp.information import MAC_CHASSIS
from ofapp.bridge.stp.vectors import ADDRESS_MASK, PORT_NUMBER_MASK


class End(NamedTuple):
    """One end of a link.  port: of OpenFlow, of the bridge (an aggregation is one) unless it is
    said to be the switch's."""

    datapath_id: int
    port: int


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a bridge knows of what is around it.

    tree: None without spanning tree.  names: of its ports and those of its switch, by number.
    members: of the switch's ports in aggregations, the number of the port that it is to the bridge.
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
    """Of a bridge that this controller looks after.  now: core time."""
    physical = switch_ports(bridge)
    lags = {port.number: bridge.lags.of_member(port.number) for port in physical}
    folded = {number: bridge.ports.named(lag) for number, lag in lags.items() if lag is not None}
    return Surroundings(
        datapath_id=bridge.datapath_id,
        name=bridge.name,
        connected=connected,
        address=bridge.address,
        tree=bridge.stp_around(),
        agents=bridge.lldp_status(now),
        names={port.number: port.name for port in (*physical, *bridge.ports)},
        members={number: port.number for number, port in folded.items() if port is not None},
    )


Source = Literal["lldp", "stp"]


@dataclass(frozen=True, slots=True)
class Link:
    """Two of these bridges' ports with a cable between them, the lower end first.

    tree: what spanning tree has made of each end; None where it does not run.
    seen: seconds since LLDP was heard there; None where it is not.
    members: the ports of the switches, where LLDP tells of them and an end is an aggregation.
    """

    a: End
    b: End
    source: Source
    tree: tuple[stp.PortAround | None, stp.PortAround | None]
    seen: float | None = None
    members: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Somebody who is none of these bridges, as BPDUs or LLDP tell of it; one of the two is None.

    member: the switch's port, where `at` is an aggregation.
    trusted: the port is marked as a link.
    """

    at: End
    member: int | None = None
    bpdu: stp.PortAround | None = None
    lldp: NeighbourStatus | None = None
    trusted: bool = False


@dataclass(frozen=True, slots=True)
class Topology:
    """trees: what spanning tree knows, by datapath id; bridges that run none are not in it."""

    trees: Mapping[int, stp.Around]
    links: list[Link]
    neighbours: list[Neighbour]


def topology(bridges: Iterable[Surroundings]) -> Topology:
    """Links and neighbours in the order of their ends."""
    known = {own.datapath_id: own for own in bridges}
    trees = {number: own.tree for number, own in known.items() if own.tree is not None}
    spanning, discovered = _Trees(trees), _Discovered(known)
    links = {(link.a, link.b): link for link in spanning.links()}
    for link in discovered.links():
        of_tree = links.get((link.a, link.b))
        both = of_tree.tree if of_tree else (spanning.port(link.a), spanning.port(link.b))
        links[link.a, link.b] = replace(link, tree=both)
    neighbours = [*spanning.neighbours(), *discovered.neighbours()]
    ordered = [links[ends] for ends in sorted(links)]
    return Topology(trees, ordered, sorted(neighbours, key=lambda neighbour: neighbour.at))


class _Trees:
    """What spanning tree says; of two bridges with one address, neither can be told."""

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
        """What its tree says of a port."""
        return self._ports.get(end)

    def links(self) -> Iterator[Link]:
        """Those of which one end says what the other is."""
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
    """What LLDP says, by ports of the switches."""

    def __init__(self, bridges: Mapping[int, Surroundings]) -> None:
        self._bridges = bridges
        self._sent = {
            End(number, agent.number): agent.sent
            for number, own in bridges.items()
            for agent in own.agents
        }
        self._heard = [
            (End(datapath_id, agent.number), agent, neighbour)
            for datapath_id, own in bridges.items()
            for agent in own.agents
            for neighbour in agent.neighbours
        ]
        self._proven = {
            (at, far) for at, _, heard in self._heard if (far := self._sender(heard)) is not None
        }
        self._named: dict[tuple[bytes, bytes], End] | None = None

    def links(self) -> Iterator[Link]:
        """Each once; an aggregation's with all that is known of its members."""
        found: dict[tuple[End, End], dict[tuple[End, End], float]] = {}
        for at, agent, heard in self._heard:
            far = self._far(at, agent, heard)
            if far is None:
                continue
            ends = sorted((self._logical(at), self._logical(far)))
            cables = found.setdefault((ends[0], ends[1]), {})
            cable = (at, far) if self._logical(at) == ends[0] else (far, at)
            cables[cable] = min(heard.seen, cables.get(cable, heard.seen))
        for (a, b), cables in found.items():
            seen = min(cables.values())
            folded = any(cable != (a, b) for cable in cables)
            members = tuple(sorted((one.port, other.port) for one, other in cables))
            yield Link(a, b, "lldp", (None, None), seen, members if folded else ())

    def neighbours(self) -> Iterator[Neighbour]:
        """Those that have not proven to be this controller's, and are not believed to be."""
        for at, agent, heard in self._heard:
            if heard.sender is None and self._far(at, agent, heard) is None:
                logical = self._logical(at)
                member = None if logical == at else at.port
                yield Neighbour(logical, member, lldp=heard, trusted=agent.link)

    def _far(self, at: End, agent: AgentStatus, heard: NeighbourStatus) -> End | None:
        """The port at the other end, if that is to be believed."""
        if heard.sender is None:
            return self._claimed(heard) if agent.link else None
        far = self._sender(heard)
        if far is None or far.datapath_id not in self._bridges:
            return None
        return far if agent.link or (far, at) in self._proven else None

    def _sender(self, heard: NeighbourStatus) -> End | None:
        """The port that somebody has proven to be; another member's with a fresh frame."""
        if heard.sender is None:
            return None
        if not isinstance(heard.sender, Relative):
            return End(*heard.sender)
        far = End(*heard.sender.sender)
        return far if heard.sender.serial in self._sent.get(far, ()) else None

    def _claimed(self, heard: NeighbourStatus) -> End | None:
        """The port of these bridges that somebody says to be, whom we believe."""
        if self._named is None:
            self._named = {
                (own.address.to_bytes(6, "big"), agent.name.encode()): End(number, agent.number)
                for number, own in self._bridges.items()
                for agent in own.agents
            }
        said = heard.said
        if said.chassis.subtype != MAC_CHASSIS:
            return None
        return self._named.get((said.chassis.octets, said.port.octets))

    def _logical(self, end: End) -> End:
        """The bridge's port that a port of its switch is, or is a member of."""
        members = self._bridges[end.datapath_id].members
        return End(end.datapath_id, members.get(end.port, end.port))
