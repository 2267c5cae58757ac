"""Fabrics in the network's twin: what is predicted happens to a simulated fabric."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import permutations, product
from random import Random
from typing import Literal

import pytest

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.fabric.plans.graph import End, Graph
from ofapp.bridge.lag.params import LagParams
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.stp import PortState
from ofapp.bridge.twin.actions import Action, Cut, Disconnect, Fail, Plug
from ofapp.bridge.twin.cable import SwitchPort, cable
from ofapp.bridge.twin.fabric import NOTICED, link_port
from ofapp.bridge.twin.prediction import Prediction, copy_of, learned_of, predict
from ofapp.bridge.twin.reach import HostPort, Pair
from ofapp.openflow.wire.echoes import GIVEN_UP
from tests.unit.bridge.fabric.simulation import RSTP, Network, neighbour

THOROUGH = "OFAPP_THOROUGH" in os.environ
EDGE, OTHER = 11, 12
"""Ports of each member: one with a host, and one that a cable may use."""
SECONDS = 60.0
FLOWS = 3
"""Frames that take different hops of equal cost."""
UNKNOWN = 0x0AFF
"""An address that no host has."""
AWAY = 20.0
"""Seconds without the controller."""
MOMENTS = (0.0, 0.3, 2.0, 8.0, 12.0, 19.0, 24.0, 40.0, 59.0)
"""Seconds after a change at which frames are sent."""

RING = [(1, 2), (2, 3), (3, 1)]


def running(
    members: int,
    cables: list[tuple[int, int]],
    spare: int = 0,
    params: BridgeParams = RSTP,
) -> Network:
    """A fabric that has run for a minute, with a host at each member that is known.

    spare: link ports of each member without a cable.
    """
    network = Network(members, cables, params)
    for switch in network.switches.values():
        for _ in range(spare):
            switch.links[len(switch.links) + 1] = False
    network.connect()
    network.run(60.0)
    for one, other in [*permutations(network.switches, 2)] * 2:
        network.send(one, EDGE, 0x0A00 + one, 0x0A00 + other)
    network.run(5.0)
    return network


def asked(network: Network, *actions: Action, around: tuple[Bridge, ...] = ()) -> Prediction:
    bridges = [network.bridge, *around]
    cables = [
        cable(
            SwitchPort(network.bridge.datapath_id, network.fabric_number(*end)),
            SwitchPort(bridge.datapath_id, port),
        )
        for end, (bridge, port) in network.around.items()
    ]
    copy = copy_of(bridges, cables, network.now, lambda: None, [network.fabric])
    answers = [*predict(copy, learned_of(bridges, lambda: None), actions, SECONDS)]
    assert answers[-1] is not None
    return answers[-1]


def link(network: Network, member: int, port: int) -> SwitchPort:
    return link_port(network.fabric, End(member, port))


def cut_off_at(predicted: Prediction, at: float) -> set[tuple[int, int]]:
    """The pairs of members that are predicted to be cut off at an instant."""
    return {
        (each.what.a, each.what.b)
        for each in predicted.interruptions
        if isinstance(each.what, Pair)
        and each.since <= at
        and (each.until is None or at < each.until)
    }


def apart(network: Network) -> set[tuple[int, int]]:
    """The pairs of members whose hosts do not get all of each other's frames."""
    now, found = network.now, set[tuple[int, int]]()
    for flow, one in product(range(FLOWS), network.switches):
        network.flow = flow
        flooded = network.send(one, EDGE, 0x0A00 + one, UNKNOWN)
        for other in network.switches.keys() - {one}:
            there = network.send(one, EDGE, 0x0A00 + one, 0x0A00 + other)
            if not (flooded[other, EDGE] and there[other, EDGE]):
                found.add((min(one, other), max(one, other)))
        network.now = now
    return found


def cut(network: Network, member: int, port: int) -> None:
    for end in ((member, port), network.cables[member, port]):
        network.set_link(*end, up=False)


def agree(
    network: Network,
    predicted: Prediction,
    change: Callable[[], None],
    later: tuple[float, Callable[[], None]] | None = None,
) -> None:
    """Make the change, and compare with what was predicted at some moments.

    later: what happens after some seconds.
    """
    begun = network.now
    change()
    for moment in MOMENTS:
        if later is not None and moment > later[0]:
            network.run(begun + later[0] - network.now)
            later[1]()
            later = None
        network.run(begun + moment - network.now)
        assert apart(network) == cut_off_at(predicted, moment), moment
    network.run(begun + SECONDS - network.now)


def lose_power(network: Network, predicted: Prediction, member: int) -> None:
    """Switch a member off, and compare; its connection is silent until it is given up."""
    agree(
        network,
        predicted,
        lambda: network.power_off(member, noticed=False),
        (NOTICED, lambda: network.disconnect(member)),
    )


def paths_of(network: Network) -> dict[tuple[int, int], set[tuple[tuple[str, str], ...]]]:
    """The paths between members, as the running fabric traces them."""
    graph = network.fabric.links.graph()
    return {
        (one, other): {tuple((hop.out, hop.into) for hop in path) for path in paths}
        for one, other, paths in network.fabric.paths(graph)
    }


def test_a_copy_is_as_the_fabric_is_and_asking_changes_nothing() -> None:
    network = running(3, RING)
    before, stored = network.fabric.status(network.now), network.fabric.dump()
    predicted = asked(network)
    assert (predicted.changes, predicted.roles, predicted.paths) == ((), (), ())
    assert (predicted.interruptions, predicted.events) == ((), ())
    assert network.fabric.status(network.now) == before
    assert network.fabric.dump() == stored


def test_a_cut_link_of_a_ring_cuts_nobody_off_and_its_paths_lead_around() -> None:
    network = running(3, RING)
    predicted = asked(network, Cut(link(network, 1, 1)))
    assert not predicted.interruptions
    (changed,) = predicted.paths
    assert (changed.a, changed.b) == (1, 2)
    assert changed.before == ((("s1/eth1", "s2/eth1"),),)
    assert changed.after == ((("s1/eth2", "s3/eth2"), ("s3/eth1", "s2/eth2")),)
    points = {what for kind, what in predicted.single_points if kind == "bridge"}
    assert points == {3}
    assert {"fabric.link.down"} <= {each.event.kind for each in predicted.events}
    agree(network, predicted, lambda: cut(network, 1, 1))


def test_a_member_without_power_takes_its_hosts_with_it_and_no_others() -> None:
    network = running(3, RING)
    predicted = asked(network, Fail(2))
    assert cut_off_at(predicted, 1.0) == cut_off_at(predicted, 59.0) == {(1, 2), (2, 3)}
    off = {each.port for each in predicted.changes if each.reason == "the switch is off"}
    assert network.fabric_number(2, EDGE) in off
    assert predicted.names[2] == "fabric/s2"
    assert any("noticed by their silence" in each for each in predicted.assumptions)
    lose_power(network, predicted, 2)


def test_no_port_of_a_fabric_without_power_has_a_role() -> None:
    network = running(3, RING)
    predicted = asked(network, *(Fail(member) for member in network.switches))
    edges = {network.fabric_number(*end) for end in product(network.switches, (EDGE, OTHER))}
    assert edges <= {each.port for each in predicted.roles if each.after is None}
    assert all(each.after is None for each in predicted.roles)


def test_what_is_assumed_of_several_members_is_said_once() -> None:
    network = running(3, RING)
    (said,) = [
        each for each in asked(network, Fail(1), Fail(2)).assumptions if "without power" in each
    ]
    assert "silence" in said


def test_the_time_until_silence_is_noticed_is_that_of_the_channel() -> None:
    assert NOTICED == GIVEN_UP


def test_switches_without_the_controller_go_around_a_cut_link() -> None:
    network = running(4, [*RING, (3, 4)])
    predicted = asked(network, Disconnect(20.0), Cut(link(network, 1, 1)))
    assert not predicted.interruptions

    def change() -> None:
        network.disconnect(*network.switches)
        cut(network, 1, 1)

    begun = network.now
    change()
    for moment in (0.0, 5.0, 19.0):
        network.run(begun + moment - network.now)
        assert not apart(network)
    network.connect()
    network.run(begun + SECONDS - network.now)
    assert not apart(network)
    changed = {(each.a, each.b): {*each.after} for each in predicted.paths}
    now = paths_of(network)
    assert changed == {pair: now[pair] for pair in changed}
    assert changed


def test_a_link_that_is_cut_without_the_controller_and_has_no_other_path() -> None:
    """Frames do not pass, with or without the controller."""
    network = running(3, RING[:2])
    predicted = asked(network, Disconnect(20.0), Cut(link(network, 1, 1)))
    assert cut_off_at(predicted, 59.0) == {(1, 2), (1, 3)}


def test_a_bridge_at_two_members_opens_its_other_port() -> None:
    """A bridge has cables to two members: spanning tree of the fabric's bridge blocks one."""
    network = running(3, RING)
    other = neighbour(0xB00, priority=61440)
    network.attach(other, (1, OTHER), (2, OTHER))
    network.run(60.0)
    assert PortState.DISCARDING in other.relay.states.values()
    open_port = next(
        end
        for end, (_, port) in network.around.items()
        if other.relay.states[port].name == "FORWARDING"
    )
    number = network.fabric_number(*open_port)
    predicted = asked(network, Cut(SwitchPort(1, number)), around=(other,))
    opened = {
        (each.datapath_id, each.port)
        for each in predicted.changes
        if each.new is PortState.FORWARDING
    }
    assert (other.datapath_id, 3 - network.around[open_port][1]) in opened
    failed = asked(network, Fail(open_port[0]), around=(other,))
    assert all(
        each.until is not None and each.until < 1.0
        for each in failed.interruptions
        if isinstance(each.what, Pair) and open_port[0] not in (each.what.a, each.what.b)
    )


BOND = 0xB0
"""A host at an aggregation with a port at each of two members."""


def bonded(lacp: Literal["off", "active"]) -> Network:
    """A ring of three, with an aggregation of ports of s1 and s2."""
    lag = LagParams((f"s1/vnet{OTHER}", f"s2/vnet{OTHER}"), lacp=lacp)
    return running(3, RING, params=BridgeParams(lags={"bond": lag}))


def test_hosts_at_an_aggregation_of_two_members_outlive_one_of_them() -> None:
    network = bonded("off")
    network.send(1, OTHER, BOND, 0x0A03)
    predicted = asked(network, Fail(1))
    bond = network.bridge.ports.named("bond")
    assert bond is not None
    closed = {each.what.port for each in predicted.interruptions if isinstance(each.what, HostPort)}
    assert bond.number not in closed
    assert network.fabric_number(1, EDGE) in closed
    assert cut_off_at(predicted, 1.0) == {(1, 2), (1, 3)}
    network.power_off(1)
    network.run(20.0)
    assert network.send(3, EDGE, 0x0A03, BOND)[2, OTHER] == 1


def test_lacp_stays_paused_after_a_time_without_the_controller() -> None:
    """Its partner is not copied, and would seem to be silent."""
    network = bonded("active")
    copy = copy_of([network.bridge], [], network.now, lambda: None, [network.fabric])
    list(predict(copy, {}, [Disconnect(5.0)], SECONDS))
    assert not copy.bridges[1].lags.clock.runs
    assert copy.fabrics[1].fabric.status(copy.now).paused == ""


def random_cables(random: Random, size: int) -> list[tuple[int, int]]:
    """Links of a fabric in one piece, with some more."""
    pairs = [(random.randint(1, number - 1), number) for number in range(2, size + 1)]
    more = (random.sample(range(1, size + 1), 2) for _ in range(random.randint(0, size)))
    return [*pairs, *((one, other) for one, other in more)]


def split(graph: Graph) -> int:
    return len({*graph.parts.values()})


@pytest.mark.parametrize("seed", range(300 if THOROUGH else 24))
def test_what_is_predicted_happens_to_a_fabric(seed: int) -> None:
    """Random fabrics and changes: cut off members, paths and single points of failure agree."""
    random = Random(seed)
    size = random.randint(2, 6)
    kind = random.choice(["cut", "cut", "two", "fail", "plug", "away", "lone"])
    network = running(size, random_cables(random, size), spare=kind == "plug")
    links = sorted({min(pair) for pair in network.cables.items()})
    ends = random.sample(links, min(len(links), 1 + (kind in ("two", "away"))))
    member = random.randint(1, size)
    if kind == "lone":
        network.disconnect(member)
        network.run(5.0)
    spare = [(at, len(network.switches[at].links)) for at in random.sample(range(1, size + 1), 2)]
    if kind == "fail":
        predicted = asked(network, Fail(member))
        lose_power(network, predicted, member)
    elif kind == "plug":
        predicted = asked(network, Plug(link(network, *spare[0]), link(network, *spare[1])))

        def plug() -> None:
            network.cables |= {spare[0]: spare[1], spare[1]: spare[0]}
            for end in spare:
                network.set_link(*end, up=True)

        agree(network, predicted, plug)
    else:
        away = [Disconnect(AWAY)] if kind == "away" else []
        predicted = asked(network, *away, *(Cut(link(network, *end)) for end in ends))

        def cut_all() -> None:
            if away:
                network.disconnect(*network.switches)
            for end in ends:
                cut(network, *end)

        agree(network, predicted, cut_all, (AWAY, network.connect) if away else None)
    now = paths_of(network)
    for each in predicted.paths:
        assert {*each.after} == now.get((each.a, each.b), set()), (each.a, each.b)
    graph = network.fabric.links.graph()
    if kind == "fail":
        graph = graph.without(members=[member])
    expected = {at for at in graph.members if split(graph.without(members=[at])) > split(graph)}
    points = [what for kind, what in predicted.single_points if kind == "bridge"]
    assert {*points} == expected
    lonely = sum(split(graph.without(links=[one])) > split(graph) for one in graph.links)
    assert sum(kind == "cable" for kind, _ in predicted.single_points) == lonely
