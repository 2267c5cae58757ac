"""The desired state of a fabric's bridge at one member."""

from ofapp.bridge.desired import Asked, Desired
from ofapp.bridge.effects import PutStatic
from ofapp.bridge.effects.content import DesiredLag
from ofapp.bridge.effects.fabric import FABRIC_PORT, Content, DesiredFabric
from ofapp.bridge.fabric.state.projection import FABRIC, Projection
from ofapp.bridge.lag.params import LagParams
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import LOCAL_PORT
from ofapp.bridge.relay.policies import PortPolicies
from ofapp.common.portions import AT_ONCE
from tests.unit.bridge.fabric.test_split import LOCAL_MAC, A, Fabric

PART = DesiredFabric(0, 2, (9,), (9,), Content({}, frozenset(), None))


def at(fabric: Fabric, member: int) -> Desired:
    ports = {port.number for port in fabric.bridge.ports}
    here = {port for port in ports if fabric.places.on(member, port) is not None}
    desired = Asked(fabric.bridge).as_of_now(here)(AT_ONCE)
    policies = PortPolicies(fabric.bridge.params, [], FABRIC_PORT)
    return Projection(fabric.places, member).whole(desired, policies, PART)


def test_a_member_has_its_ports_and_the_fabrics() -> None:
    fabric = Fabric()
    assert [port.number for port in at(fabric, 2).ports] == [1, 2, FABRIC_PORT]
    assert at(fabric, 2).ports[-1] is FABRIC
    assert at(fabric, 2).flooded == {1, 2, FABRIC_PORT}
    assert {*at(fabric, 1).numbers} == {1, 2, LOCAL_PORT, FABRIC_PORT}
    assert at(fabric, 2).protocols["fabric"] is PART


def test_a_static_entry_has_its_port_at_its_member_alone() -> None:
    fabric = Fabric()
    fabric.bridge.add_static(0, A, "s2/1", 1.0)
    local = [PutStatic(LOCAL_MAC, None, LOCAL_PORT), PutStatic(LOCAL_MAC, None, None)]
    assert {*at(fabric, 1).statics} == {local[0], PutStatic(A, 0, None)}
    assert {*at(fabric, 2).statics} == {local[1], PutStatic(A, 0, 1)}


def test_an_aggregation_is_at_the_members_that_have_its_ports() -> None:
    lags = {"lag0": LagParams(("s2/1", "s2/2"), lacp="off")}
    fabric = Fabric(BridgeParams(lags=lags))
    (lag,) = at(fabric, 2).lags
    assert isinstance(lag, DesiredLag)
    assert (lag.number, lag.members) == (4095, (1, 2))
    assert [port.number for port in at(fabric, 2).ports] == [4095, FABRIC_PORT]
    assert at(fabric, 3).lags == ()
