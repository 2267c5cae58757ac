"""Trees of a fabric: every member once, and all links used."""

from collections import Counter

from hypothesis import given

from ofapp.bridge.fabric.plans.graph import Graph
from ofapp.bridge.fabric.plans.trees import tree
from tests.unit.bridge.fabric.graphs import graph
from tests.unit.bridge.fabric.test_paths import graphs


@given(graphs(20))
def test_a_frame_reaches_every_member_once_and_by_its_entry(whole: Graph) -> None:
    for root in whole.members:
        branches = tree(whole, root)
        arrivals = Counter({root: 1})
        waiting = [root]
        while waiting:
            for hop in branches[waiting.pop()].hops:
                assert branches[hop.member].entry == hop.entry
                arrivals[hop.member] += 1
                assert arrivals[hop.member] == 1
                waiting.append(hop.member)
        assert set(arrivals) == set(whole.members)


@given(graphs(12))
def test_a_failed_link_changes_no_tree_that_did_not_use_it(whole: Graph) -> None:
    for link in whole.links:
        for root in whole.members:
            before = tree(whole, root)
            used = any(
                (member, hop.port) in (link.one, link.other)
                for member, branch in before.items()
                for hop in branch.hops
            )
            assert used or tree(whole.without(links=[link]), root) == before


def test_trees_use_all_links_of_a_fabric_of_two_layers() -> None:
    spines, leaves = range(4), range(4, 24)
    whole = graph(24, [(spine, leaf) for spine in spines for leaf in leaves])
    load = Counter(
        hop.port if member in spines else (member, hop.port)
        for root in leaves
        for member, branch in tree(whole, root).items()
        for hop in branch.hops
        if member in spines
    )
    through = Counter(
        member
        for root in leaves
        for member, branch in tree(whole, root).items()
        for _ in branch.hops
        if member in spines
    )
    assert len(load) == 20
    assert max(through.values()) < 1.6 * min(through.values())
