"""The bridge of a fabric as the session of one member uses it."""

from dataclasses import replace

from ofapp.bridge.effects import ForFabric, PutStatic, SendFrame
from ofapp.bridge.effects.fabric import FABRIC_PORT
from ofapp.bridge.fabric.state.projection import FABRIC
from ofapp.bridge.lag.params import LagParams
from ofapp.bridge.params.params import BridgeParams, PortParams
from ofapp.bridge.params.policy import PortPolicy
from ofapp.bridge.ports.port import LOCAL_PORT
from ofapp.bridge.ports.vlan import access
from ofapp.common.portions import AT_ONCE
from tests.support.frames import arp_request
from tests.unit.bridge.fabric.simulation import FORWARDING, RSTP, Network

A, B = 0x0200000000A0, 0x0200000000B0
CABLES = [(1, 2)]


def network(params: BridgeParams) -> Network:
    made = Network(2, CABLES, params)
    made.connect()
    return made.run(5)


def test_time_passes_in_the_fabric_alone() -> None:
    view = network(RSTP).fabric.view(2)
    assert view.tick(1000.0) == []
    assert view.next_wakeup() is None
    assert view.name == "s2"
    assert not view.has_raised_rates


def test_a_port_has_its_part_of_the_bridge_by_the_switchs_number() -> None:
    made = network(RSTP).run(10)
    view = made.fabric.view(2)
    assert view.desired_port(FABRIC_PORT) is FABRIC
    port = view.desired_port(11)
    assert (port.number, port.state, port.learns) == (11, FORWARDING, True)
    assert {port for port, _ in view.trapping()} == {11, 12, LOCAL_PORT}
    assert view.sighting_rate(11) == 1000
    assert view.stp.is_edge(11)
    assert view.stp.is_edge(1)  # a link port, which is none of the bridge's
    assert view.ports.get(11).name == "s2/vnet11"  # type: ignore[union-attr]
    assert view.ports.get(1) is None


def test_parameters_by_number_are_those_of_the_bridges_ports() -> None:
    made = network(BridgeParams())
    number = made.fabric_number(2, 11)
    params = BridgeParams(numbered={number: PortParams(vlans=access(7))})
    made.handle(made.bridge.set_params(params, made.now))
    assert made.fabric.view(2).port_policies.vlans(11).has(7)
    assert not made.fabric.view(2).port_policies.vlans(11).has(8)
    assert made.fabric.view(1).port_policies.vlans(11).has(8)
    supposed = replace(params, numbered={})
    desired = made.fabric.view(2).desired_as_of_now(supposed)(AT_ONCE)
    assert desired.port_policies.vlans(11).has(8)


def test_static_entries_are_on_ports_of_the_bridge() -> None:
    locked = {"s2/vnet11": PortParams(policy=PortPolicy(locked=True))}
    made = network(BridgeParams(ports=locked))
    view = made.fabric.view(2)
    name = view.ports.get(11).name  # type: ignore[union-attr]
    made.handle(view.add_static(0, A, name, made.now))
    assert PutStatic(A, 0, 11) in view.desired_as_of_now()(AT_ONCE).statics
    assert PutStatic(A, 0, None) in made.fabric.view(1).desired_as_of_now()(AT_ONCE).statics


def test_the_last_frames_are_sent_once_for_the_whole_bridge() -> None:
    lags = {"lag0": LagParams(("s1/vnet11", "s2/vnet11"), lacp="active")}
    made = network(BridgeParams(lags=lags))
    (notice,) = made.fabric.view(1).send_last(made.now)
    assert isinstance(notice, ForFabric)
    frames = [effect for effect in notice.effects if isinstance(effect, SendFrame)]
    members = {member for step in made.fabric.steps(frames) for member in step}
    assert members == {1, 2}
    assert made.fabric.view(2).send_last(made.now) == []


def test_aggregations_are_divided_among_members() -> None:
    lags = {"lag0": LagParams(("s1/vnet11", "s2/vnet11"), lacp="off")}
    made = network(BridgeParams(lags=lags))
    view = made.fabric.view(2)
    assert view.lags.has("vnet11")
    assert not view.lags.has("s2/vnet11")
    assert view.lags.members() == {4095: [11]}
    (lag,) = view.lags.desired(view.params)
    assert (lag.members, lag.collecting) == ((0, 11), (11,))


def test_ip_addresses_and_frames_are_those_of_the_bridges_ports() -> None:
    made = network(BridgeParams())
    made.send(2, 11, A, B)
    view = made.fabric.view(2)
    frame = arp_request("02:00:00:00:00:a0", "10.0.0.7")
    made.handle(view.ip_addresses.hear([(11, frame), (1, frame)]))
    assert made.bridge.ip_addresses.of(0, A) == (bytes([10, 0, 0, 7]),)
    assert view.hear("lldp", [(1, frame)], made.now) == []


def test_a_port_without_a_number_is_reported() -> None:
    made = Network(2, CABLES)
    made.fabric.view(1).ports._places.numbering._last = 0
    made.connect(1)
    assert [event.kind for event in made.events].count("fabric.port.refused") == 2
    assert made.bridge.ports.named("s1/vnet11") is None
