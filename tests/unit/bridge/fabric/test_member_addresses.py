"""Learned addresses of a fabric's bridge as one member sees them."""

from ofapp.bridge import stp
from ofapp.bridge.desired import Asked
from ofapp.bridge.effects import Effect, ForFabric, InstallEntry, RemoveDestination
from ofapp.bridge.effects.fabric import FABRIC_PORT, RemoveRemote
from ofapp.bridge.fabric.member.addresses import MemberAddresses
from ofapp.bridge.fabric.state.split import Step
from ofapp.bridge.params.params import BridgeParams, PortParams
from ofapp.bridge.params.policy import PortPolicy
from ofapp.bridge.ports.port import Port
from ofapp.bridge.ports.vlan import access
from ofapp.bridge.relay.policies import PortPolicies
from ofapp.common.portions import AT_ONCE
from ofapp.openflow.switch.switch_bridge import SwitchAddresses
from tests.unit.bridge.fabric.test_split import Fabric

A = 0x02000000000A


def views(fabric: Fabric) -> dict[int, SwitchAddresses]:
    places = fabric.places
    return {member: MemberAddresses(fabric.bridge, places, member) for member in places.members}


def split(fabric: Fabric, effects: list[Effect]) -> Step:
    (notice,) = effects
    assert isinstance(notice, ForFabric)
    return fabric.step(notice.effects)


def test_a_view_has_the_hosts_of_its_member_in_its_numbers() -> None:
    fabric = Fabric()
    view = views(fabric)
    step = split(fabric, view[2].learn([(2, 0, A)], 1.0))
    assert step == {2: [InstallEntry(2, 0, A, 1, 0)]}
    entry = view[2].learned(0, A)
    assert entry is not None
    assert view[2].port_of(entry) == 2
    assert view[2].by_port() == {2: 1}
    assert (len(view[2]), len(view[1]), view[1].learned(0, A)) == (1, 0, None)
    assert [len(view[at].cohort(1)) for at in (1, 2, 3)] == [0, 1, 0]
    assert [view[at].installed(0, A) for at in (1, 2, 3)] == [False, True, False]
    assert view[2].learn([(99, 0, A + 1)], 2.0) == []


def test_the_end_of_a_host_at_its_member_ends_its_conversations() -> None:
    fabric = Fabric()
    view = views(fabric)
    split(fabric, view[2].learn([(2, 0, A)], 1.0))
    fabric.asks(3, A)
    assert view[3].expired(0, A, 1) == []
    step = split(fabric, view[2].expired(0, A, 1))
    assert step == {2: [RemoveDestination(0, A, 1)], 3: [RemoveRemote(0, A)]}
    assert len(view[2]) == len(fabric.conversations) == 0


def test_of_two_members_with_a_host_the_later_one_has_it() -> None:
    fabric = Fabric()
    view = views(fabric)
    assert view[1].adopt(1, 0, A, 7, 1.0) != (None, [])
    assert view[2].adopt(1, 0, A, 6, 1.0) == (None, [])
    entry, effects = view[3].adopt(2, 0, A, 8, 1.0)
    assert entry is view[3].learned(0, A)
    assert {*split(fabric, effects)} == {1}


def test_the_fabrics_port_carries_all_vlans_and_frames_leave_by_it_as_by_an_aggregation() -> None:
    params = BridgeParams(
        ports={"*": PortParams(vlans=access(7), policy=PortPolicy(isolated=True))}
    )
    policies = PortPolicies(params, [Port(1, "s1/1", 1, True)], FABRIC_PORT)
    assert policies.aggregated == {FABRIC_PORT}
    assert policies.classes == {7: frozenset({7})}
    assert policies.members(7) == {1, FABRIC_PORT}
    assert policies.members(8) == {FABRIC_PORT}
    assert policies.may_pass(1, FABRIC_PORT)


def test_the_desired_state_can_be_limited_to_some_ports() -> None:
    fabric = Fabric()
    ports = {fabric.at(2, 1), fabric.at(2, 2)}
    desired = Asked(fabric.bridge).as_of_now(ports)(AT_ONCE)
    assert {*desired.numbers} == {port.number for port in desired.ports} == ports


def test_restored_ports_of_other_members_stay_while_one_member_lists_its_ports() -> None:
    fabric = Fabric(BridgeParams(stp=stp.BridgeParams()))
    bridge, mine = fabric.bridge, [fabric.port(1, 1)]
    others = {number: name for number, name in bridge.stp.names().items() if name[1] != "1"}
    bridge.retain(mine, 1.0, others)
    assert {*bridge.stp.names().values()} == {"s1/1", *others.values()}
    assert len(others) == 4
