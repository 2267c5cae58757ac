"""Static and local entries, and flushing, through the API."""

from __future__ import annotations

import pytest

from tests.support import frames
from tests.support.controller import Controller
from tests.support.hosts import halves, learn, learned_flows, wait_forgotten
from tests.support.ovs import LOCAL, Bridge
from tests.support.waiting import wait_for

A, B, C, S = (frames.host(number) for number in (1, 2, 3, 0x57A7))


def put_static(controller: Controller, bridge: Bridge, mac: str, port: int, vlan: int = 0) -> None:
    """Make *mac* static on *port* and wait until the switch has it."""
    assert controller.put_static(bridge, mac, port, vlan).status == 201
    wait_for(lambda: static_at(bridge, mac, port), f"{mac} to be static on port {port}")


def static_at(bridge: Bridge, mac: str, port: int) -> bool:
    """Whether the switch sends what is for *mac* to *port*."""
    return any(
        f"dl_dst={mac}" in flow.match and flow.actions == f"output:{port}"
        for flow in bridge.flows()
    )


@pytest.fixture
def static(bridge: Bridge, controller: Controller) -> Bridge:
    """A bridge with S static on port 2, and A learned on port 1."""
    put_static(controller, bridge, S, 2)
    learn(controller, bridge, 1, port=1)
    return bridge


def test_a_static_entry_is_used_at_once(static: Bridge, controller: Controller) -> None:
    assert static.send(1, frames.ethernet(S, A)) == {2}
    assert static.send(1, frames.ethernet(S, A, vlan=4)) == {2, 3, LOCAL}
    (entry,) = controller.fdb(static, mac=S)
    assert (entry["type"], entry["vlan"], controller.where(static, S)) == ("static", 0, 2)


def test_a_static_entry_does_not_move(static: Bridge, controller: Controller) -> None:
    static.inject(3, frames.arp_request(S))
    learn(controller, static, 3, port=3)  # its effects have come by now
    assert controller.where(static, S) == 2
    assert static.send(1, frames.ethernet(S, A)) == {2}


def test_a_static_entry_does_not_age(static: Bridge, controller: Controller) -> None:
    static.switch.warp(100_000)
    wait_forgotten(controller, static, A)
    assert controller.where(static, S) == 2
    assert static.send(1, frames.ethernet(S, A)) == {2}


def test_an_entry_of_a_program_does_not_age_but_moves(
    static: Bridge, controller: Controller
) -> None:
    path, host = f"/v1/bridges/{static.dpid16}/fdb/0/{C}", 3
    body = {"port": static.port_name(2), "type": "extern_learn"}
    assert controller.api("PUT", path, body).status == 201
    wait_for(lambda: halves(static, C) == (1, 1), "the flows of the entry")
    static.switch.warp(100_000)
    wait_forgotten(controller, static, A)
    assert static.send(1, frames.ethernet(C, A)) == {2}
    (entry,) = controller.fdb(static, mac=C)
    assert (entry["type"], entry["flags"]) == ("learned", ["extern_learn"])
    learn(controller, static, host, port=3)
    (entry,) = controller.fdb(static, mac=C)
    assert (entry["type"], entry["flags"]) == ("learned", [])
    assert static.send(1, frames.ethernet(C, B)) == {3}
    static.switch.warp(100_000)
    wait_forgotten(controller, static, C)
    assert controller.api("PUT", path, body).status == 201
    wait_for(lambda: halves(static, C) == (1, 1), "the flows of the entry")
    assert controller.api("DELETE", path).status == 204
    wait_for(lambda: halves(static, C) == (0, 0), "its flows to go")


def test_an_entry_of_a_program_is_learned_again_after_a_restart(
    static: Bridge, controller: Controller
) -> None:
    path = f"/v1/bridges/{static.dpid16}/fdb/0/{C}"
    body = {"port": static.port_name(2), "type": "extern_learn"}
    assert controller.api("PUT", path, body).status == 201
    wait_for(lambda: halves(static, C) == (1, 1), "the flows of the entry")
    static.disconnect()
    controller.connect(static)
    assert controller.where(static, C) == 2
    controller.restart()
    controller.wait_ready(static)
    wait_for(lambda: halves(static, C) == (0, 0), "its flows to go")
    assert controller.where(static, C) is None
    learn(controller, static, 3, port=2)


def test_a_learned_entry_becomes_static(bridge: Bridge, controller: Controller) -> None:
    learn(controller, bridge, 1, port=1)
    put_static(controller, bridge, A, 3)
    wait_for(lambda: halves(bridge, A) == (0, 0), "the learned flows to go")
    assert bridge.send(2, frames.ethernet(A, B)) == {3}


def test_a_deleted_static_entry_is_learned_again(static: Bridge, controller: Controller) -> None:
    path = f"/v1/bridges/{static.dpid16}/fdb/0/{S}"
    assert controller.api("DELETE", path).status == 204
    wait_for(lambda: not static_at(static, S, 2), "the static flow to go")
    assert controller.where(static, S) is None
    assert static.send(1, frames.ethernet(S, A)) == {2, 3, LOCAL}
    learn(controller, static, 0x57A7, port=3)
    assert static.send(1, frames.ethernet(S, A)) == {3}
    assert controller.api("DELETE", path).status == 404


def test_static_entries_survive_the_controllers_restart(
    static: Bridge, controller: Controller
) -> None:
    controller.restart()
    controller.wait_ready(static)
    assert controller.where(static, S) == 2
    assert [e["mac"] for e in controller.fdb(static, type="static")] == [S]
    assert static.send(1, frames.ethernet(S, A)) == {2}


def test_static_entries_survive_a_reconnect(static: Bridge, controller: Controller) -> None:
    static.disconnect()
    static.switch.warp(60)
    assert static.send(1, frames.ethernet(S, A)) == {2}
    controller.connect(static)
    assert controller.where(static, S) == 2
    assert static.send(1, frames.ethernet(S, A)) == {2}


def test_a_static_entry_on_an_absent_port_waits_for_it(
    bridge: Bridge, controller: Controller
) -> None:
    put_static(controller, bridge, S, 2)
    name = bridge.port_name(2)
    bridge.del_port(2)
    wait_for(lambda: not static_at(bridge, S, 2), "the static flow to go")
    assert bridge.send(1, frames.ethernet(S, A)) == {3, LOCAL}
    bridge.add_port(5, name)
    wait_for(lambda: static_at(bridge, S, 5), "the static entry to follow its port")
    assert bridge.send(1, frames.ethernet(S, A)) == {5}


@pytest.mark.parametrize(
    ("vlan", "mac", "body", "field"),
    [
        ("0", "01:00:5e:00:00:01", {"port": None}, "mac"),
        ("0", "00:00:00:00:00:00", {"port": None}, "mac"),
        ("4095", S, {"port": None}, "vlan"),
        ("x", S, {"port": None}, "vlan"),
        ("0", "no-mac", {"port": None}, "mac"),
        ("0", S, {}, "port"),
        ("0", S, {"port": 7.5}, "port"),
    ],
)
def test_impossible_static_entries_are_refused_by_field(
    bridge: Bridge,
    controller: Controller,
    vlan: str,
    mac: str,
    body: dict[str, object],
    field: str,
) -> None:
    body = {key: bridge.port_name(1) if value is None else value for key, value in body.items()}
    reply = controller.api("PUT", f"/v1/bridges/{bridge.dpid16}/fdb/{vlan}/{mac}", body)
    assert 400 <= reply.status < 500, reply
    assert field in str(reply.body), reply
    assert controller.fdb(bridge, type="static") == []


# Flushing


@pytest.fixture
def crowd(bridge: Bridge, controller: Controller) -> Bridge:
    """Hosts 1 and 2 on ports 1 and 2, host 3 in VLAN 9 on port 1, S static on port 2."""
    learn(controller, bridge, 1, port=1)
    learn(controller, bridge, 2, port=2)
    learn(controller, bridge, 3, port=1, vlan=9)
    put_static(controller, bridge, S, 2)
    return bridge


@pytest.mark.parametrize(
    ("what", "left"),
    [
        ({}, set()),
        ({"port": 1}, {B}),
        ({"vlan": 9}, {A, B}),
        ({"vlan": 0}, {C}),
        ({"mac": A}, {B, C}),
        ({"port": 1, "vlan": 9}, {A, B}),
        ({"port": 2, "vlan": 9}, {A, B, C}),
    ],
    ids=str,
)
def test_flush(
    crowd: Bridge, controller: Controller, what: dict[str, object], left: set[str]
) -> None:
    counts = {A: 0, B: 0, C: 0}
    assert controller.flush(crowd, **what) == len(counts.keys() - left)

    def remaining() -> set[str]:
        return {flow.match[-17:] for flow in learned_flows(crowd)}

    wait_for(lambda: remaining() == left, f"only {left} to be left")
    assert {entry["mac"] for entry in controller.fdb(crowd, type="learned")} == left
    assert {entry["mac"] for entry in controller.fdb(crowd, type="static")} == {S}
    assert crowd.send(3, frames.ethernet(S, C)) == {2}
