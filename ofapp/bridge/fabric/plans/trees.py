"""Trees for frames to many members: one for each member that such frames enter at.

A tree has the shortest paths.  Where several are as short, each tree chooses by a separate hash, so
all links carry frames.  The choice at a member depends on its links and distances alone, so a
failed link changes only the trees that used it.
"""

from collections import defaultdict
from collections.abc import Mapping
from functools import partial
from hashlib import blake2b

from ofapp.bridge.effects.fabric import Branch, Hop
from ofapp.bridge.fabric.plans.graph import Graph
from ofapp.bridge.fabric.plans.paths import distances


def tree(graph: Graph, root: int, known: Mapping[int, int] | None = None) -> Mapping[int, Branch]:
    """Return the branches of a tree by member, without the members that it cannot reach.

    known: `distances` to the root, if they are.
    """
    cost = distances(graph, root) if known is None else known
    entries: dict[int, int | None] = {root: None}
    hops: dict[int, list[Hop]] = defaultdict(list)
    for member in cost:
        if member != root:
            least = cost[member]
            best = [hop for hop in graph.hops[member] if hop.cost + cost[hop.member] == least]
            back = best[0] if len(best) == 1 else min(best, key=partial(_rank, root, member))
            entries[member] = back.port
            hops[back.member].append(Hop(back.entry, member, back.port, back.cost))
    return {member: Branch(entries[member], tuple(sorted(hops[member]))) for member in cost}


def _rank(root: int, member: int, hop: Hop) -> bytes:
    """A value that spreads the trees of different roots over links of equal cost."""
    key = f"{root} {member} {hop.port} {hop.member}"
    return blake2b(key.encode(), digest_size=8).digest()
