"""How the bridges of this controller hang together, and who else is at their ports.

Spanning tree says it of every link that has a bridge at both ends: whoever is not designated knows
the very port that is. What a neighbour claims is taken for a link only if a bridge of this
controller has that address and that port: everybody else is a neighbour.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ofapp.bridge import stp
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.stp.vectors import ADDRESS_MASK, PORT_NUMBER_MASK


class End(NamedTuple):
    """One end of a link.  port: of OpenFlow; an aggregation is one."""

    datapath_id: int
    port: int


@dataclass(frozen=True, slots=True)
class Link:
    """Two of this controller's ports with a cable between them, the lower end first.

    tree: what spanning tree has made of each end; None where it does not run.
    """

    a: End
    b: End
    tree: tuple[stp.PortAround | None, stp.PortAround | None]


@dataclass(frozen=True, slots=True)
class ForeignBridge:
    """A bridge that is not this controller's, as its BPDUs tell of it.

    bridge: its identifier, with priority 0 where only the address is known; far_port: see
    `stp.PortAround`.
    """

    at: End
    bridge: int
    far_port: int | None


@dataclass(frozen=True, slots=True)
class Topology:
    """trees: what spanning tree knows, by datapath id; bridges that run none are not in it."""

    trees: Mapping[int, stp.Around]
    links: list[Link]
    neighbours: list[ForeignBridge]


def topology(bridges: Iterable[Bridge]) -> Topology:
    """Of this moment; links and neighbours in the order of their ends."""
    trees = {own.datapath_id: own.stp_around() for own in bridges}
    known = {datapath_id: tree for datapath_id, tree in trees.items() if tree is not None}
    links: dict[tuple[End, End], Link] = {}
    neighbours: list[ForeignBridge] = []
    own = _Own(known)
    for at, port in own.ends():
        if not port.bridge:
            continue
        if not own.has(port.bridge):
            neighbours.append(ForeignBridge(at, port.bridge, port.far_port))
            continue
        far = None if port.far_port is None else own.find(port.bridge, port.far_port)
        if far is not None and far != at:  # the far end says what this one does not
            a, b = sorted((at, far))
            links[a, b] = Link(a, b, (own.port(a), own.port(b)))
    ordered = [links[ends] for ends in sorted(links)]
    return Topology(known, ordered, sorted(neighbours, key=lambda neighbour: neighbour.at))


class _Own:
    """The trees of this controller, by what BPDUs say of them; of two with one address, neither."""

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

    def ends(self) -> Iterator[tuple[End, stp.PortAround]]:
        """All ports."""
        yield from self._ports.items()

    def port(self, end: End) -> stp.PortAround | None:
        """What its tree says of a port."""
        return self._ports.get(end)

    def has(self, bridge_id: int) -> bool:
        """Whether a bridge of this controller goes by that address."""
        return bridge_id & ADDRESS_MASK in self._by_address

    def find(self, bridge_id: int, port_id: int) -> End | None:
        """The port that this designates; None where nobody can say."""
        named = self._by_address.get(bridge_id & ADDRESS_MASK, ())
        if len(named) != 1:
            return None
        return self._by_number.get(End(named[0], port_id & PORT_NUMBER_MASK))
