"""Problems on real switches: two bridges with two cables, as operators see them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.support import frames
from tests.support.controller import Controller
from tests.support.ovs import Bridge, VSwitchd
from tests.support.waiting import wait_for

ONE, TWO = 0x1B01, 0x1B02
CABLES = (1, 2)
HOST = 3
MISSING = "cable.missing"
SPEED = 5
SOON = 4.0
"""Seconds in which a cut cable must be a problem: 2, and more as the machine may be busy."""


def lag(side: str) -> Any:
    """The two cables are one aggregation."""
    return {"lag0": {"members": [f"{side}1", f"{side}2"], "lacp": "off"}}


FILE: dict[str, Any] = {
    "defaults": {"stp": {"enabled": False}, "lldp": {"enabled": True}, "ageing_time": 50},
    "bridges": {
        f"{ONE:016x}": {"ports": {"hots": {"isolated": True}}, "lags": lag("a")},
        f"{TWO:016x}": {"mac_move": {"moves": 2}, "lags": lag("b")},
    },
}
"""One bridge's port is misspelt; on the other one addresses flap soon.
Switches are compared with their bridges every five seconds, a tenth of the ageing time."""


pytestmark = pytest.mark.controller(yaml.safe_dump(FILE), speed=SPEED)


@pytest.fixture(scope="module")
def bridges(vswitchd: VSwitchd, controller: Controller) -> tuple[Bridge, Bridge]:
    made = vswitchd.add_bridge(dpid=ONE), vswitchd.add_bridge(dpid=TWO)
    for number in CABLES:
        for bridge, side, kind in zip(made, "ab", ("pstream=punix", "stream=unix"), strict=True):
            end = f"options:{kind}:{vswitchd.dir}/m{number}.sock"
            bridge.add_port(number, f"{side}{number}", end)
    for bridge in made:
        bridge.add_port(HOST, f"host{bridge.name}" if bridge is made[1] else "host")
        controller.connect(bridge)
    made[1].add_port(4, "other")
    wait_for(lambda: len(controller.get("/v1/topology")["links"]) == 1, "the cables to be known")
    return made


@pytest.fixture
def remembered(controller: Controller, bridges: tuple[Bridge, Bridge]) -> None:
    """Both cables are there, and known."""
    stored = controller.dir / "state" / f"cables-{ONE:016x}.json"

    def known() -> bool:
        return stored.exists() and len(json.loads(stored.read_text())["cables"]) == len(CABLES)

    wait_for(known, "both cables to be known", seconds=25)
    over(controller, MISSING)


def of(controller: Controller, kind: str) -> list[Any]:
    return [one for one in controller.get("/v1/problems")["problems"] if one["kind"] == kind]


def stands(controller: Controller, kind: str) -> Any:
    """Wait for a problem of this kind; gives it."""
    return wait_for(lambda: of(controller, kind), f"a problem {kind}", seconds=25)[0]


def over(controller: Controller, kind: str) -> None:
    wait_for(lambda: not of(controller, kind), f"the end of {kind}")


def restart(controller: Controller, *bridges: Bridge) -> None:
    controller.restart()
    for bridge in bridges:
        controller.connect(bridge)


def test_a_name_that_no_port_has(controller: Controller, bridges: tuple[Bridge, Bridge]) -> None:
    problem = stands(controller, "config.unknown-port")
    assert "hots" in problem["message"]
    assert "is host meant?" in problem["message"]
    assert problem["datapath_id"] == f"{ONE:016x}"


def test_cables_that_were_there_are_missing_until_they_are_back(
    controller: Controller, bridges: tuple[Bridge, Bridge], remembered: None
) -> None:
    one, _ = bridges
    for cable in CABLES:
        one.link(cable, up=False)
    cut = time.monotonic()
    wait_for(lambda: len(of(controller, MISSING)) == len(CABLES), "both cables", seconds=SOON)
    print(f"two cables cut: problems after {time.monotonic() - cut:.2f} s")
    problems = of(controller, MISSING)
    assert {problem["severity"] for problem in problems} == {"error"}
    for cable in CABLES:
        end = f"{one.name}/a{cable} has no carrier"
        assert any(end in problem["message"] for problem in problems), problems
    controller.ofapp("problems", "acknowledge", problems[0]["id"], "--comment", "on Monday")
    restart(controller, *bridges)
    wait_for(lambda: len(of(controller, MISSING)) == len(CABLES), "memory of both cables")
    after = {problem["id"]: problem["acknowledged"] for problem in of(controller, MISSING)}
    assert after.keys() == {problem["id"] for problem in problems}
    assert after[problems[0]["id"]]["comment"] == "on Monday"
    shown = controller.ofapp("topology", "show")
    assert "a1" in shown.stdout, shown
    assert "is missing" in shown.stdout
    for cable in CABLES:
        one.link(cable, up=True)
    over(controller, MISSING)


def test_the_remedy_of_a_cable_that_was_removed_forgets_it(
    controller: Controller, bridges: tuple[Bridge, Bridge], remembered: None
) -> None:
    one, _ = bridges
    one.link(2, up=False)
    remedy = stands(controller, MISSING)["remedy"]
    done = controller.ofapp(*remedy.split()[1:])
    assert done.returncode == 0, done
    over(controller, MISSING)
    assert controller.ofapp(*remedy.split()[1:]).returncode == 1, "there is none any more"
    one.link(2, up=True)


def test_addresses_that_flap_are_one_problem_that_names_both_ports(
    controller: Controller, bridges: tuple[Bridge, Bridge]
) -> None:
    _, two = bridges
    name = two.port_name(HOST)

    def flap() -> bool:
        for port in (HOST, 4) * 3:
            two.send(port, frames.ethernet(frames.BROADCAST, frames.host(77)))
        return bool(of(controller, "fdb.flapping"))

    wait_for(flap, "the address to be held down")
    problem = stands(controller, "fdb.flapping")
    assert name in problem["message"]
    assert two.port_name(4) in problem["message"]


def test_the_file_on_disk_is_compared_with_what_is_in_force(
    controller: Controller, bridges: tuple[Bridge, Bridge]
) -> None:
    controller.config_file.write_text("bridges: {br0: {agieng_time: 1}}\n")
    assert "agieng_time" in stands(controller, "config.invalid")["message"]
    controller.configure(yaml.safe_dump(FILE | {"forget_after": 90_000}))
    stands(controller, "config.not-applied")
    over(controller, "config.invalid")
    remedy = of(controller, "config.not-applied")[0]["remedy"]
    done = controller.ofapp(*remedy.split()[1:])
    assert done.returncode == 0, done
    over(controller, "config.not-applied")


@pytest.fixture
def away(controller: Controller, bridges: tuple[Bridge, Bridge]) -> Iterator[Bridge]:
    one, _ = bridges
    one.set_controller("tcp:127.0.0.1:1")
    yield one
    controller.connect(one)


def test_an_acknowledged_problem_does_not_count_and_its_successor_does(
    controller: Controller, away: Bridge
) -> None:
    problem = stands(controller, "switch.disconnected")
    assert controller.ofapp("problems", "--severity", "error").returncode == 1
    done = controller.ofapp("problems", "acknowledge", problem["id"], "--comment", "new cable")
    assert done.returncode == 0, done
    shown = controller.ofapp("problems", "--severity", "error")
    assert shown.returncode == 0, shown
    assert "new cable" in shown.stdout
    assert "1 of severity error" not in controller.ofapp("status").stdout
    controller.connect(away)
    over(controller, "switch.disconnected")
    away.set_controller("tcp:127.0.0.1:1")
    assert stands(controller, "switch.disconnected")["acknowledged"] is None


def test_a_cable_between_two_ports_of_a_bridge_without_a_tree(
    controller: Controller, bridges: tuple[Bridge, Bridge], vswitchd: VSwitchd
) -> None:
    _, two = bridges
    for name, kind in (("here", "pstream=punix"), ("there", "stream=unix")):
        vswitchd.vsctl(
            *("add-port", two.name, name, "--", "set", "Interface", name, "type=dummy"),
            f"options:{kind}:{vswitchd.dir}/loop.sock",
        )
    problem = stands(controller, "loop.suspected")
    assert problem["severity"] == "error"
    assert "port here (5) and port there (6) receive each other's LLDP frames" in problem["message"]
    assert controller.ofapp(*problem["remedy"].split()[1:]).returncode == 0
    vswitchd.vsctl("del-port", two.name, "there")
    over(controller, "loop.suspected")


def test_flows_that_others_set_in_the_switch(
    controller: Controller, bridges: tuple[Bridge, Bridge]
) -> None:
    one, _ = bridges
    kind = "switch.foreign-flows"
    assert of(controller, kind) == [], "ofapp's flows are no others'"
    one.switch.ofctl("add-flow", one.name, "priority=65000,dl_type=0x1234,actions=drop")
    problem = stands(controller, kind)
    assert "flows that another program has set: 1" in problem["message"]
    one.switch.ofctl(*problem["remedy"].split()[3:])
    over(controller, kind)


@pytest.mark.thorough
def test_a_switch_that_stays_absent_after_a_restart_of_the_controller(
    controller: Controller, bridges: tuple[Bridge, Bridge]
) -> None:
    """The problem has a delay of a minute, in which switches come back."""
    one, two = bridges
    name = controller.bridge(one)["name"]
    stored = controller.dir / "state" / f"known-{ONE:016x}.json"
    wait_for(stored.exists, "the switch to be stored")
    one.set_controller("tcp:127.0.0.1:1")
    restart(controller, two)
    kind = "switch.absent"
    problem = wait_for(lambda: of(controller, kind), "the problem", seconds=90)[0]
    assert name in problem["message"]
    controller.connect(one)
    over(controller, kind)
    one.set_controller("tcp:127.0.0.1:1")
    restart(controller, two)
    problem = wait_for(lambda: of(controller, kind), "the problem", seconds=90)[0]
    done = controller.ofapp(*problem["remedy"].split()[1:])
    assert done.returncode == 0, done
    over(controller, kind)
    assert controller.ofapp(*problem["remedy"].split()[1:]).returncode == 1, "it is forgotten"
    controller.connect(one)


@pytest.mark.parametrize("direction", ["receive", "forward", "packet-in"])
def test_a_port_that_others_closed_in_the_switch(
    controller: Controller, bridges: tuple[Bridge, Bridge], direction: str
) -> None:
    one, _ = bridges
    closed = "port.closed-in-switch"
    one.switch.ofctl("mod-port", one.name, "host", f"no-{direction}")
    problem = stands(controller, closed)
    assert (problem["port"], problem["severity"]) == ("host", "error")
    assert f"no-{direction}" in problem["message"]
    one.switch.ofctl(*problem["remedy"].split()[3:])
    over(controller, closed)
