"""A root that is demoted, cut off or gone: news of it die at once among bridges of one controller.

By the standard alone they go round until they are too old, which `foreign` networks show beside.
"""

import random
from types import SimpleNamespace

import pytest

from ofapp.bridge.stp import BridgeParams, OwnTrees, PortState
from ofapp.bridge.stp.vectors import ADDRESS_MASK, PriorityVector, bridge_identifier
from tests.unit.bridge.stp.lab import ADDRESS, BETTER, OWN_ID, SILENT, WORSE, Lab, rst
from tests.unit.bridge.stp.topology import Network

PAIR = "A=4096 B \n A.1 - B.1 \n A.2 - B.2"


def mesh(size: int, links: int, seed: int, foreign: float = 0.0) -> Network:
    """A connected random network whose root is b0; about `foreign` of its bridges are."""
    rng = random.Random(seed)
    network = Network()
    names = [f"b{i}" for i in range(size)]
    for name in names:
        network.add_bridge(name, foreign=rng.random() < foreign)
    network.bridges["b0"].params = BridgeParams(priority=4096)
    ports = dict.fromkeys(names, 0)
    order = rng.sample(names, size)
    ends = [(order[i], order[rng.randrange(i)]) for i in range(1, size)]
    ends += [tuple(rng.sample(names, 2)) for _ in range(links - len(ends))]
    for pair in ends:
        members = []
        for name in pair:
            ports[name] += 1
            members.append((name, ports[name]))
        network.add_lan(members, delay=rng.uniform(0.001, 0.003))
    return network


def loses_root(network: Network, how: str) -> float:
    """Take the root b0 away; gives the seconds until no port between the others moves any more."""
    since = network.now
    if how == "demoted":
        network.administer("b0", priority=61440)
    elif how == "cut off":
        for lan in network.bridges["b0"].lans.values():
            network.cut(lan)
    else:
        network.vanish("b0")
    beside = {member for lan in network.bridges["b0"].lans.values() for member in lan.members}
    network.run(60)
    if how == "gone":
        network.check_loops()
    else:
        network.check_converged()
    return max(
        when - since
        for when, name, port, _ in network.changes
        if how == "demoted" or (name, port) not in beside
    )


@pytest.mark.parametrize("foreign", ["", "B"])
@pytest.mark.parametrize("priority", [32768, 61440])
def test_a_pair_with_two_links_whose_root_is_demoted_goes_on(priority: int, foreign: str) -> None:
    """A's own former name, which comes back by the other link, deceives no bridge."""
    network = Network(PAIR)
    for name in foreign:
        network.bridges[name].foreign = True
    network.start().run(10)
    demoted = network.now
    network.administer("A", priority=priority)
    network.run(30)
    network.check_converged()
    assert network.last_change - demoted < 0.15


@pytest.mark.no_cover
@pytest.mark.parametrize("how", ["demoted", "cut off", "gone"])
@pytest.mark.parametrize(
    ("size", "links"), [(50, 90), pytest.param(100, 170, marks=pytest.mark.thorough)]
)
def test_a_mesh_that_loses_its_root_heals_within_a_second(size: int, links: int, how: str) -> None:
    network = mesh(size, links, seed=1).start().run(20)
    network.check_converged()
    unheard = 6.0 if how == "gone" else 0.0  # what a neighbour's silence takes to be noticed
    assert loses_root(network, how) < unheard + 1


@pytest.mark.no_cover
@pytest.mark.parametrize("how", ["demoted", "cut off", "gone"])
def test_with_foreign_bridges_among_them_it_is_no_later_than_by_the_standard(how: str) -> None:
    """The worst of some networks, as in any one of them chance may have it a hop later."""

    def times(foreign: float) -> list[float]:
        return sorted(
            loses_root(mesh(10, 16, seed, foreign).start().run(20), how) for seed in range(5)
        )

    mixed, standard = times(0.4), times(1.0)
    assert mixed[-1] <= standard[-1]
    assert mixed[2] < standard[2]


def test_a_bridge_does_not_believe_in_its_own_former_self() -> None:
    lab = Lab(2, SILENT, priority=4096)
    lab.do(lab.tree.set_bridge_params(BridgeParams(priority=32768), lab.now))
    former = 4096 << 48 | ADDRESS
    lab.hear(1, rst(former, 20000, WORSE))
    assert lab.role(1) == "alternate", "who says so may serve the link: it stays closed"
    assert lab.tree.snapshot().root == OWN_ID
    assert lab.state(1) is PortState.DISCARDING
    lab.hear(1, rst(WORSE, 0, WORSE))
    assert lab.role(1) == "designated"


def test_a_port_whose_news_are_stale_stays_closed_until_they_are_too_old() -> None:
    """As long as another vendor's bridge repeats them, with any forward delay."""
    lab = Lab(2, SILENT, priority=4096)
    lab.do(lab.tree.set_bridge_params(BridgeParams(priority=32768), lab.now))
    former = 4096 << 48 | ADDRESS
    lab.wait_hearing(60, 1, rst(former, 20000, WORSE))
    assert lab.state(1) is PortState.DISCARDING
    lab.wait(8)
    assert lab.role(1) == "designated"
    lab.wait(5)
    assert lab.state(1) is PortState.FORWARDING


def test_a_tree_whose_switch_is_away_is_judged_by_the_standard() -> None:
    network = Network("A=4096 B C \n A.1 - B.1 \n B.2 - C.1 \n C.2 - A.2").start().run(10)
    root = network.bridges["A"].tree
    assert root is not None
    root.leave()  # the controller may not know what it says by now
    network.run(10)
    network.check_converged()
    root.join()
    network.run(10)
    network.check_converged()


def test_two_bridges_with_one_address_are_nobodys() -> None:
    own = OwnTrees()
    first, second = Lab(1), Lab(1)
    own.join(first.tree.core)
    assert own.find(OWN_ID) is first.tree.core
    own.join(second.tree.core)
    assert own.find(OWN_ID) is None
    own.leave(first.tree.core)
    assert own.find(OWN_ID) is second.tree.core


def test_the_hold_count_is_filled_up_faster_between_own_bridges() -> None:
    """Better and better roots come by a bridge, each to be told on."""
    for foreign, least, most in ((False, 14, 17), (True, 6, 8)):
        network = Network()
        for name in "AB":
            network.add_bridge(name, foreign=foreign)
        network.add_lan([("A", 1), ("B", 1)])
        network.start().run(5)
        sent = network.sent["A"]
        for step in range(40):
            network.administer("A", priority=32768 - 4096 * (step % 2))
            network.run(0.025)
        assert least <= network.sent["A"] - sent <= most


def test_what_was_not_believed_is_asked_again_when_it_is_said_again() -> None:
    """The last of a hundred bridges stayed alone for ever: no bridge sent news (found by the
    long run of the kills in a mesh)."""
    lab = Lab(params=SILENT)
    sender = bridge_identifier(32768, 0x0200_0000_0033)
    beside = SimpleNamespace(
        address=sender & ADDRESS_MASK,
        bridge_id=sender,
        root_priority=PriorityVector(sender, 0, sender, 0),
        root_port=None,
        ports={},
    )
    lab.tree.core.own.join(beside)  # which has lost the root of which it told
    bpdu = rst(BETTER, 20000, sender)
    lab.hear(1, bpdu)
    assert lab.tree.snapshot().root == OWN_ID
    beside.root_priority = PriorityVector(BETTER, 20000, BETTER, 0x8001)  # and has it again
    lab.hear(1, bpdu)
    assert lab.tree.snapshot().root == BETTER
    assert lab.tree.snapshot().root_port == 1
