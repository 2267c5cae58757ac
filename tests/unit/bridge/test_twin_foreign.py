"""Bridges of other owners in the network's twin: they are known by their BPDUs, and react."""

from __future__ import annotations

from random import Random

import pytest

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.stp.bpdu import Bpdu, BpduType, encode
from ofapp.bridge.stp.port import PortRole
from ofapp.bridge.stp.vectors import PriorityVector, Times
from ofapp.bridge.twin.actions import Action, Cut
from ofapp.bridge.twin.cable import SwitchPort
from ofapp.bridge.twin.foreign import FarPort, Foreign, attach, is_foreign
from ofapp.bridge.twin.network import TwinNetwork
from ofapp.bridge.twin.prediction import Prediction, copy_of, learned_of, predict
from tests.unit.bridge.test_twin import HOST, THOROUGH, at, network_of

ADDRESS = 0x0600_0000_0001
TIMES = Times(0.0, 20.0, 15.0, 2.0)


def with_foreign(
    size: int, ends: list[SwitchPort], priority: int, rapid: bool = True
) -> TwinNetwork:
    """A line of bridges, and one of another owner at these ports, at rest."""
    network = network_of([(at(n, 1), at(n + 1, 2)) for n in range(1, size)], bridges=size)
    ports = tuple(FarPort(end, 20000, number) for number, end in enumerate(ends, 1))
    attach(network, Foreign(ADDRESS, priority, ports, TIMES, rapid))
    for end in ends:
        network.set_link(end, up=True)
    list(network.run(150.0))
    network.changes.clear()
    return network


def own(network: TwinNetwork) -> list[Bridge]:
    return [bridge for number, bridge in network.bridges.items() if not is_foreign(number)]


def asked(network: TwinNetwork, *actions: Action) -> Prediction:
    """What a controller predicts that knows its own bridges alone."""
    cables = [each for each in network.cables if not any(is_foreign(end[0]) for end in each)]
    copy = copy_of(own(network), cables, network.now, lambda: None)
    learned = learned_of(own(network), lambda: None)
    return [*filter(None, predict(copy, learned, actions, 60.0))][-1]


def roles(network: TwinNetwork) -> dict[tuple[int, int], PortRole]:
    return {
        (bridge.datapath_id, port.port): port.role
        for bridge in own(network)
        if (status := bridge.stp.status(network.now)) is not None
        for port in status.ports
    }


@pytest.mark.parametrize("rapid", [True, False])
@pytest.mark.parametrize("seed", range(40 if THOROUGH else 6))
def test_a_bridge_of_another_owner_reacts_as_predicted(seed: int, rapid: bool) -> None:
    """It closes a ring, as the root or not; a cable between our bridges or to it is cut."""
    random = Random(seed)
    size = random.randint(2, 5)
    ends = [at(number, 4) for number in random.sample(range(1, size + 1), 2)]
    network = with_foreign(size, ends, 4096 * random.choice([0, 15]), rapid)
    action = Cut(random.choice(sorted(network.cables)).a)
    if is_foreign(action.at.datapath_id):
        action = Cut(ends[0])
    predicted = asked(network, action)
    if any("silent" in each for each in predicted.assumptions):
        assert not rapid, "an STP bridge may keep to itself, an RSTP bridge answers"
        return
    assert len(predicted.names) == 1
    assert any("up to 20 s longer" in each for each in predicted.assumptions) is not rapid
    before = roles(network)
    action.apply(network)
    list(network.run(network.now + 60.0))
    changed = {
        key: (before.get(key), role)
        for key, role in roles(network).items()
        if before.get(key) is not role
    }
    assert changed == {
        (each.datapath_id, each.port): (each.before, each.after)
        for each in predicted.roles
        if not is_foreign(each.datapath_id)
    }


def test_its_hosts_are_cut_off_with_it() -> None:
    network = with_foreign(2, [at(2, 4)], 61440)
    bridge = network.bridges[2]
    bridge.addresses.learn([(4, 0, 0x0A00_0000_0099)], network.now)
    predicted = asked(network, Cut(at(2, 4)))
    (number,) = predicted.names
    pairs = {
        (each.what.a, each.what.b): each.until
        for each in predicted.interruptions
        if hasattr(each.what, "a")
    }
    assert pairs == {(1, number): None, (2, number): None}
    assert predicted.names[number] == "bridge 06:00:00:00:00:01"
    assert any(place.datapath_id == number and n == 1 for place, n in predicted.hosts.items())


def test_a_silent_bridge_with_stp_is_named_as_not_predicted() -> None:
    """It has one cable, its root port: there it sends notifications, and no identifier."""
    network = with_foreign(2, [at(2, 4)], 61440, rapid=False)
    predicted = asked(network, Cut(at(1, 1)))
    assert not predicted.names
    assert any("eth4" in each and "not predicted" in each for each in predicted.assumptions)
    assert HOST not in {each.port for each in predicted.roles}


@pytest.mark.parametrize("cost", [200_020_001, 0xFFFF_FFFF])
def test_a_host_that_claims_any_cost_prevents_no_prediction(cost: int) -> None:
    """It names our root, and a cost that no port may have."""
    network = network_of([(at(1, 1), at(2, 2))], bridges=2)
    network.set_link(at(2, 4), up=True)
    list(network.run(50.0))
    root = min(s.bridge_id for b in own(network) if (s := b.stp.status(network.now)))
    claim = PriorityVector(root, cost, 0xF000 << 48 | ADDRESS, 0x8001)
    frame = encode(Bpdu(BpduType.RST, claim, TIMES, version=2), ADDRESS)
    bridge = network.bridges[2]
    network.apply(bridge, bridge.hear("bpdu", [(4, frame)], network.now))
    assert asked(network, Cut(at(1, 1))).roles
