"""Graphs for tests of the fabric."""

import itertools
from collections.abc import Iterable, Iterator

from ofapp.bridge.fabric.plans.graph import End, Graph, Link
from ofapp.bridge.fabric.plans.paths import distances


def graph(members: int, cables: Iterable[tuple[int, int]], costs: Iterable[int] = ()) -> Graph:
    """Members 0 to `members` - 1, each with its ports from 1 in the order of its cables."""
    ports = [0] * members
    links = []
    for (one, other), cost in itertools.zip_longest(cables, costs, fillvalue=1):
        ports[one] += 1
        ports[other] += 1
        links.append(Link(End(one, ports[one]), End(other, ports[other]), cost))
    return Graph(tuple(range(members)), tuple(links))


def connected_graphs(members: int) -> Iterator[Graph]:
    """All connected graphs of so many members, without parallel links."""
    pairs = list(itertools.combinations(range(members), 2))
    for chosen in range(1 << len(pairs)):
        made = graph(members, [pair for at, pair in enumerate(pairs) if chosen >> at & 1])
        if len(distances(made, 0)) == members:
            yield made
