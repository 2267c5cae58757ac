"""The paths that frames take through a fabric, now and after the failure of links."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from itertools import islice
from typing import NamedTuple

from ofapp.bridge.effects.fabric import Colour, Hop
from ofapp.bridge.fabric.plans.graph import End, Graph, Link
from ofapp.bridge.fabric.plans.plan import Plan
from ofapp.bridge.fabric.status import Trace, TraceHop

MOST_PATHS = 8
"""Paths that are shown; a large fabric has thousands of shortest ones between two members."""

Name = Callable[[int, int], str]
"""A function that gives the name of a member's port, as in `s1/eth1`."""
Path = tuple[TraceHop, ...]


class _Found(NamedTuple):
    """A path, and its links."""

    path: Path = ()
    links: tuple[Link, ...] = ()

    def then(self, after: _Found) -> _Found:
        """This path, and another one from its end."""
        return _Found(self.path + after.path, self.links + after.links)


def trace(
    plan: Plan,
    graph: Graph,
    start: int,
    to: int,
    name: Name,
    failed: Collection[Link] = (),
    port: str | None = None,
) -> Trace:
    """Return the paths from one member to another, by the plan that frames use.

    graph: the links that carry frames now, which may be fewer than those of the plan.
    failed: links that are taken as failed beside.  port: where the host is, for the result.
    """
    left = graph.without(links=failed)
    paths, after = _shown(left, lambda now: Search(plan, now, name).paths(start, to, Colour.GREEN))
    return Trace(member=to, port=port, flooded=False, paths=paths, after=after)


def trace_flood(
    plan: Plan, graph: Graph, start: int, name: Name, failed: Collection[Link] = ()
) -> Trace:
    """Return the paths by the tree of a member, to each member where the tree ends."""
    left = graph.without(links=failed)
    paths, after = _shown(left, lambda now: Search(plan, now, name).branches(start, start))
    return Trace(member=None, port=None, flooded=True, paths=paths, after=after)


def _shown(
    graph: Graph, find: Callable[[Graph], Iterator[_Found]]
) -> tuple[tuple[Path, ...], dict[tuple[str, str], tuple[Path, ...]]]:
    """Return the paths in a graph, and those after the failure of each of their links."""

    def found(left: Graph) -> tuple[_Found, ...]:
        return tuple(islice(find(left), MOST_PATHS))

    now = found(graph)
    links: dict[Link, tuple[str, str]] = {}
    for each in now:
        for hop, link in zip(each.path, each.links, strict=True):
            links.setdefault(link, (hop.out, hop.into))
    after = {
        names: tuple(each.path for each in found(graph.without(links=[link])))
        for link, names in links.items()
    }
    return tuple(each.path for each in now), after


class Search:
    """Search for paths by a plan.  graph: the links that carry frames."""

    def __init__(self, plan: Plan, graph: Graph, name: Name) -> None:
        self._plan, self._name = plan, name
        self._links = {end: link for link in graph.links for end in (link.one, link.other)}
        self._dead_ends: set[tuple[int, int, Colour]] = set()
        self._arrives: dict[tuple[int, int, Colour], bool] = {}

    def shown(self, start: int, to: int) -> tuple[Path, ...]:
        """The paths from one member to another, at most `MOST_PATHS`."""
        return tuple(each.path for each in islice(self.paths(start, to, Colour.GREEN), MOST_PATHS))

    def arrive(self, member: int, to: int, colour: Colour = Colour.GREEN) -> bool:
        """Whether frames of all flows arrive, whichever of several hops they take."""
        if member == to:
            return True
        part, here = self._plan.get(member), (member, to, colour)
        if here not in self._arrives:
            hops = None if part is None else part.towards.get(to)
            live = [*hops.choices(colour, self._is_live(member))] if hops is not None else []
            found = bool(live) and all(self.arrive(hop.member, to, now) for now, hop in live)
            self._arrives[here] = found
        return self._arrives[here]

    def flooded(self, root: int) -> set[int]:
        """The members that frames reach by the tree of a member, around links that have failed."""
        reached, waiting = {root}, [root]
        while waiting:
            member = waiting.pop()
            part = self._plan.get(member)
            branch = None if part is None else part.trees.get(root)
            for hop in () if branch is None else branch.hops:
                if self._link(member, hop) is not None or self.arrive(member, hop.member):
                    reached.add(hop.member)
                    waiting.append(hop.member)
            leaves = () if branch is None else branch.leaves
            reached.update(leaf for leaf in leaves if self.arrive(member, leaf))
        return reached

    def paths(self, member: int, to: int, colour: Colour) -> Iterator[_Found]:
        """The paths of a frame with a colour from a member to another one.

        No colour can loop, so this ends.
        """
        if member == to:
            yield _Found()
            return
        part, here = self._plan.get(member), (member, to, colour)
        hops = None if part is None else part.towards.get(to)
        if hops is None or here in self._dead_ends:
            return
        dropped = True
        for now, hop in hops.choices(colour, self._is_live(member)):
            step = self._step(member, hop, now)
            assert step is not None
            for found in self.paths(hop.member, to, now):
                dropped = False
                yield step.then(found)
        if dropped:
            self._dead_ends.add(here)

    def branches(self, root: int, member: int) -> Iterator[_Found]:
        """The paths by the tree of `root` from a member on, around links that have failed."""
        part = self._plan.get(member)
        branch = None if part is None else part.trees.get(root)
        ends_here = True
        for hop in () if branch is None else branch.hops:
            step = self._step(member, hop, Colour.GREEN)
            step = step or next(self.paths(member, hop.member, Colour.GREEN), None)
            if step is not None:
                ends_here = False
                yield from map(step.then, self.branches(root, hop.member))
        for leaf in () if branch is None else branch.leaves:
            for path in islice(self.paths(member, leaf, Colour.GREEN), 1):
                ends_here = False
                yield path
        if ends_here:
            yield _Found()

    def _is_live(self, member: int) -> Callable[[Hop], bool]:
        return lambda hop: self._link(member, hop) is not None

    def _step(self, member: int, hop: Hop, colour: Colour) -> _Found | None:
        """The path of one hop, if its link carries frames."""
        link = self._link(member, hop)
        if link is None:
            return None
        out, into = self._name(member, hop.port), self._name(hop.member, hop.entry)
        return _Found((TraceHop(out, into, colour),), (link,))

    def _link(self, member: int, hop: Hop) -> Link | None:
        """The link of a hop; None if it has failed, or its cable leads to another port now."""
        link = self._links.get(End(member, hop.port))
        ends = {End(member, hop.port), End(hop.member, hop.entry)}
        return link if link is not None and {link.one, link.other} == ends else None
