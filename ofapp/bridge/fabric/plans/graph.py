"""Members of a fabric and the links between them, as a value."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ofapp.bridge.effects.fabric import Hop


class End(NamedTuple):
    """Port of a member, where a link ends."""

    member: int
    port: int


class Link(NamedTuple):
    """Cable between two members; parallel cables are links of different ports.

    cost: cost of the whole link, equal in both directions; less is better, as in spanning tree.
    """

    one: End
    other: End
    cost: int = 1


@dataclass(frozen=True)
class Graph:
    """Members, and the links that carry frames."""

    members: tuple[int, ...]
    links: tuple[Link, ...]

    def __deepcopy__(self, _memo: object) -> Graph:
        return self  # a large value, which never changes

    @cached_property
    def hops(self) -> Mapping[int, tuple[Hop, ...]]:
        """Hops from each member; their order does not depend on that of the links."""
        hops: dict[int, list[Hop]] = defaultdict(list)
        for one, other, cost in self.links:
            hops[one.member].append(Hop(one.port, other.member, other.port, cost))
            hops[other.member].append(Hop(other.port, one.member, one.port, cost))
        return {member: tuple(sorted(hops[member])) for member in self.members}

    @cached_property
    def parts(self) -> Mapping[int, int]:
        """The first member of the connected part that each member is in."""
        parts: dict[int, int] = {}
        for first in self.members:
            waiting = [] if first in parts else [first]
            while waiting:
                member = waiting.pop()
                if member not in parts:
                    parts[member] = first
                    waiting += (hop.member for hop in self.hops[member])
        return parts

    def joining(self, links: Iterable[Link]) -> tuple[Link, ...]:
        """Return those of further links whose ends are in different parts."""
        parts = self.parts
        return tuple(link for link in links if parts[link.one.member] != parts[link.other.member])

    def plus(self, links: tuple[Link, ...]) -> Graph:
        """Return the graph with further links."""
        return Graph(self.members, tuple(sorted({*self.links, *links}))) if links else self

    def without(self, links: Iterable[Link] = (), members: Iterable[int] = ()) -> Graph:
        """Return what is left when these links and members have failed."""
        failed, gone = set(links), set(members)
        return Graph(
            tuple(member for member in self.members if member not in gone),
            tuple(
                link
                for link in self.links
                if link not in failed and not {link.one.member, link.other.member} & gone
            ),
        )
