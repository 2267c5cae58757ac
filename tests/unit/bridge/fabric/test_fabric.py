"""Several switches that are one bridge, in virtual time."""

from dataclasses import replace

import pytest

from ofapp.bridge.effects.fabric import FABRIC_PORT
from ofapp.bridge.fabric.fabric import Fabric
from ofapp.bridge.fabric.state.graphs import START
from ofapp.bridge.fabric.state.state import REFUSED_AGAIN
from ofapp.bridge.fabric.state.stored import read_proven
from ofapp.bridge.fabric.status import MemberStatus
from ofapp.bridge.lag.params import LagParams
from ofapp.bridge.lldp.own import OwnAgents
from ofapp.bridge.multicast import Params
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import LOCAL_PORT
from tests.unit.bridge.fabric.simulation import FORWARDING, RSTP, Network, neighbour
from tests.unit.bridge.snooping_bridge import join, query

A, B, C = 0x0200000000A0, 0x0200000000B0, 0x0200000000C0
RING = [(1, 2), (2, 3), (3, 1)]


def ring(params=None) -> Network:  # type: ignore[no-untyped-def]
    network = Network(3, RING, params)
    network.connect()
    return network.run(5)


def test_members_are_one_bridge_once_their_links_are_proven() -> None:
    network = ring()
    assert network.fabric.status(network.now).settled
    assert network.fabric.status(network.now).paused == ""
    names = {port.name for port in network.bridge.ports}
    assert {"fabric", "s2/br0", "s1/vnet11", "s3/vnet12"} <= names
    assert not any("eth" in name for name in names)
    assert network.bridge.name == "fabric"
    assert {len(switch.parts) for switch in network.switches.values()} == {1}


def test_a_frame_to_an_unknown_host_reaches_every_edge_port_once() -> None:
    network = ring()
    reached = network.send(1, 11, A, B)
    others = {(at, port) for at in (1, 2, 3) for port in (11, 12, LOCAL_PORT)} - {(1, 11)}
    assert dict(reached) == dict.fromkeys(others, 1)


@pytest.mark.parametrize("lost", range(1, 5))
def test_a_member_without_power_is_not_waited_for(lost: int) -> None:
    """Its connection is silent: broadcasts that came through it take another path at once."""
    network = Network(4, [*RING, (3, 4), (4, 1)])
    network.connect()
    network.run(5)
    network.power_off(lost, noticed=False)
    network.run(0.5)
    left = network.switches.keys() - {lost}
    for member in left:
        reached = network.send(member, 11, A, B)
        assert {at for at, _ in reached} == left, member


def test_hosts_at_different_members_learn_each_other() -> None:
    network = ring()
    network.send(1, 11, A, B)
    network.send(2, 11, B, A)  # asks for the host
    assert network.send(2, 11, B, A) == {(1, 11): 1}
    network.send(1, 11, A, B)
    assert network.send(1, 11, A, B) == {(2, 11): 1}
    assert network.switches[3].destinations == network.switches[3].remotes == {}
    assert network.fabric.status(network.now).members[0].hosts == 1


def test_frames_follow_a_host_that_moves() -> None:
    network = ring()
    for _ in range(2):
        network.send(1, 11, A, B)
        network.send(2, 11, B, A)
    network.send(3, 12, B, A)
    assert network.send(1, 11, A, B) == {(3, 12): 1}
    assert network.send(2, 12, C, B)[3, 12] == 1
    network.send(1, 12, B, A)
    assert network.send(1, 11, A, B) == {(1, 12): 1}
    assert network.send(2, 12, C, B)[1, 12] == 1


def test_a_host_that_has_aged_out_is_forgotten_by_all_members() -> None:
    network = ring()
    for _ in range(2):
        network.send(1, 11, A, B)
        network.send(2, 11, B, A)
    _, serial = network.switches[2].sources.pop((0, B))
    network.handle(network.fabric.view(2).addresses.expired(0, B, serial))
    assert (0, B) not in network.switches[1].remotes
    assert (0, B) not in network.switches[2].destinations
    assert len(network.send(1, 11, A, B)) > 1


def test_a_failed_link_is_replaced() -> None:
    network = ring()
    network.send(1, 11, A, B)
    network.send(2, 11, B, A)
    network.send(2, 11, B, A)
    network.set_link(1, 1, False)
    network.set_link(2, 1, False)
    assert network.fabric.status(network.now).settled
    assert network.send(2, 11, B, A) == {(1, 11): 1}
    assert set(network.send(2, 11, B, C).values()) == {1}


def test_a_member_that_refuses_a_plan_goes_on_with_its_last_one() -> None:
    """The others do not wait for it, and it is tried again."""
    network = ring()
    network.switches[2].full = True
    network.set_link(1, 1, False)  # between s1 and s2
    network.set_link(2, 1, False)
    network.run(5)

    def member() -> MemberStatus:
        return network.fabric.status(network.now).members[1]

    assert (member().refuses, member().ready) == (True, False)
    assert not network.fabric.status(network.now).settled
    everywhere = {(at, port): 1 for at in (1, 2, 3) for port in (11, 12, LOCAL_PORT)}
    assert network.send(1, 12, A, B) == {end: 1 for end in everywhere if end != (1, 12)}
    network.run(REFUSED_AGAIN)
    assert member().refuses
    assert network.fabric.status(network.now).counters["refused_contents"] == 2
    network.switches[2].full = False
    network.run(REFUSED_AGAIN)
    assert (member().refuses, member().ready) == (False, True)
    assert network.fabric.status(network.now).settled
    assert set(network.send(1, 12, A, C).values()) == {1}
    kinds = [event.kind for event in network.events if "refused" in event.kind]
    assert kinds == ["fabric.member.refused", "fabric.member.refused.cleared"]


def test_two_external_paths_between_members_are_no_loop() -> None:
    network = ring(RSTP)
    other = neighbour(0x02FF00000001)
    network.attach(other, (1, 11), (2, 11))
    network.run(20)
    ours = [network.switches[at].states.get(11) is FORWARDING for at in (1, 2)]
    theirs = [other.relay.states[port] is FORWARDING for port in (1, 2)]
    assert sum(a and b for a, b in zip(ours, theirs, strict=True)) == 1


def test_edge_ports_of_members_open_by_spanning_tree() -> None:
    network = ring(RSTP)
    network.run(10)
    states = {(at, p): s for at, each in network.switches.items() for p, s in each.states.items()}
    assert {states[at, 11] for at in (1, 2, 3)} == {FORWARDING}
    assert states[1, LOCAL_PORT] is FORWARDING
    assert states[2, LOCAL_PORT] is FORWARDING


def test_protocols_wait_for_a_member_that_forwards_without_the_controller() -> None:
    network = ring(RSTP).run(10)
    network.disconnect(2)
    assert "s2" in network.fabric.status(network.now).paused
    assert not [*network.fabric.view(1).trapping()]
    network.run(20)
    assert network.send(1, 11, A, B)[2, 11] == 1
    network.connect(2)
    assert network.fabric.status(network.now).paused == ""
    assert [*network.fabric.view(1).trapping()]
    assert network.switches[2].states[11] is FORWARDING
    network.run(2)
    assert network.fabric.status(network.now).settled


def test_a_member_that_is_off_is_removed_and_comes_back() -> None:
    network = ring(RSTP).run(10)
    network.send(2, 11, B, A)
    network.power_off(2)
    network.run(1)
    assert network.fabric.status(network.now).paused == ""
    assert not any(port.name.startswith("s2/") for port in network.bridge.ports)
    assert network.bridge.fdb.learned == 0
    number = network.bridge.ports.named("s3/vnet11")
    assert network.send(1, 11, A, B)[3, 11] == 1
    for port in network.switches[2].links:
        network.set_link(*network.cables[2, port], up=True)
    network.connect(2)
    network.run(15)
    assert network.bridge.ports.named("s3/vnet11") == number
    assert network.send(1, 11, A, B)[2, 11] == 1


def test_the_bridge_keeps_its_name_while_the_first_member_is_off() -> None:
    network = ring(RSTP).run(10)
    network.power_off(1)
    network.run(1)
    assert network.bridge.name == "fabric"
    assert not network.bridge.ports.get(LOCAL_PORT).up  # type: ignore[union-attr]
    assert network.send(2, 11, A, B)[3, 11] == 1


def test_a_member_that_restarted_starts_its_ports_again_and_others_go_on() -> None:
    network = ring(RSTP).run(10)
    network.send(2, 11, B, A)
    network.disconnect(2)
    network.switches[2].restart()
    network.connect(2)
    assert all(network.switches[at].states[11] is FORWARDING for at in (1, 2, 3))
    network.run(5)
    assert network.send(1, 11, A, B)
    assert network.send(1, 11, A, B) == {(2, 11): 1}


def test_ports_with_a_neighbour_stay_closed_after_a_restart_until_it_agrees() -> None:
    network = ring(RSTP)
    other = neighbour(0x02FF00000001, priority=61440)
    network.attach(other, (1, 11), (2, 11))
    network.run(20)
    network.disconnect(1)
    network.switches[1].restart()
    network.connect(1)
    network.run(20)
    ours = [network.switches[at].states.get(11) is FORWARDING for at in (1, 2)]
    theirs = [other.relay.states[port] is FORWARDING for port in (1, 2)]
    assert sum(a and b for a, b in zip(ours, theirs, strict=True)) == 1


def test_another_controller_goes_on_with_what_members_hold() -> None:
    network = ring()
    for _ in range(2):
        network.send(1, 11, A, B)
        network.send(2, 11, B, A)
    before = {at: switch.use for at, switch in network.switches.items()}
    numbers = {port.name: port.number for port in network.bridge.ports}
    network.start()
    network.connect(3, 1)
    network.run(5)
    assert network.fabric.status(network.now).paused
    assert {at: switch.use for at, switch in network.switches.items()} == before
    network.run(START)
    assert network.switches[2].use == before[2]
    assert before[2] in network.switches[1].parts
    assert network.switches[1].use != before[1]
    network.connect(2)
    network.run(5)
    assert {port.name: port.number for port in network.bridge.ports} == numbers
    assert network.send(1, 11, A, B) == {(2, 11): 1}
    assert network.bridge.fdb.learned == 2
    assert {len(switch.parts) for switch in network.switches.values()} == {1}


def test_a_controller_that_waited_for_long_uses_no_plan_without_links_that_work() -> None:
    """As after an outage of etcd: its members have forwarded meanwhile, and connect one by one."""
    network = ring()
    network.set_link(1, 1, False)  # between s1 and s2
    network.set_link(2, 1, False)
    network.run(5)
    for _ in range(2):
        network.send(1, 11, A, B)
        network.send(2, 11, B, A)
    assert network.send(1, 11, A, B) == {(2, 11): 1}
    network.start()
    network.handle(network.fabric.disconnected(1, network.now))
    network.run(START + 1)
    for member in (1, 3, 2):
        network.connect(member)
        assert network.send(1, 11, A, B) == {(2, 11): 1}
    network.run(5)
    assert network.send(1, 11, A, B) == {(2, 11): 1}
    assert network.fabric.status(network.now).settled


def test_members_that_connect_one_by_one_reach_each_other_by_those_that_are_to_come() -> None:
    """A plan leads through connected members alone, and would cut the others off."""
    network = ring()
    for _ in range(2):
        network.send(1, 11, A, B)
        network.send(2, 11, B, A)
    network.disconnect(1, 2, 3)
    network.set_link(1, 1, False)  # between s1 and s2
    network.set_link(2, 1, False)
    for member in (1, 3, 2):
        network.connect(member)
        assert network.send(1, 11, A, B) == {(2, 11): 1}
    network.run(5)
    assert network.fabric.status(network.now).settled


def test_members_that_leave_before_their_links_are_found_again_keep_their_ports() -> None:
    """As when another controller takes a fabric over, and hands it over to a third at once."""
    network = ring()
    numbers = {port.name: port.number for port in network.bridge.ports}
    network.start()
    network.connect()
    network.disconnect(1, 2)
    assert {port.name: port.number for port in network.bridge.ports} == numbers
    assert network.send(3, 11, A, B)[1, 11] == 1
    assert network.fabric.status(network.now).paused
    network.connect(1, 2)
    network.run(5)
    assert network.fabric.status(network.now).paused == ""
    assert {port.name: port.number for port in network.bridge.ports} == numbers


def test_a_controller_starts_without_a_member_that_is_off() -> None:
    network = Network(3, [(1, 2)], RSTP)
    network.connect(1, 2)
    network.run(5)
    assert network.fabric.status(network.now).paused
    network.run(10)
    assert network.fabric.status(network.now).paused == ""
    assert network.send(1, 11, A, B)[2, 11] == 1


@pytest.mark.parametrize("member", [1, 2])
def test_a_member_has_its_ports_and_the_fabrics(member: int) -> None:
    network = ring()
    assert network.switches[member].flooded == {11, 12, LOCAL_PORT, FABRIC_PORT}
    view = network.fabric.view(member)
    assert {port.number for port in view.lags.physical(view.ports)} == {1, 2, 11, 12, LOCAL_PORT}
    assert {port.number for port in view.ports} == {11, 12, LOCAL_PORT}
    assert network.switches[member].fabric.links == (1, 2)  # type: ignore[union-attr]


def with_aggregation() -> Network:
    """A server at s1 and s2 by one aggregation, and s3."""
    lags = {"lag0": LagParams(("s1/vnet11", "s2/vnet11"), lacp="off")}
    return ring(BridgeParams(lags=lags)).run(5)


SERVER = {(1, 11), (2, 11)}


def test_an_aggregation_of_two_members_gets_each_frame_once() -> None:
    network = with_aggregation()
    for member in (1, 2, 3):
        reached = network.send(member, 12, A + member, B)
        assert sum(reached[end] for end in SERVER) == 1, member
    assert network.send(1, 12, A, B)[1, 11] == 1  # its own port first
    assert network.send(2, 12, A, B)[2, 11] == 1
    assert not any(network.send(1, 11, C, B)[end] for end in SERVER)  # not back


def test_a_host_on_an_aggregation_of_two_members_is_local_at_both() -> None:
    network = with_aggregation()
    network.send(1, 11, B, A)
    assert network.send(1, 12, A, B) == {(1, 11): 1}
    assert network.send(2, 12, A + 1, B) == {(2, 11): 1}
    network.send(3, 12, C, B)
    assert network.send(3, 12, C, B) == {(1, 11): 1}
    network.set_link(1, 11, False)
    network.send(3, 12, C, B)
    assert network.send(3, 12, C, B) == {(2, 11): 1}
    network.send(1, 12, A, B)
    assert network.send(1, 12, A, B) == {(2, 11): 1}
    network.set_link(1, 11, True)
    network.run(5)
    network.send(1, 11, B, A)
    assert network.send(1, 12, A, B) == {(1, 11): 1}


def test_a_host_that_sends_by_one_port_of_an_aggregation_is_not_forgotten() -> None:
    network = with_aggregation()
    network.send(1, 11, B, A)
    _, serial = network.switches[2].sources.pop((0, B))
    network.handle(network.fabric.view(2).addresses.expired(0, B, serial))
    assert network.send(2, 12, C, B) == {(2, 11): 1}
    _, serial = network.switches[1].sources.pop((0, B))
    network.handle(network.fabric.view(1).addresses.expired(0, B, serial))
    assert network.bridge.fdb.get(0, B) is None
    assert (0, B) not in network.switches[1].destinations | network.switches[2].destinations


def test_a_member_that_is_cut_off_is_not_used_by_aggregations() -> None:
    """Otherwise what the server sends to it would be lost; it is used once its links are proven."""
    network = with_aggregation()
    in_use = network.bridge.lags.in_use
    number = network.bridge.ports.named("lag0")
    assert number is not None
    assert len(in_use(number.number)) == 2
    for port in network.switches[1].links:
        network.set_link(1, port, False)
    network.run(1)
    assert in_use(number.number) == (network.fabric.number(2, 11),)
    assert network.send(3, 12, A, B)[2, 11] == 1
    for port in network.switches[1].links:
        network.set_link(1, port, True)
    assert len(in_use(number.number)) == 1
    network.run(20)
    assert len(in_use(number.number)) == 2


GROUP = (0, bytes([239, 1, 1, 1]), None)


def with_members_of_a_group() -> Network:
    """Members of a group at s1 and s3, and a querier at s2."""
    network = ring(BridgeParams(multicast=Params()))
    network.handle(network.fabric.view(2).hear("snooped", [(12, query())], network.now))
    for member in (1, 3):
        network.handle(network.fabric.view(member).hear("snooped", [(11, join())], network.now))
    return network.run(30)


def test_a_group_leads_to_the_fabric_where_other_members_have_hosts_of_it() -> None:
    network = with_members_of_a_group()
    groups = {at: switch.groups[GROUP] for at, switch in network.switches.items()}
    assert groups == {1: {11, FABRIC_PORT}, 2: {12, FABRIC_PORT}, 3: {11, FABRIC_PORT}}
    leave = network.bridge.multicast.forget(network.now, port=network.fabric_number(3, 11))[1]
    network.handle(leave)
    assert network.switches[2].groups[GROUP] == {12, FABRIC_PORT}
    assert network.switches[3].groups[GROUP] == {FABRIC_PORT}


def test_another_controller_keeps_entries_until_all_members_are_connected() -> None:
    network = with_members_of_a_group()
    before = {at: dict(switch.groups) for at, switch in network.switches.items()}
    network.start()
    network.connect(2)
    assert network.switches[2].groups[GROUP] == before[2][GROUP]
    assert network.switches[2].groups.keys() == before[2].keys()
    network.connect(1)
    network.run(1)
    assert network.switches[1].groups[GROUP] == {11, FABRIC_PORT}
    assert network.switches[2].groups[GROUP] == {12, FABRIC_PORT}
    network.connect(3)
    network.run(1)
    assert {at: dict(switch.groups) for at, switch in network.switches.items()} == before


def test_entries_that_no_member_has_hosts_of_go_when_all_are_connected() -> None:
    network = with_members_of_a_group()
    for switch in network.switches.values():  # of a group that the last controller has lost
        switch.groups[0, bytes([239, 9, 9, 9]), None] = frozenset({FABRIC_PORT})
    network.start()
    network.connect(1, 2)
    assert len(network.switches[1].groups) == 3
    network.connect(3)
    network.run(1)
    assert [len(network.switches[at].groups) for at in (1, 2, 3)] == [2, 2, 2]


def test_the_way_to_a_host_and_after_a_failure() -> None:
    network = ring()
    network.send(2, 11, B, A)
    trace = network.fabric.trace(1, 0, B)
    assert (trace.member, trace.port, trace.flooded) == (2, "s2/vnet11", False)
    assert [[(hop.out, hop.into) for hop in path] for path in trace.paths] == [
        [("s1/eth1", "s2/eth1")]
    ]
    (after,) = trace.after["s1/eth1", "s2/eth1"]
    around = [(hop.out, hop.into) for hop in after]
    assert around == [("s1/eth2", "s3/eth2"), ("s3/eth1", "s2/eth2")]
    failed = network.fabric.trace(1, 0, B, [("s2/eth1", "s1/eth1")])
    assert [(hop.out, hop.into) for hop in failed.paths[0]] == around
    assert network.fabric.trace(2, 0, B).paths == ((),)
    assert network.fabric.trace(1, 0, C).flooded


def test_statistics_name_members_and_versions() -> None:
    network = ring()
    status = network.fabric.status(network.now)
    assert [(m.name, m.number, m.ready, m.ports) for m in status.members] == [
        ("s1", 1, True, 3),
        ("s2", 2, True, 3),
        ("s3", 3, True, 3),
    ]
    assert {(m.version,) == m.versions for m in status.members} == {True}
    network.disconnect(2)
    assert not network.fabric.status(network.now).members[1].ready


@pytest.mark.parametrize("member", [1, 2, 3])
def test_members_join_and_leave(member: int) -> None:
    """The last one's entry is removed; the number of another one stays reserved."""
    network = ring()
    network.send(member, 11, C, A)
    members = list(network.params.members)
    if member == 3:
        del members[2]
    else:
        members[member - 1] = replace(members[member - 1], left=True)
    network.disconnect(member)
    without = replace(network.params, members=tuple(members))
    network.handle(network.fabric.set_params(without, network.now))
    network.run(1)
    status = network.fabric.status(network.now)
    assert status.paused == ""
    assert f"s{member}" not in {each.name for each in status.members}
    assert not any(port.name.startswith(f"s{member}/") for port in network.bridge.ports)
    one, other = {1, 2, 3} - {member}
    assert network.send(one, 11, A, B)[other, 11] == 1
    assert {len(network.switches[at].parts) for at in (one, other)} == {1}
    network.handle(network.fabric.set_params(network.params, network.now))
    network.connect(member)
    network.run(5)
    assert network.send(one, 11, A, B)[member, 11] == 1
    turned = replace(network.params, members=network.params.members[::-1])
    with pytest.raises(ValueError, match="another number"):
        network.fabric.set_params(turned, network.now)


@pytest.mark.parametrize("left", [True, False])
def test_the_bridge_keeps_its_address_without_its_first_member(left: bool) -> None:
    """The address is that of the first member's switch, also for a later controller."""
    network = Network(3, RING, RSTP)
    network.connect()
    network.run(5)

    def identity() -> tuple[object, int]:
        status = network.bridge.stp.status(network.now)
        assert status is not None
        return status.bridge_id, network.bridge.address

    before = identity()
    first, *others = network.params.members
    network.params = replace(network.params, members=(replace(first, left=left), *others))
    network.power_off(1)
    network.handle(network.fabric.set_params(network.params, network.now))
    network.run(5)
    assert identity() == before
    network.start()
    network.connect(2, 3)
    network.run(15)
    assert identity() == before
    assert network.send(2, 11, A, B)[3, 11] == 1


def test_a_link_to_a_member_that_has_left_admits_no_frames_of_a_later_controller() -> None:
    network = ring()
    first, *others = network.params.members
    network.params = replace(network.params, members=(replace(first, left=True), *others))
    network.start()
    network.connect(2, 3)
    network.run(15)
    for member in (2, 3):
        fabric = network.switches[member].fabric
        assert fabric is not None
        assert len(fabric.admitted) == 1


def test_a_port_whose_name_fits_the_links_later_leaves_the_bridge() -> None:
    network = ring()
    member = replace(network.params.members[0], links=("eth*", "vnet12"))
    changed = replace(network.params, members=(member, *network.params.members[1:]))
    network.handle(network.fabric.set_params(changed, network.now))
    assert network.bridge.ports.named("s1/vnet12") is None
    assert 12 not in network.switches[1].states
    assert network.switches[1].fabric.links == (1, 2, 12)  # type: ignore[union-attr]
    network.handle(network.fabric.set_params(network.params, network.now))
    assert network.bridge.ports.named("s1/vnet12") is not None
    assert network.switches[1].states[12] is FORWARDING


def test_a_static_entry_is_at_its_member_and_others_flood_to_it_once() -> None:
    network = ring()
    network.handle(network.bridge.add_static(0, B, "s2/vnet12", network.now))
    network.send(1, 11, A, B)
    assert network.send(1, 11, A, B) == {(2, 12): 1}
    assert network.send(2, 11, C, B) == {(2, 12): 1}
    network.handle(network.bridge.remove_static(0, B))
    assert network.send(3, 11, C, B)[1, 12] == 1


def test_a_wrong_dump_is_refused() -> None:
    network = ring()
    for stored in ([], {"uses": []}, {"uses": {"1": [64]}}, {"ports": [["s1/eth0"]]}):
        with pytest.raises(ValueError, match="not the"):
            Fabric(network.params, network.bridge, OwnAgents(b"key"), stored)


def test_a_fabric_is_not_settled_before_its_links_are_proven() -> None:
    """A port that no member is behind is not waited for longer than `START`."""
    network = Network(3, RING)
    network.switches[1].links[3] = True

    def settled() -> bool:
        return network.fabric.status(network.now).settled

    assert not settled()
    network.connect()
    assert not settled()
    network.run(START - 1)
    assert not settled()
    network.run(2)
    assert settled()
    pull(network, 1, 1)
    assert settled()
    pull(network, 1, 1, up=True)
    assert not settled()
    network.run(5)
    assert settled()
    network.disconnect(1, 2, 3)
    assert not settled()


def admitted(network: Network, member: int) -> tuple[int, ...]:
    """Link ports by which a member's switch takes frames of the fabric."""
    fabric = network.switches[member].fabric
    assert fabric is not None
    return fabric.admitted


def pull(network: Network, member: int, port: int, *, up: bool = False) -> None:
    """Pull a cable, or plug it in again."""
    for end in ((member, port), network.cables[member, port]):
        network.set_link(*end, up=up)


def test_only_links_that_carry_are_admitted() -> None:
    """A third port of s1 is called like a link, and a host is behind it."""
    network = ring()
    network.switches[1].links[3] = True
    network.set_link(1, 3, up=True)
    network.run(60)
    assert [admitted(network, member) for member in (1, 2, 3)] == [(1, 2)] * 3
    assert network.switches[1].fabric.links == (1, 2, 3)  # type: ignore[union-attr]
    pull(network, 1, 1)
    network.run(5)
    assert [admitted(network, member) for member in (1, 2, 3)] == [(2,), (2,), (1, 2)]


def test_a_cable_is_admitted_again_when_it_is_proven_again() -> None:
    network = ring()
    pull(network, 1, 1)
    del network.cables[1, 1], network.cables[2, 1]  # an attacker's cable
    network.set_link(1, 1, up=True)
    network.set_link(2, 1, up=True)
    network.run(60)
    assert (admitted(network, 1), admitted(network, 2)) == ((2,), (2,))
    network.cables |= {(1, 1): (2, 1), (2, 1): (1, 1)}
    network.run(60)
    assert (admitted(network, 1), admitted(network, 2)) == ((1, 2), (1, 2))


def test_what_is_plugged_in_instead_of_a_member_that_is_off_is_not_admitted() -> None:
    network = ring()
    network.power_off(2)
    network.run(5)
    for end in ((1, 1), (3, 1)):  # the former ports to s2
        network.set_link(*end, up=True)
    network.run(60)
    assert (admitted(network, 1), admitted(network, 3)) == ((2,), (2,))


def test_a_member_without_the_controller_goes_on_sending_by_a_cable_that_was_pulled() -> None:
    """It is not proven while the member is cut off, but another link still leads there."""
    network = ring()
    for _ in range(2):
        network.send(1, 11, A, B)
        network.send(2, 11, B, A)
    network.disconnect(2)
    for up in (False, True):
        pull(network, 1, 1, up=up)
        network.run(5)
        assert network.send(2, 11, B, A) == {(1, 11): 1}
        assert network.send(1, 11, A, B) == {(2, 11): 1}
        assert set(network.send(2, 11, B, C).values()) == {1}
        assert set(network.send(1, 11, A, C).values()) == {1}
    network.connect(2)
    network.run(5)
    assert admitted(network, 2) == (1, 2)
    assert network.send(2, 11, B, A) == {(1, 11): 1}


def test_another_controller_admits_what_was_proven_and_nothing_else() -> None:
    """s3 is cut off, so its links stay as they were; one of them is pulled later."""
    network = ring()
    network.switches[1].links[3] = True
    network.set_link(1, 3, up=True)
    network.run(5)
    network.disconnect(3)
    network.start()
    network.connect(1, 2)
    assert [admitted(network, member) for member in (1, 2)] == [(1, 2)] * 2
    network.run(START + 5)
    assert [admitted(network, member) for member in (1, 2)] == [(1, 2)] * 2
    pull(network, 1, 2)
    pull(network, 1, 2, up=True)
    network.run(5)
    assert [admitted(network, member) for member in (1, 2)] == [(1,), (1, 2)]
    network.connect(3)
    network.run(60)
    assert [admitted(network, member) for member in (1, 2, 3)] == [(1, 2)] * 3


@pytest.mark.parametrize("stored", [5, [["s1/eth1"]], [[1, 2]], {"s1/eth1": 1}])
def test_stored_links_that_are_damaged_are_reported(stored: object) -> None:
    with pytest.raises(ValueError, match="not the links that were proven"):
        read_proven(stored)
