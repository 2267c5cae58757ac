"""How the bridges of this controller hang together, and who else is at their ports.

Two protocols tell of it. Spanning tree knows every link that has a bridge at both ends: whoever is
not designated knows the very port that is. LLDP tells it of the switch's own ports, members of
aggregations too, and with or without spanning tree.

Neither is taken at its word. A link is one between two ports that this controller has. Of what LLDP
says, it is one if each end hears frames that prove to be the other's (`lldp.own`); or if somebody
has marked a port as a link: then what is heard there is believed. Everybody else is a neighbour.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from ofapp.bridge import stp
from ofapp.bridge.answers import switch_ports
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.lldp import AgentStatus, NeighbourStatus
from ofapp.bridge.lldp.information import MAC_CHASSIS
from ofapp.bridge.stp.vectors import ADDRESS_MASK, PORT_NUMBER_MASK


class End(NamedTuple):
    """One end of a link.  port: of OpenFlow, of the bridge (an aggregation is one) unless it is
    said to be the switch's."""

    datapath_id: int
    port: int


Source = Literal["lldp", "stp"]


@dataclass(frozen=True, slots=True)
class Link:
    """Two of this controller's ports with a cable between them, the lower end first.

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
    """Somebody who is not this controller's, as BPDUs or LLDP tell of it; one of the two is None.

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


def topology(
    bridges: Iterable[Bridge], now: float, turn: Callable[[], None] = lambda: None
) -> Topology:
    """Links and neighbours in the order of their ends.  now: core time.

    turn: called after each bridge, so that others can do something meanwhile.
    """
    known = {own.datapath_id: own for own in bridges}
    trees: dict[int, stp.Around] = {}
    agents: dict[int, tuple[AgentStatus, ...]] = {}
    for datapath_id, own in known.items():
        agents[datapath_id] = own.lldp_status(now)
        tree = own.stp_around()
        if tree is not None:
            trees[datapath_id] = tree
        turn()
    spanning, discovered = _Trees(trees), _Discovered(known, agents)
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

    def __init__(
        self, bridges: Mapping[int, Bridge], agents: Mapping[int, tuple[AgentStatus, ...]]
    ) -> None:
        self._bridges = bridges
        self._heard = [
            (End(datapath_id, agent.number), agent, neighbour)
            for datapath_id, own in agents.items()
            for agent in own
            for neighbour in agent.neighbours
        ]
        self._proven = {
            (at, End(*heard.sender)) for at, _, heard in self._heard if heard.sender is not None
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
        far = End(*heard.sender)
        if far.datapath_id not in self._bridges:
            return None
        return far if agent.link or (far, at) in self._proven else None

    def _claimed(self, heard: NeighbourStatus) -> End | None:
        """The port of this controller that somebody says to be, whom we believe."""
        if self._named is None:
            self._named = {
                (own.address.to_bytes(6, "big"), port.name.encode()): End(number, port.number)
                for number, own in self._bridges.items()
                for port in switch_ports(own)
            }
        said = heard.said
        if said.chassis.subtype != MAC_CHASSIS:
            return None
        return self._named.get((said.chassis.octets, said.port.octets))

    def _logical(self, end: End) -> End:
        """The bridge's port that a port of its switch is, or is a member of."""
        bridge = self._bridges[end.datapath_id]
        lag = bridge.lags.of_member(end.port)
        port = None if lag is None else bridge.ports.named(lag)
        return end if port is None else End(end.datapath_id, port.number)
