"""Hosts that move, and switches without their controller, in the network's twin."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ofapp.bridge.effects import AskServer
from ofapp.bridge.params.params import PortParams
from ofapp.bridge.params.policy import PortPolicy
from ofapp.bridge.params.policy import Storm as Limits
from ofapp.bridge.port_access.answer import Answer
from ofapp.bridge.port_access.params import BridgeParams as AccessParams
from ofapp.bridge.port_access.params import PortParams as AccessPort
from ofapp.bridge.ports.vlan import access
from ofapp.bridge.stp import PortState
from ofapp.bridge.twin.actions import Cut, Disconnect, Move, SetParams, Storm
from ofapp.bridge.twin.cable import Cable
from ofapp.bridge.twin.prediction import Prediction
from ofapp.bridge.twin.reach import HostPort, Loop
from tests.unit.bridge.test_twin import (
    HOST,
    RING,
    Bridge,
    asked,
    at,
    cut_off,
    running,
    states,
)
from tests.unit.bridge.test_twin_foreign import asked as of_own
from tests.unit.bridge.test_twin_foreign import with_foreign

FREE = 5
"""A port of each bridge without a link."""
Net = tuple[list[Bridge], list[Cable]]


def closed(predicted: Prediction) -> dict[HostPort, float | None]:
    """Ports with hosts that did not forward, and until when."""
    return {
        each.what: each.until for each in predicted.interruptions if isinstance(each.what, HostPort)
    }


def test_a_host_that_moves_waits_until_its_new_port_is_taken_for_an_edge() -> None:
    predicted = asked(running(RING), Move(at(1, HOST), at(2, FREE)))
    until = closed(predicted)
    assert until.keys() == {HostPort(2, FREE, 0)}
    assert until[HostPort(2, FREE, 0)] == pytest.approx(3.0, abs=0.2)
    assert predicted.hosts[HostPort(2, FREE, 0)] == 1
    assert HostPort(1, HOST, 0) not in predicted.hosts
    assert any("s2/eth5 in no VLAN" in each for each in predicted.assumptions)


def test_a_host_that_moves_is_in_the_vlan_of_its_new_port() -> None:
    """No other host is in VLAN 20, so no pair is cut off; the answer names the VLAN."""
    net = running(RING)
    bridge = net[0][1]
    port = PortParams(vlans=access(20))
    params = replace(bridge.params, ports={f"eth{FREE}": port})
    bridge.set_params(params, 60.0)
    predicted = asked(net, Move(at(1, HOST), at(2, FREE)))
    assert HostPort(2, FREE, 20) in predicted.hosts
    assert any("VLAN 20" in each for each in predicted.assumptions)


def test_a_controlled_port_is_named_as_its_server_is_not_asked() -> None:
    net = running(RING)
    bridge = net[0][1]
    controlled = PortParams(port_access=AccessPort("mab"))
    params = replace(bridge.params, ports={f"eth{FREE}": controlled})
    move, storm = Move(at(1, HOST), at(2, FREE)), Storm(at(2, FREE), 1000)
    bridge.set_params(params, 60.0)
    said = "port access control at s2/eth5: what a RADIUS server answers is not predicted"
    assert said not in asked(net, move).assumptions, "it is off"
    bridge.set_params(replace(params, port_access=AccessParams(servers="192.0.2.1")), 60.0)
    for action in (move, storm):
        assert said in asked(net, action).assumptions
    assert said not in asked(net, Move(at(2, FREE), at(1, FREE))).assumptions


def test_nothing_follows_while_switches_without_a_controller_keep_their_links() -> None:
    net = running(RING)
    before = states(net[0])
    predicted = asked(net, Disconnect(25.0))
    assert not predicted.interruptions
    assert not predicted.roles
    assert states(net[0]) == before
    assert any("without their controller" in each for each in predicted.assumptions)


def test_a_cut_cable_is_replaced_when_the_controller_is_back() -> None:
    net = running(RING)
    at_once = asked(net, Cut(at(1, 1)))
    predicted = asked(net, Disconnect(20.0), Cut(at(1, 1)))
    assert cut_off(predicted).keys() == cut_off(at_once).keys()
    for until in cut_off(predicted).values():
        assert until is not None
        assert 20.0 <= until < 27.0
    assert predicted.roles == at_once.roles
    opened = [each for each in predicted.changes if each.new is PortState.FORWARDING]
    assert all(each.at >= 20.0 for each in opened)


def test_a_ring_through_a_bridge_of_another_owner_stays_open_meanwhile() -> None:
    """Its BPDUs pass through our switches after two hello times: it hears itself, and blocks."""
    network = with_foreign(3, [at(1, 4), at(3, 4)], 61440)
    predicted = of_own(network, Disconnect(60.0))
    assert predicted.names
    loops = [each for each in predicted.interruptions if isinstance(each.what, Loop)]
    assert not loops


def test_a_storm_reaches_all_hosts_of_its_vlan_as_far_as_limits_let_it() -> None:
    """Bridge 1 is the root; bridge 3 admits 50 broadcasts a second from it."""
    net = running(RING)
    limited = PortParams(policy=PortPolicy(storm=Limits(broadcast=50)))
    guests = PortParams(vlans=access(20))
    net[0][2].set_params(replace(net[0][2].params, ports={"eth1": limited}), 60.0)
    net[0][1].set_params(replace(net[0][1].params, ports={"eth9": guests}), 60.0)
    predicted = asked(net, Storm(at(1, HOST), 9000), seconds=5.0)
    assert {(each.datapath_id, each.port): each.rate for each in predicted.struck} == {
        (3, HOST): 50
    }
    assert not predicted.interruptions


def test_a_storm_of_a_host_is_in_the_vlan_that_its_server_has_granted() -> None:
    net = running(RING)
    bridge = net[0][0]
    controlled = PortParams(port_access=AccessPort(authentication="mab"), vlans=access(10))
    guests = PortParams(vlans=access(20))
    access_params = AccessParams(servers="192.0.2.1")
    of_port = {"eth9": controlled, "eth5": guests}
    now = 60.0
    bridge.set_params(replace(bridge.params, port_access=access_params, ports=of_port), now)
    frame = b"\xff" * 6 + (0x02000000000A).to_bytes(6, "big") + b"\x08\x00" + bytes(46)
    (question,) = (
        each
        for each in bridge.hear("first_frame", [(HOST, frame)], now)
        if isinstance(each, AskServer)
    )
    accepted = bridge.port_access.answer(question.number, Answer("accept", vlan="20"), now)
    bridge.carry_out(accepted, now)
    bridge.tick(now + 1.0)
    assert bridge.port_policies.vlans(HOST) == access(20)
    port = bridge.port_at(FREE)
    assert port is not None
    bridge.put_port(replace(port, up=True, live=True), now)
    bridge.tick(now + 10.0)
    changed = SetParams(bridge.datapath_id, replace(bridge.params, ageing_time=100))
    for actions in ([], [changed]):
        predicted = asked(net, *actions, Storm(at(1, HOST), 9000), seconds=5.0)
        assert {each.vid for each in predicted.struck} == {20}
        assert (1, FREE) in {(each.datapath_id, each.port) for each in predicted.struck}


def test_a_storm_of_an_isolated_port_does_not_reach_isolated_ports() -> None:
    net = running(RING)
    isolated = PortParams(policy=PortPolicy(isolated=True))
    ports = {"eth9": isolated, "eth5": isolated}
    net[0][0].set_params(replace(net[0][0].params, ports=ports), 60.0)
    port = net[0][0].port_at(FREE)
    assert port is not None
    net[0][0].put_port(replace(port, up=True, live=True), 60.0)
    net[0][0].tick(70.0)
    predicted = asked(net, Storm(at(1, HOST), 9000), seconds=5.0)
    struck = {(each.datapath_id, each.port) for each in predicted.struck}
    assert struck == {(2, HOST), (3, HOST)}
