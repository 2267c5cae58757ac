"""Trees for frames to many members: one for each member that such frames enter at.

A tree has the shortest paths.  Where several are as short, each tree chooses by a separate hash, so
all links carry frames.  The choice at a member depends on its links and distances alone, so a
failed link changes only the trees that used it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b

from ofapp.bridge.fabric.graph import Graph, Hop
from ofapp.bridge.fabric.routes.paths import distances


@dataclass(frozen=True, slots=True)
class Branch:
    """Part of a tree at a member.

    entry: the only port by which frames of the tree enter; None where the tree begins.
    hops: hops to the next members.
    leaves: members that do not hold the tree, and get their copy here as frames for one member do.
    """

    entry: int | None
    hops: tuple[Hop, ...]
    leaves: tuple[int, ...] = ()


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
            ways = [hop for hop in graph.hops[member] if hop.cost + cost[hop.member] == least]
            back = ways[0] if len(ways) == 1 else min(ways, key=partial(_rank, root, member))
            entries[member] = back.port
            hops[back.member].append(Hop(back.entry, member, back.port, back.cost))
    return {member: Branch(entries[member], tuple(sorted(hops[member]))) for member in cost}


def _rank(root: int, member: int, hop: Hop) -> bytes:
    """A value that spreads the trees of different roots over links of equal cost."""
    key = f"{root} {member} {hop.port} {hop.member}"
    return blake2b(key.encode(), digest_size=8).digest()
