"""Two paths from every member to one of them that share as little as the cables allow.

Red and blue are maximally redundant (RFC 7811): a member's red path and its blue path share only
the links and members that all paths share. A block is a part of the graph that stays connected
without any one member. Within a block each member has a number (an st-numbering; Tarjan, "Two
streamlined depth-first search algorithms", 1986). Every member but the first and the last has a
neighbour with a lower and one with a higher number. Red goes to lower numbers, blue to higher ones,
so neither can loop. All neighbours of a kind are next hops.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ofapp.bridge.effects.fabric import Hop
from ofapp.bridge.fabric.plans.graph import Graph


@dataclass(frozen=True, slots=True)
class RedundantHops:
    """Next hops of a member in both colours."""

    red: tuple[Hop, ...]
    blue: tuple[Hop, ...]


def redundant_hops(graph: Graph, to: int) -> Mapping[int, RedundantHops]:
    """Return the hops towards `to` by member, without the members that cannot reach it."""
    search = _Search(graph, to)
    blocks = _blocks(search)
    return {member: _hops(graph, block, member) for member, block in blocks.items()}


class _Search:
    """Depth-first search from a member.

    order: members as they were reached; parents: the predecessor of each.
    low: the earliest member, as its place in `order`, that a member's descendants lead to.
    """

    def __init__(self, graph: Graph, root: int) -> None:
        self.order: list[int] = [root]
        self.at = {root: 0}
        self.low = {root: 0}
        self.parents: dict[int, int] = {}
        waiting = [(root, -1, iter(graph.hops[root]))]
        while waiting:
            member, came_by, hops = waiting[-1]
            for hop in hops:
                if hop.port == came_by:
                    continue
                if hop.member not in self.at:
                    self._reach(hop.member, member)
                    waiting.append((hop.member, hop.entry, iter(graph.hops[hop.member])))
                    break
                self.low[member] = min(self.low[member], self.at[hop.member])
            else:
                waiting.pop()
                if waiting:
                    parent = waiting[-1][0]
                    self.low[parent] = min(self.low[parent], self.low[member])

    def _reach(self, member: int, parent: int) -> None:
        self.at[member] = self.low[member] = len(self.order)
        self.order.append(member)
        self.parents[member] = parent


class _Block:
    """Members of a block, in the order of their numbers: `first` is nearest to the destination."""

    def __init__(self, first: int, last: int) -> None:
        self.first, self.last = first, last
        self._order = [first, last]
        self._before = {first: True}
        self._numbers: dict[int, int] = {}

    def insert(self, member: int, parent: int, low: int) -> None:
        """Number a member beside its parent in the search."""
        before = self._before[low]
        self._order.insert(self._order.index(parent) + (not before), member)
        self._before[parent] = not before

    def numbers(self) -> Mapping[int, int]:
        """The number of each member."""
        if not self._numbers:
            self._numbers = {member: number for number, member in enumerate(self._order)}
        return self._numbers


def _blocks(search: _Search) -> Mapping[int, _Block]:
    """Return for each member but the root the block by which its frames leave."""
    blocks: dict[int, _Block] = {}
    for member in search.order[1:]:
        parent = search.parents[member]
        low = search.low[member]
        if low >= search.at[parent]:
            blocks[member] = _Block(parent, member)
        else:
            block = blocks[member] = blocks[parent]
            block.insert(member, parent, search.order[low])
    return blocks


def _hops(graph: Graph, block: _Block, member: int) -> RedundantHops:
    numbers = block.numbers()
    number = numbers[member]
    red: list[Hop] = []
    blue: list[Hop] = []
    for hop in graph.hops[member]:
        other = numbers.get(hop.member)
        if other is not None:
            (red if other < number else blue).append(hop)
    if member != block.last:
        return RedundantHops(tuple(red), tuple(blue))
    # The last number: blue goes to the first at once, and red by no link that blue uses.
    last = next(hop for hop in red if hop.member == block.first)
    return RedundantHops(tuple(hop for hop in red if hop != last) or (last,), (last,))
