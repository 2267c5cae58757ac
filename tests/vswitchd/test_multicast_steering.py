"""Steering multicast snooping over REST: on and off, a querier for a VLAN, permanent entries."""

from __future__ import annotations

import pytest
import yaml

from ofapp.openflow.model.cookie import parse_cookie
from ofapp.openflow.model.traps import SNOOPED
from ofapp.openflow.pipeline.group_numbers import FLOOD_GROUP
from tests.support import frames
from tests.support import multicast_frames as mcframes
from tests.support.controller import Controller
from tests.support.multicast_entries import (
    QUICK,
    entries,
    hear_querier,
    heard,
    wait_entry,
    wait_restricted,
)
from tests.support.ovs import LOCAL, Bridge
from tests.support.waiting import wait_for

ROUTER = 3
GROUP, OTHER = "239.1.1.1", "239.2.2.2"


pytestmark = pytest.mark.controller(yaml.safe_dump({"defaults": {"multicast": QUICK}}))
"""Queriers do not wait for long."""


def set_(controller: Controller, bridge: Bridge, below: str = "", **values: object) -> None:
    reply = controller.api("PATCH", f"/v1/bridges/{bridge.dpid16}/multicast{below}", values)
    assert reply.status == 200, reply


def has_snooping_flows(bridge: Bridge) -> bool:
    cookies = [parse_cookie(flow.cookie) for flow in bridge.flows()]
    return any(cookie is not None and cookie.feature == SNOOPED.feature for cookie in cookies)


def test_off_nothing_of_it_is_left_and_on_it_begins_anew(
    bridge: Bridge, controller: Controller
) -> None:
    hear_querier(bridge, ROUTER)
    joining = mcframes.join(1, GROUP)
    heard(bridge, 1, joining, {ROUTER})
    wait_entry(bridge, GROUP, {1, ROUTER})
    set_(controller, bridge, mcast_snooping=False)
    wait_for(lambda: not has_snooping_flows(bridge), "the snooping flows to go")
    assert entries(bridge) == {}
    assert set(bridge.groups()) == {FLOOD_GROUP}
    heard(bridge, 1, joining, {2, ROUTER, LOCAL})
    set_(controller, bridge, mcast_snooping=True)
    wait_for(lambda: has_snooping_flows(bridge), "the snooping flows to come back")
    hear_querier(bridge, ROUTER)
    heard(bridge, 2, mcframes.join(2, GROUP), {ROUTER})
    wait_entry(bridge, GROUP, {2, ROUTER})


def test_a_vlan_gets_a_querier_before_anybody_has_spoken(
    bridge: Bridge, controller: Controller
) -> None:
    bridge.forget_sent()
    set_(controller, bridge, "/vlans/7", mcast_querier=True)
    wait_restricted(bridge, set(), vid=7)
    assert [frame[12:16] for frame in bridge.sent(1)] == [b"\x81\x00\x00\x07"] * 2  # IGMP, MLD
    heard(bridge, 1, mcframes.join(1, GROUP, vlan=7), set())
    wait_entry(bridge, GROUP, {1}, vid=7)


def test_what_is_set_and_deleted_by_hand_is_in_the_datapath(
    bridge: Bridge, controller: Controller
) -> None:
    mdb = f"/v1/bridges/{bridge.dpid16}/mdb"
    member, host = bridge.port_name(2), bridge.name
    hear_querier(bridge, ROUTER)
    assert controller.api("PUT", f"{mdb}/0/{GROUP}/{member}", type="temp").status == 201
    assert controller.api("PUT", f"{mdb}/0/{GROUP}/{host}", exclude="10.9.0.1").status == 201
    held = entries(bridge)  # at once: it is answered when the switch has it
    assert held[0, GROUP, None] == {2, ROUTER, LOCAL}
    assert held[0, GROUP, "10.9.0.1"] == {2, ROUTER}
    bridge.inject(1, mcframes.join(1, GROUP))
    wait_entry(bridge, GROUP, {1, 2, ROUTER, LOCAL})
    assert controller.api("DELETE", f"{mdb}/0/{GROUP}/{bridge.port_name(1)}").status == 204
    wait_entry(bridge, GROUP, {2, ROUTER, LOCAL})
    assert controller.api("DELETE", mdb).body == {"flushed": 1}
    wait_entry(bridge, GROUP, {ROUTER, LOCAL})
    wait_entry(bridge, GROUP, {ROUTER}, source="10.9.0.1")
    held = entries(bridge)
    controller.restart()
    controller.wait_ready(bridge)
    assert entries(bridge) == held
    assert controller.api("DELETE", mdb, type="permanent").body == {"flushed": 1}
    wait_entry(bridge, GROUP, None)


def test_a_permanent_entry_needs_nobody_to_ask_for_it_and_survives_kill_9(
    bridge: Bridge, controller: Controller
) -> None:
    mdb = f"/v1/bridges/{bridge.dpid16}/mdb"
    name = bridge.port_name(2)
    assert controller.api("PUT", f"{mdb}/0/{GROUP}/{name}").status == 201
    reply = controller.api("PUT", f"{mdb}/0/{OTHER}/{name}", source="10.9.0.1")
    assert reply.status == 201
    hear_querier(bridge, ROUTER)
    wait_entry(bridge, GROUP, {2, ROUTER})
    wait_entry(bridge, OTHER, {2, ROUTER}, source="10.9.0.1")
    wait_entry(bridge, OTHER, {ROUTER})
    held = entries(bridge)
    controller.restart()
    controller.wait_ready(bridge)
    assert entries(bridge) == held
    listed = controller.get(mdb)["entries"]
    assert [(entry["group"], entry["source"], entry["type"]) for entry in listed] == [
        (GROUP, None, "permanent"),
        (OTHER, "10.9.0.1", "permanent"),
    ]
    bridge.replace_port(2, "spare")
    wait_entry(bridge, GROUP, None)
    assert controller.api("DELETE", f"{mdb}/0/{GROUP}/{name}").status == 204
    bridge.replace_port(2, name)
    wait_entry(bridge, OTHER, {2, ROUTER}, source="10.9.0.1")
    assert (0, GROUP, None) not in entries(bridge)


def test_a_permanent_entry_for_a_mac_address_holds_what_is_not_ip(
    bridge: Bridge, controller: Controller
) -> None:
    mdb = f"/v1/bridges/{bridge.dpid16}/mdb/0"
    group, unknown = "01:00:01:c0:ff:ee", "01:00:01:c0:ff:ef"
    port, host = bridge.port_name(2), bridge.name
    frame, other = (frames.ethernet(to, frames.host(1)) for to in (group, unknown))
    ip = mcframes.stream(1, "239.9.9.9")
    ip = frames.mac(group) + ip[6:]
    everywhere = set(bridge.ports) - {1}
    assert bridge.send(1, frame) == everywhere
    assert controller.api("PUT", f"{mdb}/{group}/{port}").status == 201
    wait_entry(bridge, group, {2})
    assert bridge.send(1, frame) == {2}
    assert bridge.send(1, other) == bridge.send(1, ip) == everywhere
    assert controller.api("PUT", f"{mdb}/{group}/{host}").status == 201
    hear_querier(bridge, ROUTER)
    wait_entry(bridge, group, {2, LOCAL, ROUTER})
    assert bridge.send(1, frame) == {2, LOCAL, ROUTER}
    assert bridge.send(2, frame) == {LOCAL, ROUTER}
    held = entries(bridge)
    controller.restart()
    controller.wait_ready(bridge)
    assert entries(bridge) == held
    for name in (port, host):
        assert controller.api("DELETE", f"{mdb}/{group}/{name}").status == 204
    wait_entry(bridge, group, None)
    assert bridge.send(1, frame) == everywhere


def test_a_mac_address_in_a_vlan_and_in_one_that_does_not_snoop(
    bridge: Bridge, controller: Controller
) -> None:
    mdb = f"/v1/bridges/{bridge.dpid16}/mdb"
    group = "01:00:01:c0:ff:ee"
    in_vlan, untagged = (frames.ethernet(group, frames.host(1), vlan=vlan) for vlan in (7, None))
    everywhere = set(bridge.ports) - {1}
    assert controller.api("PUT", f"{mdb}/7/{group}/{bridge.port_name(2)}").status == 201
    wait_entry(bridge, group, {2}, vid=7)
    assert bridge.send(1, in_vlan) == {2}
    assert bridge.send(1, untagged) == everywhere
    set_(controller, bridge, "/vlans/7", mcast_snooping=False)
    wait_entry(bridge, group, None, vid=7)
    assert bridge.send(1, in_vlan) == everywhere
