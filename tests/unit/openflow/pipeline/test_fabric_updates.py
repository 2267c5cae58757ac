"""While a fabric changes its plan, every frame arrives once, in whichever order members change.

A content is one bundle, so that a switch has it as a whole or not at all.  What may happen next in
any state: a member carries its next content out, or a frame goes one link further.  All orders are
tried, with a frame that enters at any time; the state of the network is what is explored, so that
ways that lead to the same one are followed once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

import ofapp.common.hub  # noqa: F401

# isort: split
from ofapp.bridge.effects.fabric import Content, DesiredFabric
from ofapp.bridge.fabric.plans.graph import End, Graph
from ofapp.bridge.fabric.plans.plan import plan
from ofapp.bridge.fabric.plans.update import DRAIN_SECONDS, Updates
from tests.support.fabric import NUMBER
from tests.support.flow_fabric import ALL, EDGES, host, member_switch
from tests.support.flow_switch import FlowSwitch, Frame
from tests.unit.bridge.fabric.graphs import connected_graphs, graph

CONTENTS = 4
"""Of each member: the old plan; both, the old one used; both, the new one used; the new one."""
SENDER = 0x02_00_00_BB_00_00


class Change:
    """Members that change from the plan of one graph to that of another, as `Updates` has them."""

    def __init__(self, whole: Graph, then: Graph) -> None:
        self.members = whole.members
        self.far = {
            End(member, hop.port): End(hop.member, hop.entry)
            for member, hops in whole.hops.items()
            for hop in hops
        }
        self.switches: dict[tuple[int, int], FlowSwitch] = {}
        self.live = {
            member: frozenset(hop.port for hop in whole.hops[member]) for member in self.members
        }
        updates = Updates(4)
        updates.set_graph(whole, 0.0)
        for member in self.members:
            updates.connect(member, 0.0)
        self._carried_out(updates)
        self._carried_out(updates)
        updates.tick(10.0)
        self._carried_out(updates)
        assert updates.settled
        steps = [self._contents(updates)]
        updates.set_graph(then, 20.0)
        steps.append(self._contents(updates))
        self._carried_out(updates)
        steps.append(self._contents(updates))
        self._carried_out(updates)
        updates.tick(20.0 + DRAIN_SECONDS)
        steps.append(self._contents(updates))
        assert len(steps) == CONTENTS
        for step, contents in enumerate(steps):
            assert len({content.use for content in contents.values()}) == 1
            for member, content in contents.items():
                links = tuple(hop.port for hop in whole.hops[member])
                others = {other: other for other in self.members if other != member}
                fabric = DesiredFabric(NUMBER, member, links, links, content)
                self.switches[member, step] = member_switch(fabric, others)

    def _contents(self, updates: Updates) -> dict[int, Content]:
        return {member: updates.content(member) for member in self.members}

    def _carried_out(self, updates: Updates) -> None:
        for member, content in self._contents(updates).items():
            updates.confirm(member, content, 20.0)

    def forward(self, member: int, step: int, port: int, frame: Frame) -> list[list[End | Frame]]:
        """All that may leave a member with its content of this step: pairs of an end and frame."""
        ways = self.switches[member, step].forward(port, frame, self.live[member])
        return [[item for port, left in way for item in (End(member, port), left)] for way in ways]


@dataclass(frozen=True)
class State:
    """steps: the content of each member; under_way: frames at the ports where they arrive next.

    arrived: edge ports by which it has left; entered: the frame has been sent.
    """

    steps: tuple[int, ...]
    under_way: frozenset[tuple[End, Frame]] = frozenset()
    arrived: frozenset[End] = frozenset()
    entered: bool = False

    def changes(self) -> Iterator[State]:
        """The members that may carry out their next content.

        None uses a new version before all have it; the old one goes when all use the new one, and
        frames under way have arrived.
        """
        least = min(self.steps)
        for at, step in enumerate(self.steps):
            may = {0: True, 1: least >= 1, 2: least >= 2 and not self.under_way, 3: False}[step]
            if may:
                yield replace(self, steps=(*self.steps[:at], step + 1, *self.steps[at + 1 :]))


def explore(change: Change, entry: int, frame: Frame, expected: set[End]) -> int:
    """Try all orders with this frame; returns how many states there are."""
    start = State((0,) * len(change.members))
    known, waiting = {start}, [start]
    while waiting:
        state = waiting.pop()
        following = [*state.changes()]
        if not state.entered:
            moved = replace(state, entered=True)
            following += _forward(change, moved, End(entry, EDGES[1]), frame)
        for end, carried in state.under_way:
            left = replace(state, under_way=state.under_way - {(end, carried)})
            following += _forward(change, left, end, carried)
        if state.entered and not state.under_way:
            assert state.arrived == expected, (state, expected)
        for each in following:
            if each not in known:
                known.add(each)
                waiting.append(each)
    return len(known)


def _forward(change: Change, state: State, at: End, frame: Frame) -> Iterator[State]:
    step = state.steps[change.members.index(at.member)]
    for way in change.forward(at.member, step, at.port, frame):
        under_way, arrived = set(state.under_way), set(state.arrived)
        pairs = zip(way[::2], way[1::2], strict=True)
        for end, left in pairs:
            assert isinstance(end, End)
            assert isinstance(left, Frame)
            if end.port in EDGES:
                assert end not in arrived, f"twice by {end}"
                arrived.add(end)
            else:
                assert (change.far[end], left) not in under_way, f"twice by {end}"
                under_way.add((change.far[end], left))
        yield replace(state, under_way=frozenset(under_way), arrived=frozenset(arrived))


def check(whole: Graph, then: Graph) -> None:
    """All frames of a change from one plan to another; links carry frames the whole time."""
    change = Change(whole, then)
    for entry in whole.members:
        for to in whole.members:
            explore(change, entry, Frame(host(to), SENDER), {End(to, EDGES[0])})
        everywhere = {End(member, port) for member in whole.members for port in EDGES}
        explore(change, entry, Frame(ALL, SENDER), everywhere - {End(entry, EDGES[1])})


@pytest.mark.parametrize("members", [2, 3])
def test_any_order_of_contents_between_the_plans_of_any_two_graphs(members: int) -> None:
    """Of graphs of which one is a part of the other: links come, or are taken out of the plan."""
    for whole in connected_graphs(members):
        for then in connected_graphs(members):
            pairs = {frozenset((one.member, other.member)) for one, other, _ in then.links}
            kept = [
                link
                for link in whole.links
                if frozenset((link.one.member, link.other.member)) in pairs
            ]
            if len(kept) == len(then.links):
                part = Graph(whole.members, tuple(kept))
                check(whole, part)


def test_any_order_of_contents_in_a_ring_of_four_with_a_cable_across() -> None:
    whole = graph(4, [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])
    check(whole, whole.without(links=[whole.links[4]]))


@pytest.mark.thorough
def test_any_order_of_contents_of_four_members() -> None:
    for whole in connected_graphs(4):
        for link in whole.links:
            then = whole.without(links=[link])
            if len(plan(then)[0].towards) == 3:
                check(whole, then)
