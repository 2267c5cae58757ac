"""The graphs of members and links that plans are made of.

A graph without failed links is used at once, and one with new links a little later.
"""

from collections.abc import Sequence

from ofapp.bridge.fabric.links import Links
from ofapp.bridge.fabric.plans.graph import Graph
from ofapp.bridge.fabric.state.presence import Presence
from ofapp.bridge.fabric.status import LinkState

START = 10.0
"""Most seconds from the first member's connection to the first plan, in which members go on with
those that they have from an earlier controller: until then their links are being found again."""

SETTLE = 0.1
"""Seconds that a link that is new waits for others, to be in one plan with them."""


class Graphs:
    """The graph of plans (`planned`), and the same without links that do not work (`working`).

    found: links have been looked for; before that both graphs are empty.
    """

    def __init__(self) -> None:
        self.planned = self.working = Graph((), ())
        self.found = False
        self._better_at: float | None = None  # when a graph with new links is to be used
        self._wait_until: float | None = None  # for the first graph

    @property
    def waits(self) -> bool:
        """Whether a new link waits for others."""
        return self._better_at is not None

    def next_wakeup(self) -> float | None:
        """When `follow` is due; None when it is not."""
        return self._better_at if self.found else self._wait_until

    def follow(
        self, links: Links, presence: Presence, members: Sequence[int], held: bool, now: float
    ) -> bool:
        """Follow changes of links; whether plans are to be made of another graph.

        held: members have plans, also of an earlier controller.
        """
        if held and not self.found and self._finds_again(links, presence, members, now):
            return False
        graph = Graph(tuple(members), links.graph().links)
        working = Graph(graph.members, links.working().links)
        if self.found and graph == self.planned:
            self._better_at, self.working = None, working
            return False
        if self.found and {*self.planned.links} <= {*graph.links}:
            if self._better_at is None:
                self._better_at = now + SETTLE
            if now < self._better_at:
                return False
        if not self.found:
            links.found()
        self.planned, self.working, self._better_at, self.found = graph, working, None, True
        return True

    def _finds_again(
        self, links: Links, presence: Presence, members: Sequence[int], now: float
    ) -> bool:
        """Whether members have plans of an earlier controller, and links are still looked for.

        A first plan without the links that are not proven yet would cut members off.
        """
        if not presence.connected:
            self._wait_until = None
            return True
        if self._wait_until is None:
            self._wait_until = now + START
        if now >= self._wait_until:
            return False
        return bool(presence.disconnected(members)) or any(
            link.state in (LinkState.PROBING, LinkState.HELD) for link in links.status(now)
        )


def main_part(graph: Graph) -> set[int]:
    """The members of the largest connected part; of equal ones, that with the first member."""
    parts: list[set[int]] = []
    left = {*graph.members}
    while left:
        part, waiting = set[int](), [min(left)]
        while waiting:
            member = waiting.pop()
            if member not in part:
                part.add(member)
                waiting += [hop.member for hop in graph.hops.get(member, ())]
        parts.append(part)
        left -= part
    return max(parts, key=lambda part: (len(part), -min(part)), default=set())
