"""Links that pass frames in one direction alone, on real switches.

Each cable leads through a third switch, whose two flows are its directions: one is deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from tests.support import frames
from tests.support.controller import Controller
from tests.support.ovs import Bridge, VSwitchd
from tests.support.waiting import wait_for

ONE, TWO = 0x10A1, 0x10A2
HOST = 9
"""A port of each bridge with hosts."""
SPEED = 5


class Cables:
    """The cables 1 and 2 between ports of the same numbers, through a switch without controller."""

    def __init__(self, vswitchd: VSwitchd) -> None:
        self.switch = vswitchd
        self.between = vswitchd.add_bridge()
        self.ends = (vswitchd.add_bridge(dpid=ONE), vswitchd.add_bridge(dpid=TWO))
        for number in (1, 2):
            for side, bridge in enumerate(self.ends):
                name, far = f"{'ab'[side]}{number}", 10 * (side + 1) + number
                path = f"{vswitchd.dir}/w{name}.sock"
                bridge.add_port(number, name, f"options:pstream=punix:{path}")
                self.between.add_port(far, f"w{name}", f"options:stream=unix:{path}")
            for side in (0, 1):
                self.repair(side, number)
        for side, bridge in enumerate(self.ends):
            bridge.add_port(HOST, f"h{'ab'[side]}")

    def repair(self, side: int, number: int) -> None:
        """Pass frames that come from this side of a cable on."""
        into, out = (10 * (each + 1) + number for each in (side, 1 - side))
        self._ofctl("add-flow", f"in_port={into},actions=output:{out}")

    def cut(self, side: int, number: int) -> None:
        """Drop frames that come from this side of a cable."""
        self._ofctl("del-flows", f"in_port={10 * (side + 1) + number}")

    def _ofctl(self, command: str, flow: str) -> None:
        path = f"unix:{self.switch.dir}/{self.between.name}.mgmt"
        self.switch.ofctl(command, path, flow)
        self.switch.settle()

    def destroy(self) -> None:
        for bridge in (*self.ends, self.between):
            bridge.destroy()


@pytest.fixture
def controller() -> Iterator[Controller]:
    with closing(Controller(speed=SPEED)) as made:
        yield made


@pytest.fixture
def connect(vswitchd: VSwitchd, controller: Controller) -> Iterator[Callable[..., Cables]]:
    """Make the cables, and have the bridges run with these settings."""
    made: list[Cables] = []

    def make(**settings: object) -> Cables:
        about = {
            f"{dpid:016x}": {
                "lldp": {"enabled": True, "tx_interval": 2},
                "lags": {"bond": {"members": [f"{side}1", f"{side}2"], "lacp": "off"}},
                "ports": {f"h{side}": {"lldp": {"enabled": False}}, "*": HOLD},
                **settings,
            }
            for dpid, side in ((ONE, "a"), (TWO, "b"))
        }
        controller.configure(repr({"bridges": about}))
        controller.start()
        made.append(Cables(vswitchd))
        for bridge in made[-1].ends:
            controller.connect(bridge)
        wait_for(lambda: heard(controller) == 4, "all links", tick=vswitchd.in_pace(), seconds=30)
        return made[-1]

    yield make
    for each in made:
        each.destroy()


HOLD = {"lldp": {"one_way": "hold"}}


def ports(controller: Controller) -> dict[str, Any]:
    """LLDP's ports of both bridges, by name."""
    paths = (f"/v1/bridges/{dpid:016x}/lldp" for dpid in (ONE, TWO))
    return {port["name"]: port for path in paths for port in controller.get(path)["ports"]}


def heard(controller: Controller) -> int:
    return sum(port["heard"] is True for port in ports(controller).values())


def held(controller: Controller) -> dict[str, bool]:
    """The ports that are closed, and whether each hears its neighbour."""
    found = ((name, port["one_way"]) for name, port in ports(controller).items())
    return {name: link["hears"] for name, link in found if link and link["state"] == "held"}


def in_use(controller: Controller) -> list[list[str]]:
    """The members of the aggregation of each bridge that carry traffic."""
    answers = (controller.get(f"/v1/bridges/{dpid:016x}/lags")["lags"] for dpid in (ONE, TWO))
    return [[m["name"] for m in lag["members"] if m["distributing"]] for (lag,) in answers]


def remedies(controller: Controller) -> dict[str, str]:
    """The problems of closed ports, by their remedies; they are looked for periodically."""
    problems = controller.get("/v1/problems")["problems"]
    return {p["remedy"]: p["message"] for p in problems if p["kind"] == "one_way.held"}


def arrive(sender: Bridge, listener: Bridge) -> bool:
    """Whether broadcasts of 16 hosts arrive, each once."""
    first = 60 if sender.dpid == ONE else 80
    sent = [frames.ethernet(frames.BROADCAST, frames.host(first + each)) for each in range(16)]
    listener.forget_sent()
    sender.inject(HOST, *sent)
    for _ in range(40):
        sender.switch.barrier()
        arrived = listener.sent(HOST)
        if [arrived.count(frame) for frame in sent] == [1] * 16:
            return True
    return False


def test_a_member_of_a_static_aggregation(
    controller: Controller, connect: Callable[..., Cables]
) -> None:
    cables = connect()
    one, two = cables.ends
    tick = cables.switch.in_pace()
    assert in_use(controller) == [["a1", "a2"], ["b1", "b2"]]
    wait_for(lambda: arrive(one, two), "frames to pass one way", tick=tick)
    wait_for(lambda: arrive(two, one), "frames to pass the other way", tick=tick)
    cables.cut(0, 1)
    wait_for(lambda: len(held(controller)) == 2, "both ends to be closed", tick=tick, seconds=30)
    assert held(controller) == {"a1": True, "b1": False}
    wait_for(lambda: in_use(controller) == [["a2"], ["b2"]], "the members to leave", tick=tick)
    wait_for(lambda: arrive(one, two), "frames to pass one way", tick=tick)
    wait_for(lambda: arrive(two, one), "frames to pass the other way", tick=tick)
    wait_for(lambda: len(remedies(controller)) == 2, "both problems", tick=tick)
    assert "port b1 of br3 does not hear it" in remedies(controller)["ofapp lldp free br2 a1"]
    cables.repair(0, 1)
    wait_for(lambda: not held(controller), "both ends to open", tick=tick, seconds=30)
    wait_for(lambda: in_use(controller) == [["a1", "a2"], ["b1", "b2"]], "the members", tick=tick)
    wait_for(lambda: arrive(one, two), "frames to pass one way", tick=tick)
    wait_for(lambda: arrive(two, one), "frames to pass the other way", tick=tick)


def test_spanning_tree_uses_the_other_cable_and_a_restart_opens_nothing(
    controller: Controller, connect: Callable[..., Cables]
) -> None:
    cables = connect(lags={}, stp={"enabled": True})
    one, two = cables.ends
    tick = cables.switch.in_pace()
    wait_for(lambda: arrive(one, two), "the tree", tick=tick, seconds=60)
    side = 0 if forwards(controller, ONE, "a1") and forwards(controller, TWO, "b1") else 1
    cables.cut(side, 1)
    wait_for(lambda: len(held(controller)) == 2, "both ends to be closed", tick=tick, seconds=30)
    wait_for(lambda: arrive(one, two), "the other cable one way", tick=tick, seconds=60)
    wait_for(lambda: arrive(two, one), "the other cable back", tick=tick, seconds=60)
    before = held(controller)
    for dpid, name in ((ONE, "a1"), (TWO, "b1")):
        stored = controller.dir / "state" / f"links-{dpid:016x}.json"
        wait_for(lambda at=stored: at.exists(), "a document", tick=tick)
        wait_for(lambda at=stored, of=name: of in at.read_text(), "the port in it", tick=tick)
    controller.restart()
    for bridge in cables.ends:
        controller.wait_ready(bridge)
    assert held(controller) == before
    assert not forwards(controller, ONE, "a1")
    assert not forwards(controller, TWO, "b1")
    controller.api("POST", f"/v1/bridges/{ONE:016x}/lldp/ports/a1/free")
    wait_for(lambda: len(held(controller)) == 2, "it to be closed again", tick=tick, seconds=30)
    cables.repair(side, 1)
    wait_for(lambda: not held(controller), "both ends to open", tick=tick, seconds=30)


def forwards(controller: Controller, dpid: int, name: str) -> bool:
    tree = controller.get(f"/v1/bridges/{dpid:016x}/stp")
    return {p["name"]: p["state"] for p in tree["ports"]}[name] == "forwarding"
