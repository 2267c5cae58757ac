"""The ways of frames through a fabric, for display."""

from __future__ import annotations

from itertools import pairwise

import pytest

from ofapp.bridge.fabric.graph import Graph
from ofapp.bridge.fabric.plan import plan
from ofapp.bridge.fabric.routes.paths import Colour, distances
from ofapp.bridge.fabric.status import Trace
from ofapp.bridge.fabric.trace import MOST_WAYS, Way, trace, trace_flood
from tests.unit.bridge.fabric.graphs import connected_graphs, graph


def name(member: int, port: int) -> str:
    return f"s{member}/eth{port}"


def ends(way: Way) -> list[str]:
    """The members of a way."""
    return [way[0].out.split("/")[0], *(hop.into.split("/")[0] for hop in way)]


def of(whole: Graph, start: int, to: int) -> Trace:
    return trace(plan(whole), whole, start, to, name, port="s9/eth0")


def check_way(way: Way, start: int, to: int) -> None:
    assert ends(way)[0] == f"s{start}"
    assert ends(way)[-1] == f"s{to}"
    for hop, after in pairwise(way):
        assert hop.into.split("/")[0] == after.out.split("/")[0]
        assert hop.colour <= after.colour


@pytest.mark.parametrize("members", [2, 3, 4, 5])
def test_every_way_arrives_also_after_a_failure_that_leaves_a_way(members: int) -> None:
    for whole in connected_graphs(members):
        by_name = {frozenset((name(*link.one), name(*link.other))): link for link in whole.links}
        for start, to in ((0, 1), (members - 1, 0)):
            found = of(whole, start, to)
            assert found.ways
            for way in found.ways:
                check_way(way, start, to)
                assert {hop.colour for hop in way} == {Colour.GREEN}
            assert [*found.after][: len(found.ways[0])] == [(h.out, h.into) for h in found.ways[0]]
            used = {frozenset((hop.out, hop.into)) for way in found.ways for hop in way}
            assert {*map(frozenset, found.after)} == used
            for names, ways in found.after.items():
                left = whole.without(links=[by_name[frozenset(names)]])
                assert bool(ways) == (to in distances(left, start))
                for way in ways:
                    check_way(way, start, to)
                    assert names not in {(hop.out, hop.into) for hop in way}


def test_parallel_and_equally_short_ways_are_all_shown() -> None:
    whole = graph(4, [(0, 1), (0, 1), (0, 2), (1, 3), (2, 3)])
    found = of(whole, 0, 3)
    assert [ends(way) for way in found.ways] == [["s0", "s1", "s3"]] * 2 + [["s0", "s2", "s3"]]
    assert found.ways[0][0].out == "s0/eth1"
    assert len(found.after["s0/eth1", "s1/eth1"]) == 2
    assert (found.member, found.port, found.flooded) == (3, "s9/eth0", False)


def test_a_detour_has_the_colour_of_each_hop() -> None:
    ring = graph(4, [(0, 1), (1, 2), (2, 3), (3, 0)])
    found = of(ring, 0, 1)
    assert [ends(way) for way in found.ways] == [["s0", "s1"]]
    (detour,) = found.after["s0/eth1", "s1/eth1"]
    assert ends(detour) == ["s0", "s3", "s2", "s1"]
    assert Colour.GREEN not in {hop.colour for hop in detour}


def test_ways_are_limited() -> None:
    stages = [
        (2 * at + one, 2 * at + 2 + two) for at in range(6) for one in (0, 1) for two in (0, 1)
    ]
    found = of(graph(14, stages), 0, 12)
    assert len(found.ways) == MOST_WAYS
    assert len(found.after) == len({hop for way in found.ways for hop in way})


def test_links_that_have_failed_and_members_without_a_part_have_no_way() -> None:
    line = graph(3, [(0, 1), (1, 2)])
    made = plan(line)
    left = line.without(links=line.links[1:])
    assert trace(made, left, 0, 2, name).ways == ()
    assert trace(made, line, 0, 2, name, failed=line.links[:1]) == Trace(2, None, False, (), {})
    assert trace({}, line, 0, 2, name).ways == ()
    assert trace(made, line, 1, 1, name).ways == ((),)


def test_a_flooded_frame_takes_the_tree() -> None:
    ring = graph(4, [(0, 1), (1, 2), (2, 3), (3, 0)])
    found = trace_flood(plan(ring), ring, 0, name)
    assert found.flooded
    reached = {member for way in found.ways for member in ends(way)}
    assert reached == {"s0", "s1", "s2", "s3"}
    assert sorted(len(way) for way in found.ways) == [1, 2]
    for link in ring.links:
        cut = trace_flood(plan(ring), ring, 0, name, failed=[link])
        assert {member for way in cut.ways for member in ends(way)} == reached
        assert {name(*link.one), name(*link.other)}.isdisjoint(
            end for way in cut.ways for hop in way for end in (hop.out, hop.into)
        )
        ports = name(*link.one), name(*link.other)
        assert cut.ways == found.after.get(ports, cut.ways)
    assert [*found.after] == [*dict.fromkeys((h.out, h.into) for way in found.ways for h in way)]
    two = trace_flood(plan(ring), ring, 0, name, failed=[ring.links[0], ring.links[-1]])
    assert two.ways == ((),)
    alone = Graph((1,), ())
    assert trace_flood(plan(alone), alone, 1, name).ways == ((),)
