"""Next hops of unicast frames in a fabric: the rule by which every member forwards.

A frame has a colour.  Green frames use all shortest paths.  A member without a live green next hop
makes the frame red, and without a live red one blue.  A blue frame without a next hop is dropped.
Colours change in this order only, and no colour can loop, so no frame can (RFC 7812 has one change
only; the second also covers the failure of a member).  A member decides by its own ports alone.
"""

import heapq
from collections.abc import Callable, Mapping

from ofapp.bridge.effects.fabric import Hop, NextHops
from ofapp.bridge.fabric.plans.graph import Graph
from ofapp.bridge.fabric.plans.redundant import redundant_hops


def next_hops(
    graph: Graph, to: int, known: Mapping[int, int] | None = None
) -> Mapping[int, NextHops]:
    """Return the hops towards `to` by member, without the members that cannot reach it.

    known: `distances` to it, if they are.
    """
    least = distances(graph, to) if known is None else known

    def nearest(hop: Hop) -> tuple[int, Hop]:
        return hop.cost + least[hop.member], hop

    return {
        member: NextHops(
            tuple(
                hop for hop in graph.hops[member] if hop.cost + least[hop.member] == least[member]
            ),
            _sorted(hops.red, nearest),
            _sorted(hops.blue, nearest),
        )
        for member, hops in redundant_hops(graph, to).items()
    }


def _sorted(hops: tuple[Hop, ...], nearest: Callable[[Hop], tuple[int, Hop]]) -> tuple[Hop, ...]:
    return hops if len(hops) < 2 else tuple(sorted(hops, key=nearest))


def distances(graph: Graph, to: int) -> Mapping[int, int]:
    """Return the least cost to `to` by member, without the members that cannot reach it."""
    least: dict[int, int] = {}
    waiting = [(0, to)]
    while waiting:
        cost, member = heapq.heappop(waiting)
        if member not in least:
            least[member] = cost
            for hop in graph.hops[member]:
                if hop.member not in least:
                    heapq.heappush(waiting, (cost + hop.cost, hop.member))
    return least
