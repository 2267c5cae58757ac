"""The network's twin: what follows from a change, before it is made."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from random import Random

import pytest

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.state import SharedState
from ofapp.bridge.stp import BridgeParams as TreeParams
from ofapp.bridge.stp import OwnTrees, PortState
from ofapp.bridge.stp.port import PortRole
from ofapp.bridge.stp.vectors import ADDRESS_MASK
from ofapp.bridge.twin.actions import Action, Attach, Cut, Fail, Plug, SetParams
from ofapp.bridge.twin.cable import Cable, SwitchPort, cable
from ofapp.bridge.twin.network import TwinNetwork
from ofapp.bridge.twin.prediction import Prediction, copy_of, learned_of, predict
from ofapp.bridge.twin.reach import HostPort, Interruption, Loop, Pair, Reach

THOROUGH = "OFAPP_THOROUGH" in os.environ

HOST = 9
"""The port of each bridge with a host."""


def at(bridge: int, port: int) -> SwitchPort:
    return SwitchPort(bridge, port)


def running(
    cables: Iterable[tuple[SwitchPort, SwitchPort]], stp: bool = True, bridges: int = 3
) -> tuple[list[Bridge], list[Cable]]:
    """Bridges that have run for a minute, the first the root, with a host at each."""
    network = network_of([*cables], stp, bridges)
    return [*network.bridges.values()], [*network.cables]


def network_of(
    cables: Sequence[tuple[SwitchPort, SwitchPort]], stp: bool = True, bridges: int = 3
) -> TwinNetwork:
    """The same with its cables: it stands for the real network."""
    cabled = [cable(*each) for each in cables]
    network, shared = TwinNetwork(0.0), SharedState(OwnTrees())
    for each in cabled:
        network.connect(each)
    used = {end for each in cabled for end in each}
    for number in range(1, bridges + 1):
        tree = TreeParams(priority=4096 * number) if stp else None
        bridge = Bridge(number, BridgeParams(stp=tree), shared)
        local = Port(LOCAL_PORT, f"s{number}", 0x0200_0000_0000 + number, up=True)
        ports = [
            Port(
                n,
                f"eth{n}",
                (0x02_0000 + number << 8) + n,
                n == HOST or at(number, n) in used,
                1000,
            )
            for n in range(1, HOST + 1)
        ]
        effects = bridge.set_ports([local, *ports], 0.0)
        network.add(bridge, [*effects, *bridge.go_on(0.0)])
    list(network.run(60.0))
    for bridge in network.bridges.values():
        bridge.addresses.learn([(HOST, 0, 0x0A00_0000_0000 + bridge.datapath_id)], 60.0)
    network.changes.clear()
    return network


RING = [(at(1, 1), at(2, 2)), (at(2, 1), at(3, 2)), (at(3, 1), at(1, 2))]


def asked(
    net: tuple[list[Bridge], list[Cable]], *actions: Action, seconds: float = 60.0
) -> Prediction:
    bridges, cables = net
    network = copy_of(bridges, cables, 60.0, lambda: None)
    answers = [*predict(network, learned_of(bridges, lambda: None), actions, seconds)]
    assert answers[-1] is not None
    return answers[-1]


def cut_off(predicted: Prediction) -> dict[tuple[int, int], float | None]:
    """The pairs of bridges whose hosts were cut off, and until when."""
    pairs = [each for each in predicted.interruptions if isinstance(each.what, Pair)]
    return {(each.what.a, each.what.b): each.until for each in pairs if isinstance(each.what, Pair)}


def states(bridges: list[Bridge]) -> dict[tuple[int, int], PortState]:
    return {
        (bridge.datapath_id, port): state
        for bridge in bridges
        for port, state in bridge.relay.states.items()
    }


def test_a_copy_is_as_the_network_is_and_asking_changes_nothing() -> None:
    bridges, cables = running(RING)
    before = states(bridges)
    assert PortState.DISCARDING in before.values()
    predicted = asked((bridges, cables), seconds=20.0)
    assert (predicted.changes, predicted.roles, predicted.interruptions) == ((), (), ())
    assert states(bridges) == before


def test_a_root_with_another_priority_is_no_other_root() -> None:
    bridges, cables = running(RING)
    (root,) = {tree.root & ADDRESS_MASK for each in bridges if (tree := each.stp.around())}
    (own,) = (each for each in bridges if each.address == root)
    other = replace(own.params, stp=replace(own.params.stp, priority=4096))
    assert asked((bridges, cables), SetParams(own.datapath_id, other)).roots == {}


def test_a_cut_cable_of_a_ring_is_replaced_within_a_moment() -> None:
    predicted = asked(running(RING), Cut(at(1, 1)))
    assert cut_off(predicted).keys() == {(1, 2), (2, 3)}
    assert all(until is not None and until < 0.1 for until in cut_off(predicted).values())
    opened = [each for each in predicted.changes if each.new is PortState.FORWARDING]
    assert {(each.datapath_id, each.port) for each in opened} <= {(2, 1), (3, 2)}
    assert opened
    assert ("cable", cable(at(2, 1), at(3, 2))) in predicted.single_points
    assert ("bridge", 3) in predicted.single_points


@pytest.mark.parametrize("portions", [None, 3])
@pytest.mark.parametrize("action", [Cut(at(1, 1)), Attach(at(1, 5), 0), Fail(1)])
def test_a_copy_is_freed_with_its_answer_or_when_it_is_given_up(
    action: Action, portions: int | None
) -> None:
    """The garbage collector of a controller looks at what is old once in ten minutes at most."""
    bridges, cables = running(RING)
    gc.collect()
    gc.disable()
    try:
        network = copy_of(bridges, cables, 60.0, lambda: None)
        work = predict(network, learned_of(bridges, lambda: None), [action], 60.0)
        assert [*islice(work, portions)]
        network.close()
        del network, work
        assert gc.collect() == 0, "objects that refer to each other are left"
    finally:
        gc.enable()


@pytest.mark.parametrize("seed", range(400 if THOROUGH else 24))
def test_what_is_predicted_happens(seed: int) -> None:
    """Random networks and changes: states, roles and durations of interruptions agree."""
    random = Random(seed)
    network = network_of(random_cables(random, size := random.randint(3, 6)), bridges=size)
    action = random_action(random, network)
    links = {end for each in network.cables for end in each}
    predicted = asked(([*network.bridges.values()], [*network.cables]), action, seconds=50.0)
    reach = Reach(network, learned_of(network.bridges.values(), lambda: None))
    begun = network.now
    action.apply(network)
    list(reach.look())
    for _ in network.run(begun + 50.0):
        list(reach.look())
    ended = {each.what: each.until and each.until - each.since for each in predicted.interruptions}
    found = {each.what: each.until and each.until - each.since for each in reach.found()}
    found = {
        what: until
        for what, until in found.items()
        if not isinstance(what, HostPort) or at(what.datapath_id, what.port) not in links
    }
    lasting = {what for what, until in ended.items() if until is None}
    assert lasting == {what for what, until in found.items() if until is None}
    for what in ended.keys() | found.keys():
        assert abs((ended.get(what) or 0.0) - (found.get(what) or 0.0)) < 0.05, what
    for role in predicted.roles:
        bridge = network.bridges.get(role.datapath_id)
        status = None if bridge is None else bridge.stp.status(network.now, [role.port])
        assert (None if status is None else status.ports[0].role) is role.after


def random_cables(random: Random, size: int) -> list[tuple[SwitchPort, SwitchPort]]:
    """A network in one piece, with some cables more."""
    free = {number: iter(range(1, HOST)) for number in range(1, size + 1)}
    pairs = [(random.randint(1, number - 1), number) for number in range(2, size + 1)]
    pairs += [tuple(random.sample(range(1, size + 1), 2)) for _ in range(random.randint(0, 3))]  # type: ignore[misc]
    return [(at(a, next(free[a])), at(b, next(free[b]))) for a, b in pairs]


def random_action(random: Random, network: TwinNetwork) -> Action:
    number = random.randint(1, len(network.bridges))
    kind = random.choice(["cut", "cut", "fail", "priority", "plug"])
    if kind == "cut":
        return Cut(random.choice(sorted(network.cables)).a)
    if kind == "fail":
        return Fail(number)
    if kind == "plug":
        other = number % len(network.bridges) + 1
        return Plug(at(number, HOST - 1), at(other, HOST - 1))
    tree = TreeParams(priority=4096 * random.randint(0, 15))
    return SetParams(number, replace(network.bridges[number].params, stp=tree))


def test_a_copy_does_what_the_original_does() -> None:
    """A ring, by each of its cuts."""
    for number in range(3):
        bridges, cables = running(RING)
        predicted = asked((bridges, cables), Cut(RING[number][0]))
        real = copy_of(bridges, cables, 60.0, lambda: None)
        Cut(RING[number][0]).apply(real)
        list(real.run(real.now + 60.0))
        for role in predicted.roles:
            status = real.bridges[role.datapath_id].stp.status(real.now, [role.port])
            assert status is not None
            assert status.ports[0].role is role.after


def test_a_cut_cable_of_a_line_cuts_hosts_off_for_good() -> None:
    predicted = asked(running(RING[:2]), Cut(at(2, 1)))
    assert cut_off(predicted) == {(1, 3): None, (2, 3): None}
    assert predicted.roots[3] & 0xFFFF_FFFF_FFFF == 0x0200_0000_0003


def test_a_switch_without_power_takes_its_hosts_with_it() -> None:
    predicted = asked(running(RING), Fail(1))
    places = [each.what for each in predicted.interruptions if isinstance(each.what, HostPort)]
    gone = {(place.datapath_id, place.port) for place in places}
    assert gone == {(1, HOST), (1, LOCAL_PORT)}
    cut = cut_off(predicted)
    assert (cut[1, 2], cut[1, 3]) == (None, None)
    assert (cut.get((2, 3), 0.0) or 0.0) < 0.1
    assert predicted.roots.keys() == {2, 3}


def test_another_root_by_priority() -> None:
    net = running(RING)
    predicted = asked(net, SetParams(3, BridgeParams(stp=TreeParams(priority=0))))
    assert {root & 0xFFFF for root in predicted.roots.values()} == {3}
    assert predicted.roots.keys() == {1, 2, 3}
    assert None not in cut_off(predicted).values()
    assert {(role.before, role.after) for role in predicted.roles if role.datapath_id == 3} >= {
        (PortRole.ROOT, PortRole.DESIGNATED)
    }


def test_a_second_cable_without_spanning_tree_is_a_loop() -> None:
    predicted = asked(running(RING[:2], stp=False), Plug(*RING[2]))
    assert Interruption(Loop(0), 0.0, None) in predicted.interruptions
    kept = asked(running(RING[:2]), Plug(*RING[2])).interruptions
    assert not [each for each in kept if isinstance(each.what, Loop)]


def test_a_foreign_bridge_with_a_better_priority_becomes_the_root() -> None:
    predicted = asked(running(RING), Attach(at(2, 3), 0))
    assert {root >> 48 for root in predicted.roots.values()} == {0}
    assert {each.port: each.after for each in predicted.roles if each.datapath_id == 2}[
        3
    ] is PortRole.ROOT


@pytest.mark.parametrize("action", [Cut(at(1, 77)), Cut(at(9, 1)), Fail(9)])
def test_what_is_not_there_is_a_key_error(action: Action) -> None:
    with pytest.raises(KeyError):
        asked(running(RING), action)


def test_the_log_of_a_change_is_predicted_with_its_times() -> None:
    """Applied to what the network is now, roles of the log lead to the roles in the end."""
    bridges, cables = running(RING)
    predicted = asked((bridges, cables), Cut(at(1, 1)))
    roles = {
        (bridge.datapath_id, port.port): port.role.value
        for bridge in bridges
        if (status := bridge.stp.status(60.0)) is not None
        for port in status.ports
    }
    then = 0.0
    for logged in predicted.events:
        assert then <= logged.at <= 60.0
        then = logged.at
        if logged.event.kind == "stp.role":
            key = logged.datapath_id, logged.event.port or 0
            assert logged.event.data["old"] == roles[key]
            roles[key] = str(logged.event.data["new"])
    for role in predicted.roles:
        assert role.after is not None
        assert roles[role.datapath_id, role.port] == role.after.value
    assert {"port.down", "stp.role", "stp.state"} <= {e.event.kind for e in predicted.events}
    flushed = {(each.datapath_id, each.port): each for each in predicted.flushed}
    assert flushed
    assert all(0 <= each.at < 1 for each in flushed.values())
