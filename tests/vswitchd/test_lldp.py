"""LLDP on a real switch: two bridges of one controller, cabled by an aggregation and by hosts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ofapp.bridge.lldp.tlv import Type, tlv
from ofapp.openflow.model.rule import TableId
from tests.support.controller import Controller
from tests.support.ovs import Bridge, Flow, VSwitchd
from tests.support.waiting import wait_for
from tests.unit.bridge.lldp.lab import HEADER, pdu

ONE, TWO = 0x11D1, 0x11D2
CABLES = (1, 2)
"""Ports of both bridges, of which each leads to the same port of the other; they are lag0."""
HOST, ALONE = 3, 4
"""A port of the first bridge with a guest, and one where LLDP is off."""


def file(*bridges: int) -> str:
    """With LLDP on these."""
    ports = {"alone": {"lldp": {"enabled": False}}}
    about = {
        number: {
            "lags": {"lag0": {"members": [f"{side}1", f"{side}2"], "lacp": "off"}},
            "ports": ports,
            "lldp": {"enabled": number in bridges},
        }
        for number, side in ((ONE, "a"), (TWO, "b"))
    }
    return repr({"bridges": {f"{number:016x}": own for number, own in about.items()}})


pytestmark = pytest.mark.controller(file())


@pytest.fixture(scope="module")
def bridges(vswitchd: VSwitchd, controller: Controller) -> tuple[Bridge, Bridge]:
    made = vswitchd.add_bridge(dpid=ONE), vswitchd.add_bridge(dpid=TWO)
    for number in CABLES:
        for bridge, side, kind in zip(made, "ab", ("pstream=punix", "stream=unix"), strict=True):
            end = f"options:{kind}:{vswitchd.dir}/m{number}.sock"
            bridge.add_port(number, f"{side}{number}", end)
    made[0].add_port(HOST, "host")
    made[0].add_port(ALONE, "alone")
    for bridge in made:
        controller.connect(bridge)
    return made


@pytest.fixture
def on(controller: Controller, bridges: tuple[Bridge, Bridge]) -> Iterator[None]:
    """LLDP runs on both bridges."""
    say(controller, bridges, ONE, TWO)
    yield
    say(controller, bridges)


def say(controller: Controller, bridges: tuple[Bridge, Bridge], *with_lldp: int) -> None:
    """Have it run on these."""
    controller.configure(file(*with_lldp))
    assert controller.api("POST", "/v1/config/reload").status == 200
    for bridge in bridges:
        controller.wait_ready(bridge)


def of_lldp(bridge: Bridge) -> list[Flow]:
    flows = bridge.flows()
    return [flow for flow in flows if (flow.table, flow.priority) == (TableId.ADMISSION, 984)]


def port(controller: Controller, bridge: Bridge, name: str) -> dict[str, Any]:
    """How LLDP stands there."""
    entries = controller.get(f"/v1/bridges/{bridge.dpid16}/lldp")["ports"]
    found: dict[str, Any] = next(own for own in entries if own["name"] == name)
    return found


def test_without_it_nothing_is_there_for_it(bridges: tuple[Bridge, Bridge]) -> None:
    first, _ = bridges
    assert of_lldp(first) == []
    assert first.send(HOST, pdu()) == set()


def test_neighbours_are_heard_and_no_frame_is_passed_on(
    controller: Controller, bridges: tuple[Bridge, Bridge], on: None
) -> None:
    first, _ = bridges
    wait_for(lambda: len(of_lldp(first)) == 3, "the flows", tick=first.switch.step)
    assert first.send(HOST, pdu(tlv(Type.SYSTEM_NAME, b"guest"))) == set()
    assert first.send(ALONE, pdu()) == set()
    wait_for(lambda: port(controller, first, "host")["neighbours"], "it", tick=first.switch.step)
    (known,) = port(controller, first, "host")["neighbours"]
    assert (known["system_name"], known["own"]) == ("guest", None)
    (neighbour,) = controller.get("/v1/topology")["neighbours"]
    assert (neighbour["port"]["name"], neighbour["trusted"]) == ("host", False)


def test_own_bridges_prove_who_they_are_and_an_aggregation_is_one_link(
    controller: Controller, bridges: tuple[Bridge, Bridge], on: None
) -> None:
    first, second = bridges

    def link() -> Any:
        links = controller.get("/v1/topology")["links"]
        return [own for own in links if own["lag"] and len(own["lag"]["members"]) == 2]

    wait_for(link, "both cables to be known", tick=first.switch.step)
    (found,) = link()
    assert (found["a"]["datapath_id"], found["b"]["datapath_id"]) == (first.dpid16, second.dpid16)
    assert (found["source"], found["lag"]["a"], found["lag"]["b"]) == ("lldp", "lag0", "lag0")


def test_whoever_floods_it_is_held_back_and_reported(
    controller: Controller, bridges: tuple[Bridge, Bridge], on: None
) -> None:
    first, _ = bridges
    wait_for(lambda: len(of_lldp(first)) == 3, "the flows", tick=first.switch.step)
    before = port(controller, first, "host")["counters"]["received"]
    for _ in range(20):
        first.inject(HOST, *[pdu()] * 20)
    first.switch.step()
    wait_for(
        lambda: port(controller, first, "host")["counters"]["received"] > before,
        "some of them",
        tick=first.switch.step,
    )
    assert port(controller, first, "host")["counters"]["received"] - before < 200


def test_turned_off_the_neighbours_are_reported(
    controller: Controller, bridges: tuple[Bridge, Bridge]
) -> None:
    first, _ = bridges
    say(controller, bridges, ONE)
    wait_for(lambda: HEADER[12:14] in b"".join(first.sent(HOST)), "a frame", tick=first.switch.step)
    say(controller, bridges)
    wait_for(
        lambda: any(b"\x06\x02\x00\x00" in frame for frame in first.sent(HOST)),
        "the frame with a time to live of zero",
        tick=first.switch.step,
    )
    wait_for(lambda: not of_lldp(first), "the flows to go", tick=first.switch.step)
