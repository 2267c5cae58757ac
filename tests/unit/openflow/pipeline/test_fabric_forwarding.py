"""The flows of a fabric's members move frames as the fabric promises, also after failures.

Small fabrics are tried exhaustively: all graphs, and all sets of failed links.  A member that has
failed is one whose links have.  `tests.support.flow_switch` is what interprets the flows.
"""

import itertools
import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ofapp.common.hub  # noqa: F401

# isort: split
from ofapp.bridge.fabric.plans.graph import Graph
from ofapp.bridge.fabric.plans.paths import distances
from ofapp.bridge.fabric.plans.plan import plan
from tests.support.flow_fabric import EDGES, FlowFabric, Network, host
from tests.unit.bridge.fabric.graphs import connected_graphs, graph
from tests.unit.bridge.fabric.test_paths import graphs

THOROUGH = bool(os.environ.get("OFAPP_THOROUGH"))


def single_failures(whole: Graph) -> Iterator[Graph]:
    """The graph without any one link, or any one member."""
    yield from (whole.without(links=[link]) for link in whole.links)
    yield from (whole.without(members=[member]) for member in whole.members)


def all_graphs(members: int) -> Iterator[Graph]:
    """All graphs, connected or not: so a fabric is left when links have failed."""
    pairs = list(itertools.combinations(range(members), 2))
    for chosen in range(1 << len(pairs)):
        yield graph(members, [pair for at, pair in enumerate(pairs) if chosen >> at & 1])


def check_without_failure(fabric: FlowFabric) -> None:
    """Everything that can arrive arrives, once."""
    whole = fabric.graph
    network = Network(fabric, whole)
    for member in whole.members:
        reached = distances(whole, member)
        for to in whole.members:
            ends = {(to, EDGES[0])} if to in reached else {None}
            assert network.unicast(member, to) == ends, (whole.links, member, to)
        everywhere = {(at, port) for at in reached for port in EDGES} - {(member, EDGES[1])}
        assert network.flood(member) == dict.fromkeys(everywhere, 1)


def check_after_failure(fabric: FlowFabric, left: Graph, single: bool) -> None:
    """By the plan that was made before, no frame arrives twice; after one failure, all do.

    Frames for all do if no member has failed.
    """
    network = Network(fabric, left)
    for member in left.members:
        reached = distances(left, member)
        for to in left.members:
            ends = network.unicast(member, to)
            there = {(to, EDGES[0])}
            if single and to in reached:
                assert ends == there, (fabric.graph.links, left.links, member, to)
            assert ends <= there | {None}
        for choice in range(3):
            arrived = network.flood(member, choice=choice)
            assert set(arrived.values()) <= {1}
            if single and left.members == fabric.graph.members:
                everywhere = {(at, port) for at in reached for port in EDGES}
                assert arrived.keys() == everywhere - {(member, EDGES[1])}, (left.links, member)


@pytest.mark.parametrize("members", [1, 2, 3, 4])
def test_frames_arrive_once_by_a_plan_of_any_graph(members: int) -> None:
    for whole in all_graphs(members):
        check_without_failure(FlowFabric(whole))


@pytest.mark.parametrize("members", [2, 3, 4])
def test_frames_arrive_after_any_one_failure_and_never_loop_after_more(members: int) -> None:
    for whole in connected_graphs(members):
        fabric = FlowFabric(whole)
        for left in single_failures(whole):
            check_after_failure(fabric, left, single=True)
        for number in range(2, len(whole.links) + 1):
            for links in itertools.combinations(whole.links, number):
                check_after_failure(fabric, whole.without(links=links), single=False)


def cut_off_members(whole: Graph, left: Graph) -> Iterator[set[int]]:
    """Sets of members without a controller for which a plan is made: see `Updates`."""
    for number in range(1, len(whole.members)):
        for chosen in itertools.combinations(whole.members, number):
            programmed = left.without(members=chosen)
            reached = distances(programmed, programmed.members[0])
            near = {hop.member for member in reached for hop in left.hops[member]}
            if len(reached) == len(programmed.members) and {*chosen} <= near:
                yield {*chosen}


@pytest.mark.parametrize("members", [2, 3, 4])
def test_members_without_a_controller_get_the_frames_of_all_after_a_change_of_plan(
    members: int,
) -> None:
    """A link has failed or has come back; each frame for all reaches every host once."""
    for whole in [*connected_graphs(members)][:: 1 if members < 4 or THOROUGH else 3]:
        for before, now in [(whole, whole.without(links=[link])) for link in whole.links]:
            for old, new in ((before, now), (now, before)):
                for cut_off in cut_off_members(whole, new):
                    made = plan(old)
                    fabric = FlowFabric(whole, made, cut_off=cut_off, since=new)
                    network = Network(fabric, new)
                    for member in whole.members:
                        if member in cut_off and len({*old.parts.values()}) > 1:
                            continue  # the old plan led nowhere
                        everywhere = {(at, port) for at in whole.members for port in EDGES}
                        everywhere -= {(member, EDGES[1])}
                        got = network.flood(member)
                        assert got == dict.fromkeys(everywhere, 1), (old, new, cut_off, member)
                    for left in single_failures(new) if members < 4 else ():
                        again = Network(fabric, left)
                        for member in left.members:
                            assert {*again.flood(member).values()} <= {1}


@pytest.mark.thorough
def test_the_same_of_five_members() -> None:
    for whole in all_graphs(5):
        check_without_failure(FlowFabric(whole))
    for whole in connected_graphs(5):
        fabric = FlowFabric(whole)
        for left in single_failures(whole):
            check_after_failure(fabric, left, single=True)
        for number in range(2, len(whole.links) + 1):
            for links in itertools.combinations(whole.links, number):
                check_after_failure(fabric, whole.without(links=links), single=False)


@pytest.mark.parametrize("members", [2, 3, 4])
def test_a_frame_to_an_unknown_host_floods_once(members: int) -> None:
    for whole in connected_graphs(members):
        network = Network(FlowFabric(whole, known=False), whole)
        for member in whole.members:
            arrived = network.flood(member, host(99))
            everywhere = {(at, port) for at in whole.members for port in EDGES}
            assert arrived == dict.fromkeys(everywhere - {(member, EDGES[1])}, 1)


@pytest.mark.parametrize("members", [2, 3, 4])
def test_no_frame_loops_if_the_ends_of_links_do_not_agree(members: int) -> None:
    """One end has carrier and the other has not, or both have and frames vanish."""
    for whole in connected_graphs(members):
        fabric = FlowFabric(whole)
        ends = sorted(fabric.far)
        for chosen in range(0, 1 << len(ends), 1 if len(ends) < 8 else 37):
            live = {end for at, end in enumerate(ends) if chosen >> at & 1}
            network = Network(fabric, whole, live.__contains__)
            for member, to in itertools.permutations(whole.members, 2):
                assert network.unicast(member, to) <= {(to, EDGES[0]), None}
            for member, choice in itertools.product(whole.members, range(3)):
                assert set(network.flood(member, choice=choice).values()) <= {1}


@pytest.mark.parametrize("members", [2, 3, 4])
def test_frames_arrive_if_no_link_is_taken_for_live(members: int) -> None:
    """A busy switch may miss BFD on all links at once, and frames pass all the same."""
    for whole in connected_graphs(members):
        network = Network(FlowFabric(whole), whole, lambda _end: False)
        everywhere = {(at, port) for at in whole.members for port in EDGES}
        for member in whole.members:
            for to in whole.members:
                assert network.unicast(member, to) == {(to, EDGES[0])}
            arrived = network.flood(member)
            assert arrived == dict.fromkeys(everywhere - {(member, EDGES[1])}, 1)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(graphs(100), st.data())
def test_frames_in_large_fabrics(whole: Graph, data: st.DataObject) -> None:
    """Parallel links, costs, and failures of links and members; some pairs of members."""
    fabric = FlowFabric(whole, plan(whole))
    member = st.sampled_from(whole.members)
    pairs = data.draw(st.lists(st.tuples(member, member), min_size=1, max_size=8))
    everywhere = {(at, port) for at in whole.members for port in EDGES}
    network = Network(fabric, whole)
    for one, to in pairs:
        assert network.unicast(one, to) == {(to, EDGES[0])}
    one = data.draw(member)
    assert network.flood(one) == dict.fromkeys(everywhere - {(one, EDGES[1])}, 1)
    link = data.draw(st.sampled_from(whole.links))
    left = whole.without([link])
    network = Network(fabric, left)
    for one, to in pairs:
        if to in distances(left, one):
            assert network.unicast(one, to) == {(to, EDGES[0])}
    reached = {(at, port) for at in distances(left, one) for port in EDGES}
    assert network.flood(one) == dict.fromkeys(reached - {(one, EDGES[1])}, 1)
    failed = data.draw(st.sets(st.sampled_from(whole.links)))
    gone = data.draw(st.sets(member, max_size=5))
    network = Network(fabric, whole.without(failed, gone))
    for one, to in pairs:
        if not {one, to} & gone:
            assert network.unicast(one, to) <= {(to, EDGES[0]), None}
    assert set(network.flood(data.draw(member)).values()) <= {1}
    silent = data.draw(st.sets(st.sampled_from(sorted(fabric.far))))
    network = Network(fabric, whole, lambda end: end not in silent)
    for one, to in pairs:
        assert network.unicast(one, to) <= {(to, EDGES[0]), None}
