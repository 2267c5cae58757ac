"""Ports whose names do not identify them: OpenFlow has 15 characters of a name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest

from ofapp.openflow.model.rule import TableId
from tests.support import frames
from tests.support.controller import Controller, Reply
from tests.support.hosts import learn
from tests.support.ovs import LOCAL, Bridge, VSwitchd
from tests.support.waiting import wait_for

CUT = "vhost-user-port"
S, T = frames.host(0x57A7), frames.host(0x57A8)


@pytest.fixture
def twins(bridge: Bridge, controller: Controller) -> Bridge:
    """A bridge whose ports 23 and 24 have the same name in OpenFlow."""
    bridge.add_port(23, f"{CUT}-one")
    bridge.add_port(24, f"{CUT}-two")
    wait_for(lambda: {23, 24} <= names(bridge, controller).keys(), "both ports")
    return bridge


def names(bridge: Bridge, controller: Controller) -> dict[int, str]:
    ports = controller.get(f"/v1/bridges/{bridge.dpid16}/ports")["ports"]
    return {port["number"]: port["name"] for port in ports}


def settings(bridge: Bridge, controller: Controller, port: str) -> dict[str, Any]:
    found = controller.get(f"/v1/bridges/{bridge.dpid16}/ports/{port}")["settings"]
    assert isinstance(found, dict)
    return found


def put_static(bridge: Bridge, controller: Controller, mac: str, port: str) -> Reply:
    return controller.api("PUT", f"/v1/bridges/{bridge.dpid16}/fdb/0/{mac}", {"port": port})


def where_to(bridge: Bridge, mac: str) -> list[str]:
    flows = bridge.flows()
    return [f.actions for f in flows if f.table == TableId.DESTINATION and mac in f.match]


def patch(bridge: Bridge, controller: Controller, port: str, **values: object) -> Reply:
    path = f"/v1/bridges/{bridge.dpid16}/ports/{quote(port)}"
    return controller.api("PATCH", path, values)


def test_two_ports_of_one_name_are_two_ports(twins: Bridge, controller: Controller) -> None:
    assert names(twins, controller).items() >= {(23, f"{CUT}#23"), (24, f"{CUT}#24")}
    (event,) = controller.events("port.ambiguous")
    assert event["data"] == {"name": CUT, "numbers": [23, 24]}
    for port, mac, number in (("23", S, 23), (f"{CUT}#24", T, 24)):
        assert put_static(twins, controller, mac, port).status == 201
        assert where_to(twins, mac) == [f"output:{number}"]
        assert patch(twins, controller, port, fdb_max_learned=number).status == 200
    for number in (23, 24):
        assert settings(twins, controller, str(number)) == {"fdb_max_learned": number}
    learn(controller, twins, 1, port=23)
    assert twins.send(1, frames.ethernet(frames.host(1), S)) == {23}


def test_a_name_that_is_not_one_ports_is_refused_with_the_numbers(
    twins: Bridge, controller: Controller
) -> None:
    path = f"/v1/bridges/{twins.dpid16}"
    binding = {"port": CUT, "mac": S, "address": "10.0.0.1"}
    replies = [
        put_static(twins, controller, S, CUT),
        put_static(twins, controller, S, f"{CUT}-one"),  # as the database has it
        patch(twins, controller, CUT, fdb_max_learned=5),
        controller.api("PATCH", f"{path}/settings", {"settings": {"ports": {CUT: {"vlan": 5}}}}),
        controller.api("POST", f"{path}/bindings", binding),
        controller.api("PUT", f"{path}/mdb/0/239.1.1.1/{CUT}", {}),
    ]
    for reply in replies:
        assert reply.status in (404, 409, 422), reply
        assert f"23 ({CUT}#23), 24 ({CUT}#24)" in str(reply.body), reply
    assert where_to(twins, S) == []
    assert settings(twins, controller, "23") == settings(twins, controller, "24") == {}


def test_a_port_that_has_its_name_alone_again_keeps_what_was_set_for_it(
    twins: Bridge, controller: Controller
) -> None:
    assert put_static(twins, controller, S, "23").status == 201
    assert patch(twins, controller, "23", fdb_max_learned=5).status == 200
    twins.del_port(24)
    wait_for(lambda: names(twins, controller)[23] == CUT, "the name alone")
    assert controller.events("port.ambiguous.cleared")
    assert where_to(twins, S) == ["output:23"]
    assert settings(twins, controller, CUT) == {"fdb_max_learned": 5}
    assert put_static(twins, controller, T, CUT).status == 201
    twins.add_port(24, f"{CUT}-two")
    wait_for(lambda: names(twins, controller)[23] == f"{CUT}#23", "the name of both")
    assert where_to(twins, T) == ["output:23"]
    controller.restart()
    controller.wait_ready(twins)
    assert where_to(twins, S) == where_to(twins, T) == ["output:23"]
    assert settings(twins, controller, "23") == {"fdb_max_learned": 5}
    assert settings(twins, controller, "24") == {}


def test_settings_for_a_name_that_is_not_one_ports_close_the_ports(
    vswitchd: VSwitchd, controller_factory: Callable[[str], Controller]
) -> None:
    """A VLAN that one of them should be in must not become the other's, nor none."""
    controller = controller_factory(f"defaults:\n  ports: {{{CUT}: {{vlan: 10}}}}\n")
    bridge = vswitchd.add_bridge(ports=2)
    bridge.add_port(23, f"{CUT}-one")
    controller.connect(bridge)
    assert settings(bridge, controller, "23") == {"vlan": 10}
    bridge.add_port(24, f"{CUT}-two")
    wait_for(lambda: 24 in names(bridge, controller), "the second port")
    for port in ("23", "24"):
        assert settings(bridge, controller, port) == {"shutdown": True}
    assert bridge.send(1, frames.arp_request(S)) == {2, LOCAL}
    bridge.destroy()


def test_digits_are_always_a_number(bridge: Bridge, controller: Controller) -> None:
    bridge.add_port(7, "2")
    bridge.add_port(8, "LOCAL")
    wait_for(lambda: {7, 8} <= names(bridge, controller).keys(), "the ports")
    known = names(bridge, controller)
    assert (known[7], known[8]) == ("2#7", "LOCAL#8")
    for port, number in (("2", 2), ("7", 7)):
        assert patch(bridge, controller, port, fdb_max_learned=10 + number).status == 200
    for number in (2, 7):
        assert settings(bridge, controller, str(number)) == {"fdb_max_learned": 10 + number}
    assert put_static(bridge, controller, S, "2").status == 201
    assert where_to(bridge, S) == ["output:2"]
