"""Whole networks: the standard's, and others, with the outcome a person would work out by hand."""

import pytest

from ofapp.bridge.stp import BridgeParams, PortState
from tests.unit.bridge.stp.lans import LoopError
from tests.unit.bridge.stp.topology import Network

TRIANGLE = """
    A B C
    A.1 - B.1
    B.2 - C.1
    C.2 - A.2
"""


def gap(network: Network, port: str, since: float) -> float:
    """Seconds from `since` until `port` forwards."""
    name, number = port.split(".")
    return next(
        t - since
        for t, bridge, n, state in network.changes
        if t >= since and (bridge, n, state) == (name, int(number), PortState.FORWARDING)
    )


def test_figure_17_1_two_bridges_between_two_lans() -> None:
    network = Network("A B \n A.1 = B.1 \n A.2 = B.2").start().run(60)
    network.check_converged()
    assert network.roles() == {
        "A.1": "designated",
        "A.2": "designated",
        "B.1": "root",
        "B.2": "alternate",
    }


def test_figure_17_2_physical_topology() -> None:
    """Six bridges, shared LANs and links mixed, as the overview of clause 17 draws it."""
    network = Network(
        """
        B111 B222 B333 B444 B555 B666
        B111.1 = B222.1 = B333.1
        B111.2 - B444.1
        B222.2 = B444.2 = B555.1
        B333.2 - B666.1
        B555.2 - B666.2
        B555.3 !
        B666.3 = B666.4
        """
    )
    network.start().run(90).check_converged()
    assert network.role("B666.4").value == "backup"
    assert network.role("B222.2").value == "designated"
    assert network.role("B444.2").value == "alternate"


def test_triangle_converges_within_a_millisecond_of_wire_time() -> None:
    network = Network(TRIANGLE).start().run(10)
    network.check_converged()
    assert network.last_change < 0.001
    assert network.roles()["C.1"] == "alternate"


def test_cut_link_is_replaced_at_once() -> None:
    network = Network(TRIANGLE).start().run(10)
    cut = network.now
    network.cut(network.lan("A.2"))
    network.run(5)
    network.check_converged()
    assert gap(network, "C.1", cut) < 0.001


@pytest.mark.parametrize("size", [3, 4, 5, 8])
@pytest.mark.parametrize("speaks_first", [False, True])
def test_ring_heals_within_50_ms_wherever_it_is_cut(size: int, speaks_first: bool) -> None:
    """With 1 ms a hop, as with a controller between."""
    for broken in range(size):
        network = ring(size, 0.001).start().run(10)
        network.check_converged()
        cut = network.now
        network.cut(network.lans[broken])
        network.run(3)
        network.check_converged()
        assert network.last_change - cut < 0.05
        mended = network.now
        network.mend(network.lans[broken])
        network.run(3)
        network.check_converged()
        assert network.last_change - mended < 0.2


def test_root_dies() -> None:
    network = Network(TRIANGLE).start().run(10)
    died = network.now
    network.kill("A")
    network.run(5)
    network.check_converged()
    assert network.last_change - died < 0.001
    network.boot("A")
    network.run(5)
    network.check_converged()
    assert network.last_change - died < 5.01


def test_parallel_links_keep_one() -> None:
    network = Network("A B \n A.1 - B.1 \n A.2 - B.2 \n A.3 - B.3 cost=5").start().run(10)
    network.check_converged()
    assert [network.roles()[f"B.{n}"] for n in (1, 2, 3)] == ["alternate", "alternate", "root"]


def test_bridge_cabled_to_itself() -> None:
    network = Network("A \n A.1 - A.2").start().run(10)
    network.check_converged()
    assert network.roles() == {"A.1": "designated", "A.2": "backup"}


def test_three_ports_of_a_bridge_on_one_hub() -> None:
    network = Network("A B \n A.1 = A.2 = A.3 = B.1 \n B.2 - A.4").start().run(90)
    network.check_converged()
    assert [network.roles()[f"A.{n}"] for n in (1, 2, 3)] == ["designated", "backup", "backup"]


def test_port_with_a_loopback_plug_blocks() -> None:
    network = Network("A B \n A.1 - B.1 \n A.2 @ \n B.2 @").start().run(60)
    network.check_converged()
    assert network.state("A.2") is PortState.DISCARDING


def test_priority_decides_the_root_and_may_change_while_running() -> None:
    network = Network(TRIANGLE).start().run(5)
    bridge = network.bridges["C"]
    bridge.params = BridgeParams(priority=4096)
    network.act("C", lambda t: t.set_bridge_params(bridge.params, network.now))
    network.run(5)
    network.check_converged()


def test_forward_delay_and_max_age_come_from_the_root() -> None:
    network = Network("A=4096 B \n A.1 - B.1")
    network.bridges["A"].params = BridgeParams(
        priority=4096, max_age=30, forward_delay=20, hello_time=1
    )
    network.start().run(5)
    times = network.bridges["B"].tree.snapshot().root_times
    assert (times.max_age, times.forward_delay, times.hello_time) == (30, 20, 1)


def ring(size: int, delay: float = 0.0001, **params: object) -> Network:
    network = Network(seed=None, **params)
    for i in range(size):
        network.add_bridge(f"b{i}")
    for i in range(size):
        network.add_lan([(f"b{i}", 1), (f"b{(i + 1) % size}", 2)], delay=delay)
    return network


def test_ring_of_40_bridges() -> None:
    network = ring(40, max_age=40, forward_delay=21).start().run(20)
    network.check_converged()
    assert network.last_change < 5  # ever better roots come by, more than the hold count lets pass
    for broken in (0, 20, 13):
        cut = network.now
        network.cut(network.lans[broken])
        network.run(10)
        network.check_converged()
        assert network.last_change - cut < 0.05
        network.mend(network.lans[broken])
        network.run(10)
        network.check_converged()
    died = network.now
    network.kill("b0")
    network.run(60)
    network.check_converged()
    # information about the dead root goes round until it is too old; the hold count slows it
    assert network.last_change - died < 60


def test_line_longer_than_max_age_falls_apart_without_a_loop() -> None:
    network = Network(max_age=6, hello_time=1, forward_delay=4)
    for i in range(12):
        network.add_bridge(f"b{i}")
    for i in range(12):
        network.add_lan([(f"b{i}", 1), (f"b{(i + 1) % 12}", 2)])
    network.add_lan([("b0", 3), ("b6", 3)], cost=1)
    network.start().run(60)
    network.check_converged()  # with the chord no bridge is further than 6 away
    network.cut(network.lans[-1])
    network.cut(network.lans[0])
    network.run(60)
    roots = {b.tree.snapshot().root for b in network.bridges.values()}
    assert len(roots) > 1


@pytest.mark.no_cover
@pytest.mark.parametrize("size", [50, pytest.param(100, marks=pytest.mark.thorough)])
def test_a_sparse_mesh(size: int) -> None:
    network = Network()
    names = [f"b{i}" for i in range(size)]
    for name in names:
        network.add_bridge(name)
    ports = dict.fromkeys(names, 0)
    for i in range(size):
        for step in (1, 7, 31):
            ends = []
            for name in (names[i], names[(i + step) % size]):
                ports[name] += 1
                ends.append((name, ports[name]))
            network.add_lan(ends, cost=1 + (i * step) % 5)
    network.start().run(8)
    network.check_converged()
    died = network.now
    network.kill("b0")
    network.run(60)
    network.check_converged()
    # news of a dead root is passed on until it is too old (max age hops), held back by txCount
    assert network.last_change - died < 45


@pytest.mark.parametrize("size", [10, pytest.param(16, marks=pytest.mark.thorough)])
def test_a_full_mesh(size: int) -> None:
    network = Network()
    names = [f"b{i}" for i in range(size)]
    for name in names:
        network.add_bridge(name)
    for i in range(size):
        for j in range(i):
            network.add_lan([(names[i], j + 1), (names[j], i + 1)])
    network.start().run(10)
    network.check_converged()
    network.kill("b0")
    network.run(80)
    network.check_converged()
    assert network.last_change - 10 < 60


@pytest.mark.parametrize("legacy", [False, True])
def test_stp_ring_converges_in_max_age_and_two_forward_delays(legacy: bool) -> None:
    network = Network()
    for i in range(4):
        network.add_bridge(f"b{i}", force_version=0, legacy=legacy)
    for i in range(4):
        network.add_lan([(f"b{i}", 1), (f"b{(i + 1) % 4}", 2)])
    network.start().run(60)
    network.check_converged()
    assert 30 <= network.last_change < 36
    assert network.frames["RST"] == 0
    cut = network.now
    network.cut(network.lans[0])
    network.run(60)
    network.check_converged()
    assert network.last_change - cut < 50


@pytest.mark.parametrize("root_speaks", [0, 2])
@pytest.mark.parametrize("old", [1, 2])
def test_mixed_ring(root_speaks: int, old: int) -> None:
    """One 802.1D-1998 bridge in a ring of RSTP bridges; the root of either kind."""
    network = Network()
    for i in range(4):
        if i == 0:
            network.add_bridge("b0", legacy=root_speaks == 0)
        else:
            network.add_bridge(f"b{i}", legacy=i == old)
    for i in range(4):
        network.add_lan([(f"b{i}", 1), (f"b{(i + 1) % 4}", 2)])
    network.start().run(90)
    network.check_converged()
    for lan in network.lans:
        network.cut(lan)
        network.run(90)
        network.check_converged()
        network.mend(lan)
        network.run(90)
        network.check_converged()


def test_topology_change_reaches_every_bridge_of_a_ring() -> None:
    network = ring(6).start().run(20)
    network.flushed.clear()
    cut = network.now
    network.cut(network.lans[0])
    network.run(1)
    assert {name for t, name, _ in network.flushed if t >= cut} == set(network.bridges)


def test_checker_sees_a_loop() -> None:
    """The simulator itself: a network that is allowed to loop does."""
    network = Network(TRIANGLE)
    for bridge in network.bridges.values():
        for number, params in bridge.port_params.items():
            bridge.port_params[number] = type(params)(enabled=False)
    network.start()
    with pytest.raises(LoopError):
        network.run(1)
