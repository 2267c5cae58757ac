"""Bridges with many ports: what happens on one port costs the same with any number of them."""

import gc
import weakref
from collections.abc import Iterator

from ofapp.bridge.stp import (
    BridgeParams,
    Link,
    PortParams,
    PortState,
    SendBpdu,
    SetPortState,
    SpanningTree,
)
from ofapp.bridge.stp.tree import PORTION
from tests.unit.effort import calls, lines

FEW, MANY = 25, 200


def bridge(ports: int) -> SpanningTree:
    tree = SpanningTree(BridgeParams(), 0x0200_0000_0001)
    for number in range(1, ports + 1):
        tree.add_port(number, PortParams(), Link(up=True, speed_mbps=1000), number / 1000)
    return tree


def run(tree: SpanningTree, until: float) -> None:
    while (due := tree.next_wakeup()) is not None and due <= until:
        tree.tick(due)


def efforts() -> Iterator[tuple[SpanningTree, int]]:
    for ports in (FEW, MANY):
        yield bridge(ports), ports


def test_adding_ports_costs_each_of_them_the_same() -> None:
    few, many = (calls(lambda ports=ports: bridge(ports)) / ports for ports in (FEW, MANY))
    assert many < 1.5 * few


def test_ports_that_open_cost_each_of_them_the_same() -> None:
    few, many = (calls(lambda t=tree: run(t, 5.0)) / ports for tree, ports in efforts())
    assert many < 1.5 * few


def test_all_ports_of_many_open() -> None:
    tree = bridge(MANY)
    run(tree, 5.0)
    assert {port.state for port in tree.snapshot().ports} == {PortState.FORWARDING}


def test_hellos_at_different_times_cost_each_port_the_same() -> None:
    costs = []
    for tree, ports in efforts():
        run(tree, 10.0)
        costs.append(calls(lambda t=tree: run(t, 14.0)) / ports)
    assert costs[1] < 1.5 * costs[0]


def test_removing_ports_costs_each_of_them_the_same() -> None:
    costs = []
    for tree, ports in efforts():
        run(tree, 10.0)

        def remove(tree: SpanningTree = tree, ports: int = ports) -> None:
            for number in range(1, ports + 1):
                tree.remove_port(number, 10.0)

        costs.append(calls(remove) / ports)
    assert costs[1] < 1.5 * costs[0]


def test_roles_are_selected_without_a_look_at_every_port() -> None:
    """Of a port that is new, or goes: a loop over all of them calls nothing, but takes its time."""
    costs = []
    for ports in (FEW, MANY):
        tree = bridge(ports)
        run(tree, 10.0)

        def change(tree: SpanningTree = tree) -> None:
            tree.add_port(4000, PortParams(), Link(up=True, speed_mbps=1000), 10.0)
            tree.remove_port(4000, 10.0)

        costs.append(lines(change))
    assert costs[1] < 1.1 * costs[0]


def test_a_tree_that_nobody_needs_any_more_is_not_left_to_the_garbage_collector() -> None:
    tree = bridge(FEW)
    run(tree, 10.0)
    core = weakref.ref(tree.core)
    tree.leave()
    gc.disable()
    try:
        del tree
        assert core() is None
    finally:
        gc.enable()


def test_the_queue_of_wakeups_stays_small() -> None:
    tree = bridge(4)
    run(tree, 2000.0)
    assert len(tree.core.wakes) <= 4 * 4 + 64


def test_thousands_of_ports_that_are_due_together_are_looked_at_in_portions() -> None:
    """No other task has a turn within a tick; the next is due at once, until all ports are open."""
    tree = SpanningTree(BridgeParams(), 1)
    for number in range(1, 1001):
        tree.add_port(number, PortParams(), Link(up=True, speed_mbps=1000), 0.0)
    now, most, opened = 0.0, 0, set[int]()
    while len(opened) < 1000:
        due = tree.next_wakeup()
        assert due is not None
        assert due < 60
        now = max(now, due)
        effects = tree.tick(now)
        ports = {effect.port for effect in effects if isinstance(effect, SetPortState | SendBpdu)}
        most = max(most, len(ports))
        opened |= {
            effect.port
            for effect in effects
            if isinstance(effect, SetPortState) and effect.state is PortState.FORWARDING
        }
    assert 0 < most <= PORTION
    assert set(tree.states().values()) == {PortState.FORWARDING}


def test_thousands_of_ports_speak_in_portions_when_their_tree_goes_on() -> None:
    tree = bridge(600)
    run(tree, 10.0)
    spoken = set[int]()
    effects = tree.go_on(20.0, 20.0)
    while effects:
        ports = {effect.port for effect in effects if isinstance(effect, SendBpdu)}
        assert len(ports) <= PORTION
        spoken |= ports
        due = tree.next_wakeup()
        effects = tree.tick(20.0) if due is not None and due <= 20.0 else []
    assert len(spoken) == 600
