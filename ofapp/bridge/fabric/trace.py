"""The ways that frames take through a fabric, now and after the failure of links."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from ofapp.bridge.fabric.graph import End, Graph, Hop, Link
from ofapp.bridge.fabric.plan import Plan
from ofapp.bridge.fabric.routes.paths import Colour
from ofapp.bridge.fabric.status import Trace, TraceHop

MOST_WAYS = 8
"""Ways that are shown; a large fabric has thousands of shortest ones between two members."""

Name = Callable[[int, int], str]
"""A function that gives the name of a member's port, as in `s1/eth1`."""
Way = tuple[TraceHop, ...]


def trace(
    plan: Plan,
    graph: Graph,
    start: int,
    to: int,
    name: Name,
    failed: Collection[Link] = (),
    port: str | None = None,
) -> Trace:
    """Return the ways from one member to another, by the plan that frames use.

    graph: the links that carry frames now, which may be fewer than those of the plan.
    failed: links that are taken as failed beside.  port: where the host is, for the result.
    """
    ways, links = _ways(plan, graph.without(links=failed), start, to, name)
    after = {
        (hop.out, hop.into): _ways(plan, graph.without(links=[*failed, link]), start, to, name)[0]
        for hop, link in zip(ways[0] if ways else (), links, strict=True)
    }
    return Trace(member=to, port=port, flooded=False, ways=ways, after=after)


def trace_flood(
    plan: Plan, graph: Graph, start: int, name: Name, failed: Collection[Link] = ()
) -> Trace:
    """Return the ways by the tree of a member, to each member where the tree ends.

    Nothing is known of the time after a failure: the controller makes another tree.
    """
    live = _Live(graph.without(links=failed))
    ways = tuple(_branches(plan, live, start, start, name))[:MOST_WAYS]
    return Trace(member=None, port=None, flooded=True, ways=ways, after={})


class _Live:
    """Links that carry frames, by either end."""

    def __init__(self, graph: Graph) -> None:
        self._links = {end: link for link in graph.links for end in (link.one, link.other)}

    def link(self, member: int, hop: Hop) -> Link | None:
        """The link of a hop; None if it has failed, or its cable leads to another port now."""
        link = self._links.get(End(member, hop.port))
        ends = {End(member, hop.port), End(hop.member, hop.entry)}
        return link if link is not None and {link.one, link.other} == ends else None


def _ways(
    plan: Plan, graph: Graph, start: int, to: int, name: Name
) -> tuple[tuple[Way, ...], tuple[Link, ...]]:
    """The ways, and the links of the first one."""
    search = _Search(plan, _Live(graph), to, name)
    ways: list[Way] = []
    first: tuple[Link, ...] = ()
    for way, links in search.ways(start, Colour.GREEN):
        first = first if ways else links
        ways.append(way)
        if len(ways) == MOST_WAYS:
            break
    return tuple(ways), first


class _Search:
    """Search for the ways to one member."""

    def __init__(self, plan: Plan, live: _Live, to: int, name: Name) -> None:
        self._plan, self._live, self._to, self._name = plan, live, to, name
        self._ends: set[tuple[int, Colour]] = set()  # where frames are dropped on all ways

    def ways(self, member: int, colour: Colour) -> Iterator[tuple[Way, tuple[Link, ...]]]:
        """The ways of a frame with a colour from a member on, each with its links.

        No colour can loop, so this ends.
        """
        if member == self._to:
            yield (), ()
            return
        part = self._plan.get(member)
        hops = None if part is None else part.towards.get(self._to)
        if hops is None or (member, colour) in self._ends:
            return
        dropped = True
        for now, hop in hops.choices(colour, lambda h: self._live.link(member, h) is not None):
            link = self._live.link(member, hop)
            assert link is not None
            step = TraceHop(self._name(member, hop.port), self._name(hop.member, hop.entry), now)
            for way, links in self.ways(hop.member, now):
                dropped = False
                yield (step, *way), (link, *links)
        if dropped:
            self._ends.add((member, colour))


def _branches(plan: Plan, live: _Live, root: int, member: int, name: Name) -> Iterator[Way]:
    part = plan.get(member)
    branch = None if part is None else part.trees.get(root)
    hops = () if branch is None else branch.hops
    hops = tuple(hop for hop in hops if live.link(member, hop) is not None)
    if not hops:
        yield ()
    for hop in hops:
        step = TraceHop(name(member, hop.port), name(hop.member, hop.entry), Colour.GREEN)
        for way in _branches(plan, live, root, hop.member, name):
            yield (step, *way)
