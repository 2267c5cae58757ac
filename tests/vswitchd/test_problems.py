"""Problems on real switches: two bridges with two cables, as operators see them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
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


def lag(side: str) -> Any:
    """The two cables are one aggregation."""
    return {"lag0": {"members": [f"{side}1", f"{side}2"], "lacp": "off"}}


FILE: dict[str, Any] = {
    "defaults": {"stp": {"enabled": False}, "lldp": {"enabled": True}},
    "bridges": {
        f"{ONE:016x}": {"ports": {"hots": {"isolated": True}}, "lags": lag("a")},
        f"{TWO:016x}": {"mac_move": {"moves": 2}, "lags": lag("b")},
    },
}
"""One bridge's port is misspelt; on the other one addresses flap soon."""


@pytest.fixture(scope="module")
def controller(controller_factory: Callable[[str], Controller]) -> Controller:
    return controller_factory(yaml.safe_dump(FILE))


@pytest.fixture(scope="module")
def bridges(vswitchd: VSwitchd, controller: Controller) -> tuple[Bridge, Bridge]:
    made = vswitchd.add_bridge(dpid=ONE), vswitchd.add_bridge(dpid=TWO)
    for number in CABLES:
        for bridge, side, kind in zip(made, "ab", ("pstream=punix", "stream=unix"), strict=True):
            name = f"{side}{number}"
            vswitchd.vsctl(
                *("add-port", bridge.name, name, "--", "set", "Interface", name, "type=dummy"),
                f"ofport_request={number}",
                f"options:{kind}:{vswitchd.dir}/m{number}.sock",
            )
            bridge._names[number] = name
    for bridge in made:
        bridge.add_port(HOST, f"host{bridge.name}" if bridge is made[1] else "host")
        controller.connect(bridge)
    made[1].add_port(4, "other")
    wait_for(lambda: len(controller.get("/v1/topology")["links"]) == 1, "the cables to be known")
    return made


def of(controller: Controller, kind: str) -> list[Any]:
    return [one for one in controller.get("/v1/problems")["problems"] if one["kind"] == kind]


def stands(controller: Controller, kind: str) -> Any:
    """Wait for a problem of this kind; gives it."""
    return wait_for(lambda: of(controller, kind), f"a problem {kind}", seconds=25)[0]


def over(controller: Controller, kind: str) -> None:
    wait_for(lambda: not of(controller, kind), f"the end of {kind}")


def ofapp(controller: Controller, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"OFAPP_API": f"http://127.0.0.1:{controller.api_port}"}
    command = [sys.executable, "-m", "ofapp", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def test_a_name_that_no_port_has(controller: Controller, bridges: tuple[Bridge, Bridge]) -> None:
    problem = stands(controller, "config.unknown-port")
    assert "hots" in problem["message"]
    assert "is host meant?" in problem["message"]
    assert problem["datapath_id"] == f"{ONE:016x}"


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
    done = ofapp(controller, *remedy.split()[1:])
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
    assert ofapp(controller, "problems", "--severity", "error").returncode == 1
    done = ofapp(controller, "problems", "acknowledge", problem["id"], "--comment", "new cable")
    assert done.returncode == 0, done
    shown = ofapp(controller, "problems", "--severity", "error")
    assert shown.returncode == 0, shown
    assert "new cable" in shown.stdout
    assert "1 of severity error" not in ofapp(controller, "status").stdout
    controller.connect(away)
    over(controller, "switch.disconnected")
    away.set_controller("tcp:127.0.0.1:1")
    assert stands(controller, "switch.disconnected")["acknowledged"] is None
