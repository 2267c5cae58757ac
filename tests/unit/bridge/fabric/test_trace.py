"""The paths of frames through a fabric, for display."""

from itertools import pairwise

import pytest

from ofapp.bridge.effects.fabric import Colour
from ofapp.bridge.fabric.plans.graph import Graph
from ofapp.bridge.fabric.plans.paths import distances
from ofapp.bridge.fabric.plans.plan import plan
from ofapp.bridge.fabric.plans.trace import MOST_PATHS, Path, trace, trace_flood
from ofapp.bridge.fabric.status import Trace
from tests.unit.bridge.fabric.graphs import connected_graphs, graph


def name(member: int, port: int) -> str:
    return f"s{member}/eth{port}"


def ends(path: Path) -> list[str]:
    """The members of a path."""
    return [path[0].out.split("/")[0], *(hop.into.split("/")[0] for hop in path)]


def of(whole: Graph, start: int, to: int) -> Trace:
    return trace(plan(whole), whole, start, to, name, port="s9/eth0")


def check_way(path: Path, start: int, to: int) -> None:
    assert ends(path)[0] == f"s{start}"
    assert ends(path)[-1] == f"s{to}"
    for hop, after in pairwise(path):
        assert hop.into.split("/")[0] == after.out.split("/")[0]
        assert hop.colour <= after.colour


@pytest.mark.parametrize("members", [2, 3, 4, 5])
def test_every_way_arrives_also_after_a_failure_that_leaves_a_way(members: int) -> None:
    for whole in connected_graphs(members):
        by_name = {frozenset((name(*link.one), name(*link.other))): link for link in whole.links}
        for start, to in ((0, 1), (members - 1, 0)):
            found = of(whole, start, to)
            assert found.paths
            for path in found.paths:
                check_way(path, start, to)
                assert {hop.colour for hop in path} == {Colour.GREEN}
            assert [*found.after][: len(found.paths[0])] == [
                (h.out, h.into) for h in found.paths[0]
            ]
            used = {frozenset((hop.out, hop.into)) for path in found.paths for hop in path}
            assert {*map(frozenset, found.after)} == used
            for names, paths in found.after.items():
                left = whole.without(links=[by_name[frozenset(names)]])
                assert bool(paths) == (to in distances(left, start))
                for path in paths:
                    check_way(path, start, to)
                    assert names not in {(hop.out, hop.into) for hop in path}


def test_parallel_and_equally_short_ways_are_all_shown() -> None:
    whole = graph(4, [(0, 1), (0, 1), (0, 2), (1, 3), (2, 3)])
    found = of(whole, 0, 3)
    assert [ends(path) for path in found.paths] == [["s0", "s1", "s3"]] * 2 + [["s0", "s2", "s3"]]
    assert found.paths[0][0].out == "s0/eth1"
    assert len(found.after["s0/eth1", "s1/eth1"]) == 2
    assert (found.member, found.port, found.flooded) == (3, "s9/eth0", False)


def test_a_detour_has_the_colour_of_each_hop() -> None:
    ring = graph(4, [(0, 1), (1, 2), (2, 3), (3, 0)])
    found = of(ring, 0, 1)
    assert [ends(path) for path in found.paths] == [["s0", "s1"]]
    (detour,) = found.after["s0/eth1", "s1/eth1"]
    assert ends(detour) == ["s0", "s3", "s2", "s1"]
    assert Colour.GREEN not in {hop.colour for hop in detour}


def test_ways_are_limited() -> None:
    stages = [
        (2 * at + one, 2 * at + 2 + two) for at in range(6) for one in (0, 1) for two in (0, 1)
    ]
    found = of(graph(14, stages), 0, 12)
    assert len(found.paths) == MOST_PATHS
    assert len(found.after) == len({hop for path in found.paths for hop in path})


def test_links_that_have_failed_and_members_without_a_part_have_no_way() -> None:
    line = graph(3, [(0, 1), (1, 2)])
    made = plan(line)
    left = line.without(links=line.links[1:])
    assert trace(made, left, 0, 2, name).paths == ()
    assert trace(made, line, 0, 2, name, failed=line.links[:1]) == Trace(2, None, False, (), {})
    assert trace({}, line, 0, 2, name).paths == ()
    assert trace(made, line, 1, 1, name).paths == ((),)


def test_a_flooded_frame_takes_the_tree() -> None:
    ring = graph(4, [(0, 1), (1, 2), (2, 3), (3, 0)])
    found = trace_flood(plan(ring), ring, 0, name)
    assert found.flooded
    reached = {member for path in found.paths for member in ends(path)}
    assert reached == {"s0", "s1", "s2", "s3"}
    assert sorted(len(path) for path in found.paths) == [1, 2]
    for link in ring.links:
        cut = trace_flood(plan(ring), ring, 0, name, failed=[link])
        assert {member for path in cut.paths for member in ends(path)} == reached
        assert {name(*link.one), name(*link.other)}.isdisjoint(
            end for path in cut.paths for hop in path for end in (hop.out, hop.into)
        )
        ports = name(*link.one), name(*link.other)
        assert cut.paths == found.after.get(ports, cut.paths)
    assert [*found.after] == [*dict.fromkeys((h.out, h.into) for path in found.paths for h in path)]
    two = trace_flood(plan(ring), ring, 0, name, failed=[ring.links[0], ring.links[-1]])
    assert two.paths == ((),)
    alone = Graph((1,), ())
    assert trace_flood(plan(alone), alone, 1, name).paths == ((),)
