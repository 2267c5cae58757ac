"""Ports come, go, are renamed, lose their link: entries behind them go, flooding follows."""

from __future__ import annotations

from ofapp.openflow.model.traps import SIGHTING, SNOOPED
from ofapp.openflow.pipeline.group_numbers import FLOOD_GROUP
from ofapp.openflow.pipeline.meters import meter_id
from tests.support import frames
from tests.support.controller import Controller
from tests.support.hosts import halves, learn, wait_forgotten
from tests.support.ovs import LOCAL, Bridge
from tests.support.waiting import wait_for

A, B, C = (frames.host(number) for number in (1, 2, 3))


def wait_flood(bridge: Bridge, *ports: int) -> None:
    """Wait until the flood group is exactly *ports*."""
    wait_for(
        lambda: bridge.groups().get(FLOOD_GROUP) == set(ports), f"the flood group to be {ports}"
    )


def test_flooding_reaches_every_port_and_local(bridge: Bridge) -> None:
    assert bridge.groups() == {FLOOD_GROUP: {1, 2, 3, LOCAL}}


def test_a_new_port_joins(bridge: Bridge, controller: Controller) -> None:
    bridge.add_port(4)
    wait_flood(bridge, 1, 2, 3, 4, LOCAL)
    assert bridge.send(1, frames.arp_request(A)) == {2, 3, 4, LOCAL}
    learn(controller, bridge, 2, port=4)
    assert bridge.send(1, frames.ethernet(B, A)) == {4}
    names = {port["name"] for port in controller.get(f"/v1/bridges/{bridge.dpid16}/ports")["ports"]}
    assert names == {bridge.name} | {f"{bridge.name}p{n}" for n in (1, 2, 3, 4)}


def test_what_was_behind_a_removed_port_is_flushed(bridge: Bridge, controller: Controller) -> None:
    learn(controller, bridge, 1, port=1)
    learn(controller, bridge, 2, port=2)
    learn(controller, bridge, 3, port=2, vlan=8)
    bridge.del_port(2)
    wait_forgotten(controller, bridge, B)
    wait_forgotten(controller, bridge, C, vlan=8)
    wait_flood(bridge, 1, 3, LOCAL)
    assert halves(bridge, A) == (1, 1)
    assert bridge.send(1, frames.ethernet(B, A)) == {3, LOCAL}
    wait_for(
        lambda: not any("in_port=2" in flow.match for flow in bridge.flows()),
        "the removed port's flows to go",
    )
    wait_for(lambda: 2 not in bridge.meters(), "the removed port's meter to go")


def test_a_port_that_comes_back_works_again(bridge: Bridge, controller: Controller) -> None:
    learn(controller, bridge, 2, port=2)
    bridge.del_port(2)
    wait_forgotten(controller, bridge, B)
    bridge.add_port(2)
    wait_flood(bridge, 1, 2, 3, LOCAL)
    learn(controller, bridge, 2, port=2)
    assert bridge.send(1, frames.ethernet(B, A)) == {2}


def test_link_down_is_like_gone_and_link_up_like_new(
    bridge: Bridge, controller: Controller
) -> None:
    learn(controller, bridge, 1, port=1)
    learn(controller, bridge, 2, port=2)
    bridge.link(2, up=False)
    wait_flood(bridge, 1, 3, LOCAL)
    wait_forgotten(controller, bridge, B)
    assert controller.where(bridge, A) == 1
    bridge.link(2, up=True)
    wait_flood(bridge, 1, 2, 3, LOCAL)
    learn(controller, bridge, 2, port=2)
    assert bridge.send(1, frames.ethernet(B, A)) == {2}


def test_a_host_is_found_behind_another_port_when_its_own_goes_down(
    bridge: Bridge, controller: Controller
) -> None:
    learn(controller, bridge, 1, port=1)
    learn(controller, bridge, 2, port=2)
    bridge.link(2, up=False)
    wait_forgotten(controller, bridge, B)
    learn(controller, bridge, 2, port=3)
    assert bridge.send(1, frames.ethernet(B, A)) == {3}


def test_another_interface_under_the_same_number(bridge: Bridge, controller: Controller) -> None:
    learn(controller, bridge, 1, port=1)
    learn(controller, bridge, 2, port=2)
    bridge.replace_port(2, f"{bridge.name}new")
    wait_for(
        lambda: (
            f"{bridge.name}new"
            in {
                port["name"]
                for port in controller.get(f"/v1/bridges/{bridge.dpid16}/ports")["ports"]
            }
        ),
        "the new name",
    )
    wait_forgotten(controller, bridge, B)
    wait_flood(bridge, 1, 2, 3, LOCAL)
    learn(controller, bridge, 2, port=2)
    assert bridge.send(1, frames.ethernet(B, A)) == {2}
    assert controller.where(bridge, A) == 1


def test_each_port_has_a_meter_for_each_kind_of_copy(bridge: Bridge) -> None:
    meters = bridge.meters()
    for kind in (SIGHTING, SNOOPED):
        assert {meter_id(port, kind) for port in (1, 2, 3, LOCAL)} < set(meters)
    assert len(meters) == 8 + 2  # and two of the bridge: addresses, and its own as a source
    assert all("pktps" in text for text in meters.values())


def test_what_the_switch_has_counted(bridge: Bridge, controller: Controller) -> None:
    """Over the API and for Prometheus."""

    def counted(of: Bridge) -> dict[str, int]:
        ports = controller.get(f"/v1/bridges/{of.dpid16}/ports?counters=true")["ports"]
        (port,) = (port for port in ports if port["number"] == 1)
        found: dict[str, int] = port["counters"]
        return found

    assert counted(bridge)["rx_frames"] == 0
    frame = frames.arp_request(A)
    bridge.send(1, frame)
    wait_for(lambda: counted(bridge)["rx_frames"] == 1, "the frame to be counted")
    assert counted(bridge)["rx_bytes"] >= len(frame)
    name = f"{bridge.name}p1"
    metric = f'ofapp_port_receive_frames_total{{bridge="{bridge.name}"'
    lines = [line for line in controller.get("/metrics").splitlines() if metric in line]
    assert any(f'port="{name}"' in line and line.endswith(" 1.0") for line in lines), lines
