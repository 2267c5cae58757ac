"""Unicast frames in a fabric: delivered after any one failure, and without a loop after all."""

import itertools
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ofapp.bridge.effects.fabric import Colour, Hop, NextHops
from ofapp.bridge.fabric.plans.graph import Graph
from ofapp.bridge.fabric.plans.paths import distances, next_hops
from tests.unit.bridge.fabric.graphs import connected_graphs, graph

Hops = Mapping[int, NextHops]


class Failed:
    """Ways of frames in a graph of which only a part is left; members do not know what failed."""

    def __init__(self, whole: Graph, left: Graph, to: int, hops: Hops) -> None:
        self.live = {(member, hop.port) for member in left.members for hop in left.hops[member]}
        self.hops, self.to = hops, to
        self.reachable = distances(left, to)
        self._ends: dict[tuple[int, Colour], frozenset[int]] = {}
        self._path: set[tuple[int, Colour]] = set()

    def ends(self, member: int, colour: Colour = Colour.GREEN) -> frozenset[int]:
        """Members where a frame may end, whichever hops hashes choose; a loop is an error."""
        here = (member, colour)
        if member == self.to:
            return frozenset({member})
        if here not in self._ends:
            assert here not in self._path, f"loop at {here}"
            self._path.add(here)
            choices = list(self.hops[member].choices(colour, lambda hop: self._lives(member, hop)))
            assert all(now >= colour for now, _ in choices)
            ends = frozenset().union(*(self.ends(hop.member, now) for now, hop in choices))
            self._path.remove(here)
            self._ends[here] = ends if choices else frozenset({member})
        return self._ends[here]

    def _lives(self, member: int, hop: Hop) -> bool:
        return (member, hop.port) in self.live


def check_single_failures(whole: Graph) -> None:
    for to in whole.members:
        hops = next_hops(whole, to)
        failures = [whole, *(whole.without(links=[link]) for link in whole.links)]
        failures += [whole.without(members=[member]) for member in whole.members if member != to]
        for left in failures:
            failed = Failed(whole, left, to, hops)
            for member in set(failed.reachable) - {to}:
                assert failed.ends(member) == {to}, (whole.links, left.links, member, to)


def check_no_loop(whole: Graph, left: Graph) -> None:
    for to in left.members:
        failed = Failed(whole, left, to, next_hops(whole, to))
        for member in left.members:
            failed.ends(member)


@pytest.mark.parametrize("members", [2, 3, 4, 5])
def test_frames_arrive_after_the_failure_of_any_link_or_member(members: int) -> None:
    for whole in connected_graphs(members):
        check_single_failures(whole)


@pytest.mark.parametrize("members", [2, 3, 4])
def test_no_frame_loops_whatever_has_failed(members: int) -> None:
    for whole in connected_graphs(members):
        for number in range(len(whole.links) + 1):
            for links in itertools.combinations(whole.links, number):
                check_no_loop(whole, whole.without(links=links))


@st.composite
def graphs(draw: st.DrawFn, most: int) -> Graph:
    """Connected graphs with parallel links and costs."""
    members = draw(st.integers(2, most))
    cables = [(draw(st.integers(0, member - 1)), member) for member in range(1, members)]
    number = st.integers(0, members - 1)
    pairs = st.tuples(number, number).filter(lambda pair: pair[0] != pair[1])
    cables += draw(st.lists(pairs, max_size=2 * members))
    costs = draw(st.lists(st.integers(1, 3), min_size=len(cables), max_size=len(cables)))
    return graph(members, cables, costs)


@given(graphs(12))
def test_parallel_links_and_costs_change_nothing_of_that(whole: Graph) -> None:
    check_single_failures(whole)


@given(graphs(40), st.data())
def test_no_frame_loops_in_large_fabrics(whole: Graph, data: st.DataObject) -> None:
    links = data.draw(st.sets(st.sampled_from(whole.links)))
    members = data.draw(st.sets(st.sampled_from(whole.members), max_size=5))
    check_no_loop(whole, whole.without(links, members))


def test_red_and_blue_share_only_what_all_ways_share() -> None:
    # Two rings that share member 2: 0-1-2 and 2-3-4.
    whole = graph(5, [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (2, 4)])
    hops = next_hops(whole, 0)
    for member in (3, 4):
        (red,), (blue,) = hops[member].red, hops[member].blue
        assert red.port != blue.port
    (red,), (blue,) = hops[2].red, hops[2].blue
    assert {red.member, blue.member} == {0, 1}


def test_all_shortest_paths_are_green() -> None:
    whole = graph(4, [(0, 1), (0, 2), (1, 3), (2, 3), (0, 3)], [1, 1, 1, 1, 3])
    assert {hop.member for hop in next_hops(whole, 3)[0].green} == {1, 2}
