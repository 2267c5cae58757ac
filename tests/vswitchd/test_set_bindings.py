"""Bindings and the trust of ports that a user sets at run time, as a real switch enforces them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support import frames
from tests.support.controller import Controller
from tests.support.hosts import learn
from tests.support.ovs import Bridge
from tests.support.waiting import wait_for
from tests.vswitchd.test_first_hop import bindings
from tests.vswitchd.test_learned_bindings import FOUR, GUEST, MAC, OTHER, UPLINK, packet, passes

HOST, ELSE = frames.host(1), "10.0.0.99"
OWN = int(HOST.replace(":", ""), 16)


@pytest.fixture(scope="module")
def controller(controller_factory: Callable[[], Controller]) -> Controller:
    return controller_factory()


@pytest.fixture
def bridge(bridge_factory: Callable[..., Bridge]) -> Bridge:
    return bridge_factory(ports=UPLINK)


def trust(controller: Controller, bridge: Bridge, value: str) -> None:
    path = f"/v1/bridges/{bridge.dpid16}/ports/{GUEST}"
    reply = controller.api("PATCH", path, {"trust": value})
    assert reply.status == 200, reply.body


def test_a_binding_lets_its_host_pass_until_it_is_deleted(
    bridge: Bridge, controller: Controller
) -> None:
    trust(controller, bridge, "guest")
    path = f"/v1/bridges/{bridge.dpid16}/bindings"
    assert not bindings(bridge)
    assert not passes(bridge, GUEST, packet(FOUR))

    body = {"port": bridge.port_name(GUEST), "mac": MAC.to_bytes(6, "big").hex(":")}
    reply = controller.api("POST", path, {**body, "address": FOUR})
    assert reply.status == 201, reply.body
    assert bindings(bridge), "the switch has the flows when the request is answered"
    assert passes(bridge, GUEST, packet(FOUR))
    assert not passes(bridge, GUEST, packet(ELSE))
    assert not passes(bridge, GUEST, packet(FOUR, MAC + 1))

    assert controller.api("DELETE", f"{path}/0/{FOUR}").status == 204
    assert not passes(bridge, GUEST, packet(FOUR))
    assert not bindings(bridge)


def test_trust_guards_a_port_at_once_and_without_it_nothing_is_left(
    bridge: Bridge, controller: Controller
) -> None:
    learn(controller, bridge, 1, port=GUEST)
    before = {flow.identity for flow in bridge.flows()}
    meters = bridge.meters()
    assert passes(bridge, GUEST, packet(FOUR, OWN))

    trust(controller, bridge, "guest")
    assert not passes(bridge, GUEST, packet(FOUR, OWN))
    assert passes(bridge, OTHER, packet(FOUR, MAC)), "of a port without trust"

    trust(controller, bridge, "none")
    assert passes(bridge, GUEST, packet(FOUR, OWN))
    controller.flush(bridge, mac=MAC.to_bytes(6, "big").hex(":"))
    wait_for(
        lambda: {flow.identity for flow in bridge.flows()} == before,
        "the flows to be those before",
    )
    assert bridge.meters() == meters
