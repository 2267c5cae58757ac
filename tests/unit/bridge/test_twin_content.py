"""What switches hold after a change, in the network's twin: items, groups and bindings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from random import Random

import pytest

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.datapath_status import PlannedItem
from ofapp.bridge.desired import Desired
from ofapp.bridge.effects.content import BoundAddress
from ofapp.bridge.event import Event
from ofapp.bridge.first_hop.binding import Origin
from ofapp.bridge.first_hop.params import PortParams as Guard
from ofapp.bridge.multicast import Params, VlanParams, parse
from ofapp.bridge.params.params import PortParams
from ofapp.bridge.params.policy import PortPolicy
from ofapp.bridge.ports.vlan import access
from ofapp.bridge.twin.actions import Action, Cut, Disconnect, Move, Plug, SetParams
from ofapp.bridge.twin.cable import SwitchPort
from ofapp.bridge.twin.hosts import hosts_on
from ofapp.bridge.twin.network import TwinNetwork
from ofapp.bridge.twin.prediction import MOST_VLANS, Prediction, copy_of, learned_of, predict
from ofapp.common.portions import AT_ONCE
from ofapp.openflow.switch.plan import compared
from tests.support.dhcp_frames import ack, request
from tests.support.multicast_frames import join
from tests.unit.bridge.test_twin import HOST, RING, at, network_of, random_cables

FREE = 5
"""A port of each bridge without a link."""
GUEST = PortParams(first_hop=Guard(source_guard="ip", arp_inspection=True))
MAC = 0x0A00_0000_0001
"""The address of the host of bridge 1."""
ADDRESS = BoundAddress.parse("10.0.0.9")
GROUP = "239.1.1.1"


def moved(network: TwinNetwork, to: SwitchPort) -> Move:
    """The host of bridge 1 moves."""
    return Move(at(1, HOST), to, hosts_on(network.bridges[1], HOST))


def asked(network: TwinNetwork, *actions: Action, seconds: float = 40.0) -> Prediction:
    bridges = network.bridges.values()
    copy = copy_of(bridges, network.cables, network.now, lambda: None)
    learned = learned_of(bridges, lambda: None)
    return [*filter(None, predict(copy, learned, actions, seconds))][-1]


def items(before: Desired, after: Desired) -> list[PlannedItem]:
    return [*compared(before, after, True, {**before.names, **after.names}, AT_ONCE).items()]


def predicted_items(predicted: Prediction) -> dict[int, list[PlannedItem]]:
    return {number: items(*content) for number, content in predicted.contents.items()}


def run(network: TwinNetwork, seconds: float) -> None:
    for _ in network.run(network.now + seconds):
        pass


@pytest.mark.parametrize("seed", range(12))
def test_the_items_are_those_by_which_the_switches_differ_then(seed: int) -> None:
    """A cable is cut or plugged in, in a random network: asked first, and then done."""
    random = Random(seed)
    network = network_of(random_cables(random, size := random.randint(3, 6)), bridges=size)
    ports = [at(number, 8) for number in random.sample(range(1, size + 1), 2)]
    cut, plug = Cut(random.choice(sorted(network.cables)).a), Plug(ports[0], ports[1])
    action = random.choice([cut, plug])
    predicted = predicted_items(asked(network, action))
    before = {number: bridge.desired() for number, bridge in network.bridges.items()}
    action.apply(network)
    run(network, 40.0)
    done = {
        number: changed
        for number, bridge in network.bridges.items()
        if (changed := items(before[number], bridge.desired()))
    }
    assert done
    assert predicted == done


def test_nothing_changes_in_switches_without_a_change() -> None:
    assert not asked(network_of(RING)).contents
    assert not asked(network_of(RING), Disconnect(20.0)).contents


def test_settings_of_protocols_that_the_copy_does_not_run_are_items_too() -> None:
    network = network_of(RING)
    params = network.bridges[2].params
    isolated = PortParams(policy=PortPolicy(isolated=True))
    new = replace(params, ports={f"eth{HOST}": isolated}, multicast=Params())
    (changed,) = predicted_items(asked(network, SetParams(2, new))).values()
    (port,) = [each for each in changed if each.item == f"port eth{HOST}"]
    assert {"isolated no -> yes", "snooping no -> yes"} <= {*port.changes}


# Bindings


def guarded(*names: str) -> TwinNetwork:
    """A ring, in which these ports of all bridges are guarded."""
    network = network_of(RING)
    for bridge in network.bridges.values():
        params = replace(bridge.params, ports=dict.fromkeys(names, GUEST))
        network.set_params(bridge.datapath_id, params)
    run(network, 1.0)
    return network


def lease(bridge: Bridge, now: float) -> None:
    """Let the host of a bridge get its address by DHCP."""
    bridge.hear("dhcp", [(HOST, request(MAC, "10.0.0.9"))], now)
    bridge.hear("dhcp_server", [(1, ack(MAC, "10.0.0.9"))], now)
    assert [each.port for each in bridge.first_hop.of_host(0, MAC)] == [f"eth{HOST}"]


def kinds(predicted: Prediction) -> set[str]:
    return {each.event.kind for each in predicted.events if isinstance(each.event, Event)}


@pytest.mark.parametrize("to", [1, 2], ids=["same bridge", "another bridge"])
def test_a_lease_moves_with_its_host_to_another_guarded_port(to: int) -> None:
    network = guarded(f"eth{HOST}", f"eth{FREE}")
    lease(network.bridges[1], network.now)
    predicted = asked(network, moved(network, at(to, FREE)))
    assert not predicted.refused
    assert "bindings.moved" in kinds(predicted)
    words = [one.item for each in predicted_items(predicted).values() for one in each]
    bound = [item for item in words if item.startswith("binding of 0a:00:00:00:00:01")]
    assert {item.rpartition(" ")[2] for item in bound} == {f"eth{HOST}", f"eth{FREE}"}


def test_a_binding_of_a_user_stays_and_the_host_is_refused() -> None:
    network = guarded(f"eth{HOST}", f"eth{FREE}")
    network.bridges[1].first_hop.add(f"eth{HOST}", 0, MAC, ADDRESS, Origin.API, network.now)
    (refused,) = asked(network, moved(network, at(2, FREE))).refused
    assert (refused.datapath_id, refused.port, refused.mac) == (2, FREE, MAC)
    assert refused.bound is not None
    assert (refused.bound_at, refused.bound.port) == (1, f"eth{HOST}")
    assert refused.bound.origin is Origin.API


def test_a_host_without_a_binding_is_refused_where_hosts_are_guarded() -> None:
    network = guarded(f"eth{FREE}")
    (refused,) = asked(network, moved(network, at(1, FREE))).refused
    assert refused.bound is None
    assert not asked(network, moved(network, at(1, FREE + 1))).refused


def test_a_lease_of_another_vlan_is_no_binding_there() -> None:
    network = guarded(f"eth{HOST}", f"eth{FREE}")
    bridge = network.bridges[1]
    lease(bridge, network.now)
    guests = replace(GUEST, vlans=access(20))
    ports = {**bridge.params.ports, f"eth{FREE}": guests}
    network.set_params(1, replace(bridge.params, ports=ports))
    (refused,) = asked(network, moved(network, at(1, FREE))).refused
    assert refused.vid == 20
    assert refused.bound is not None


def test_asking_moves_no_binding() -> None:
    network = guarded(f"eth{HOST}", f"eth{FREE}")
    lease(network.bridges[1], network.now)
    asked(network, moved(network, at(2, FREE)))
    assert [*network.bridges[1].first_hop.bindings()]
    assert not [*network.bridges[2].first_hop.bindings()]


# Groups


def snooping(receivers: Iterable[int]) -> TwinNetwork:
    """A ring that snoops, with hosts that are members of a group at these bridges.

    Bridge 1 is the root and the querier.
    """
    network = network_of(RING)
    for number, bridge in network.bridges.items():
        vlan = VlanParams(mcast_querier=number == 1)
        network.set_params(number, replace(bridge.params, multicast=Params(vlan=vlan)))
    run(network, 60.0)
    for number in receivers:
        bridge = network.bridges[number]
        frame = join(number, GROUP)
        network.apply(bridge, bridge.hear("snooped", [(HOST, frame)], network.now))
    run(network, 5.0)
    return network


def ports(network: TwinNetwork, number: int) -> frozenset[int]:
    for each in network.bridges[number].desired().entries:
        if getattr(each, "group", None) == parse(GROUP):
            assert each.ports is not None
            return each.ports
    return frozenset()


def test_the_members_of_groups_report_along_the_cables() -> None:
    network = snooping([2, 3])
    assert HOST in ports(network, 2)
    assert HOST in ports(network, 3)
    assert ports(network, 1) >= {1, 2}


def test_a_group_loses_the_port_of_a_receiver_whose_link_goes_down() -> None:
    predicted = asked(snooping([2]), Cut(at(2, HOST)))
    lost = {
        (each.datapath_id, each.port, each.receiver)
        for each in predicted.groups
        if not each.gained and each.group == parse(GROUP)
    }
    assert (2, HOST, True) in lost


def test_a_receiver_that_moves_is_gained_by_its_new_port() -> None:
    network = snooping([2])
    predicted = asked(network, Move(at(2, HOST), at(3, FREE)))
    gained = {(e.datapath_id, e.port) for e in predicted.groups if e.gained and e.receiver}
    lost = {(e.datapath_id, e.port) for e in predicted.groups if not e.gained and e.receiver}
    assert (gained, lost) == ({(3, FREE)}, {(2, HOST)})


@pytest.mark.parametrize("cut", [at(1, 1), at(3, 1)])
def test_groups_take_the_other_way_round_the_ring(cut: SwitchPort) -> None:
    """Asked first, and then done: the same ports of each group."""
    network = snooping([2, 3])
    before = {number: ports(network, number) for number in network.bridges}
    predicted = asked(network, Cut(cut))
    copied = copy_of(network.bridges.values(), network.cables, network.now, lambda: None)
    Cut(cut).apply(copied)
    run(copied, 40.0)
    for number in network.bridges:
        mine = [each for each in predicted.groups if each.datapath_id == number]
        gained = {each.port for each in mine if each.gained}
        lost = {each.port for each in mine if not each.gained}
        assert (before[number] | gained) - lost == ports(copied, number), number
        assert not [each for each in mine if each.receiver], "those stay"
        if number != 1:
            assert HOST in ports(copied, number)


def test_multicast_is_predicted_in_a_few_vlans_alone() -> None:
    """Those with most groups; the answer says how many are left out."""
    network = network_of(RING)
    vlan = VlanParams(mcast_querier=True, mcast_query_response_interval=1.0)
    for number, bridge in network.bridges.items():
        network.set_params(number, replace(bridge.params, multicast=Params(vlan=vlan)))
    vids = range(100, 100 + MOST_VLANS + 2)
    bridge = network.bridges[2]
    for _ in range(2):  # as VLANs are snooped from the first message on, and restrict after it
        for vid in vids:
            for group in ("239.1.1.1", "239.1.1.2")[: 2 if vid > vids[1] else 1]:
                frame = join(7, group, vlan=vid)
                network.apply(bridge, bridge.hear("snooped", [(HOST, frame)], network.now))
        run(network, 60.0)
    predicted = asked(network, Cut(at(2, HOST)))
    lost = {each.vid for each in predicted.groups if each.datapath_id == 2 and not each.gained}
    assert lost == {*vids[2:]}
    assert "multicast in 2 further VLANs stays as it is" in predicted.assumptions


def test_a_loop_does_not_multiply_messages_of_snooping() -> None:
    network = network_of(RING[:2], stp=False)
    for number, bridge in network.bridges.items():
        vlan = VlanParams(mcast_querier=number == 1)
        network.set_params(number, replace(bridge.params, multicast=Params(vlan=vlan)))
    run(network, 5.0)
    Plug(*RING[2]).apply(network)
    assert sum(1 for _ in network.run(network.now + 20.0)) < 500
