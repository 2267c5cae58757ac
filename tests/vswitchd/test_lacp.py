"""LACP on a real switch, with an independent neighbour: Open vSwitch's own bond, on a
bridge that does without a controller, at the other end of the members' cables."""

from __future__ import annotations

import re
import urllib.request
from collections.abc import Iterator

import pytest

from ofapp.bridge.lag.lacp import Information, State, System
from ofapp.bridge.lag.lacp.slow import encode_lacpdu
from ofapp.openflow.model.rule import TableId
from tests.support import frames
from tests.support.controller import Controller
from tests.support.ovs import Bridge, VSwitchd, read_pcap
from tests.support.waiting import wait_for

A, B = frames.host(1), frames.host(2)
DPID = 0x1AC
MEMBERS = (1, 2)
X, THERE = 3, 4
"""A port of the bridge, and one of the neighbour."""
LAG = {"members": ["m1", "m2"], "lacp": "active"}


def file(**params: object) -> str:
    return repr({"bridges": {f"{DPID:016x}": {"lags": {"lag0": {**LAG, **params}}}}})


class Neighbour:
    """A bridge with a bond of two, cabled to ports 1 and 2 of another."""

    def __init__(self, switch: VSwitchd, other: Bridge) -> None:
        self._switch = switch
        for number in MEMBERS:
            name = f"m{number}"
            other.add_port(number, name, f"options:pstream=punix:{switch.dir}/{name}.sock")
        self.interfaces = [
            f"-- set Interface n{number} type=dummy options:stream=unix:{switch.dir}/m{number}.sock"
            for number in MEMBERS
        ]
        self._there = switch.dir / "there.pcap"
        self._read = 0
        switch.vsctl(
            *("add-br", "nb", "--", "set", "Bridge", "nb", "datapath_type=dummy"),
            *("fail_mode=standalone", "other_config:hwaddr=aa:55:aa:55:00:99"),
        )
        switch.vsctl(
            *("add-port", "nb", "there", "--", "set", "Interface", "there", "type=dummy"),
            f"options:tx_pcap={self._there}",
        )

    def bond(self, lacp: str = "active", timeout: str = "slow") -> None:
        """Begin, with members n1 and n2."""
        self._switch.vsctl(
            *("add-bond", "nb", "bond0", "n1", "n2", f"lacp={lacp}", "bond_mode=balance-tcp"),
            *("--", "set", "Port", "bond0", f"other_config:lacp-time={timeout}"),
            *" ".join(self.interfaces).split(),
        )

    def end(self) -> None:
        """Pull both cables."""
        self._switch.vsctl("--if-exists", "del-port", "nb", "bond0")

    def cut(self, number: int) -> None:
        """Plug the cable to a port of the bridge out, at this end: the other sees nothing of it."""
        nowhere = f"options:stream=unix:{self._switch.dir}/nowhere.sock"
        self._switch.vsctl("set", "Interface", f"n{number}", nowhere)

    def say(self, frame: bytes) -> None:
        """A host there sends it."""
        self._switch.settle()
        self._switch.appctl("netdev-dummy/receive", "there", frame.hex())

    def heard(self) -> list[bytes]:
        """What has come to the host there since this was last asked."""
        self._switch.barrier()
        self._switch.barrier()  # a cable is a socket, read in a later round
        heard, self._read = read_pcap(self._there, self._read)
        return heard

    def changes(self, number: int) -> int:
        """How often one of its members was taken into use, or out of it."""
        log = (self._switch.dir / "ovs-vswitchd.log").read_text()
        return len(re.findall(rf"member n{number}: (?:en|dis)abled", log))

    def received(self) -> list[int]:
        """The LACPDUs that have come to each of its members."""
        self._switch.settle()
        shown = self._switch.appctl("lacp/show-stats", "bond0")
        return [int(count) for count in re.findall(r"RX PDUs: (\d+)", shown)]

    def bonded(self) -> set[int]:
        """Those of its members that it uses, by the bridge's ports."""
        shown = self._switch.appctl("bond/show", "bond0")
        return {number for number in MEMBERS if f"member n{number}: enabled" in shown}


pytestmark = pytest.mark.controller(file())


@pytest.fixture(scope="module")
def bridge(vswitchd: VSwitchd) -> Bridge:
    made = vswitchd.add_bridge(dpid=DPID)
    made.add_port(X, "x")
    return made


@pytest.fixture(scope="module")
def beside(vswitchd: VSwitchd, bridge: Bridge, controller: Controller) -> Neighbour:
    made = Neighbour(vswitchd, bridge)
    controller.connect(bridge)
    return made


@pytest.fixture
def neighbour(beside: Neighbour, bridge: Bridge) -> Iterator[Neighbour]:
    """Without a bond, and the bridge knows of none."""
    yield beside
    beside.end()
    for up in (False, True):
        for number in MEMBERS:
            bridge.link(number, up=up)
        wait_for(lambda: not used(bridge), "members to be out of use", tick=bridge.switch.in_pace())


def used(bridge: Bridge) -> set[int]:
    """The members whose frames enter."""
    return {
        port
        for flow in bridge.flows()
        for port in MEMBERS
        if (flow.table, flow.priority, flow.match) == (TableId.ADMISSION, 980, f"in_port={port}")
    }


def both_use(bridge: Bridge, neighbour: Neighbour, members: set[int]) -> None:
    wait_for(
        lambda: used(bridge) == members == neighbour.bonded(),
        f"both ends to use {members}",
        tick=bridge.switch.in_pace(),
        seconds=30,
    )


def test_frames_pass_once_and_never_come_back(bridge: Bridge, neighbour: Neighbour) -> None:
    neighbour.bond("passive")
    both_use(bridge, neighbour, {1, 2})
    there = frames.ethernet(frames.BROADCAST, A)
    out = bridge.send(X, there)
    assert len(out & {*MEMBERS}) == 1
    assert neighbour.heard().count(there) == 1
    back = frames.ethernet(frames.BROADCAST, B)
    bridge.forget_sent()
    neighbour.say(back)
    came: list[bytes] = []
    wait_for(
        lambda: came.extend(bridge.sent(X)) or back in came,
        "the frame to come through",
        tick=bridge.switch.step,
    )
    bridge.switch.step()
    came += bridge.sent(X)
    assert came.count(back) == 1
    assert neighbour.heard().count(back) == 0


def test_a_storm_by_one_member_leaves_the_other_alone(
    bridge: Bridge, neighbour: Neighbour, controller: Controller
) -> None:
    neighbour.bond()
    both_use(bridge, neighbour, {1, 2})
    before, changes = taken_in(controller), neighbour.changes(1)
    strangers = [Information(System(0, number), number, 1, 1, State(0x3F)) for number in range(400)]
    frames = [encode_lacpdu(one, one, one.key).hex() for one in strangers]
    bridge.switch.appctl("netdev-dummy/receive", "m2", *frames)
    bridge.switch.step()
    wait_for(lambda: used(bridge) == {1}, "the storm to tell", tick=bridge.switch.in_pace())
    assert taken_in(controller) - before < 200
    assert controller.alive
    assert neighbour.changes(1) == changes
    about_the_storm(controller)


def about_the_storm(controller: Controller) -> None:
    """What was held back is reported and counted for the member, with its name."""
    for hashed in ("layer2", "layer2+3"):  # a reload looks at the switch's counters
        controller.configure(file(hash=hashed))
        assert controller.api("POST", "/v1/config/reload").status == 200
    (event,) = wait_for(
        lambda: controller.get("/v1/events?kind=lacp.limited")["events"], "the event"
    )
    held_back = event["data"]["held_back"]
    assert held_back > 0
    assert event["message"].startswith(f"port m2 (2): {held_back} LACPDUs and markers were too")
    counted = [
        metric(controller, "ofapp_port_held_back_total", f'kind="lacp",port="{name}"')
        for name in ("m1", "m2")
    ]
    assert counted == [0, held_back]


def taken_in(controller: Controller) -> int:
    """LACPDUs that have come to the controller."""
    return metric(controller, "ofapp_packet_ins_total", 'kind="lacp"')


def metric(controller: Controller, name: str, label: str) -> int:
    """Of the one bridge."""
    with urllib.request.urlopen(f"http://127.0.0.1:{controller.api_port}/metrics") as answer:
        text = answer.read().decode()
    return int(float(re.findall(rf"{name}{{.*{label}.*}} (\S+)", text)[0]))


@pytest.mark.thorough
def test_a_member_that_nobody_is_behind_any_more_is_out_although_its_link_is_up(
    bridge: Bridge, neighbour: Neighbour, controller: Controller
) -> None:
    controller.configure(file(rate="fast"))
    assert controller.api("POST", "/v1/config/reload").status == 200
    neighbour.bond(timeout="fast")
    both_use(bridge, neighbour, {1, 2})
    neighbour.cut(1)
    both_use(bridge, neighbour, {2})
    controller.configure(file())
    assert controller.api("POST", "/v1/config/reload").status == 200
    for host in range(20):
        out = bridge.send(X, frames.ethernet(frames.host(1000 + host), A))
        assert out & {*MEMBERS} == {2}


@pytest.mark.thorough  # tests/interop/test_lag_peers.py has it in every run, in real time
def test_a_controller_that_is_killed_and_returns_is_not_missed(
    bridge: Bridge, neighbour: Neighbour, controller: Controller
) -> None:
    neighbour.bond()
    both_use(bridge, neighbour, {1, 2})
    before = flows_of_lags(bridge)
    enabled = [*map(neighbour.changes, MEMBERS)]
    controller.kill9()
    for host in range(8):
        out = bridge.send(X, frames.ethernet(frames.host(1000 + host), A))
        assert len(out & {*MEMBERS}) == 1
    controller.start()
    controller.wait_ready(bridge)
    assert flows_of_lags(bridge) == before
    bridge.switch.warp(3)
    assert [*map(neighbour.changes, MEMBERS)] == enabled
    assert neighbour.bonded() == {1, 2}
    assert "the partner is" not in controller.log()[-2000:].rpartition("listening for")[2]


@pytest.mark.thorough
def test_a_controller_that_ends_speaks_once_more(
    bridge: Bridge, neighbour: Neighbour, controller: Controller
) -> None:
    """The partner's timeout begins again."""
    neighbour.bond()
    both_use(bridge, neighbour, {1, 2})
    before = neighbour.received()
    controller.terminate()
    assert all(now > then for then, now in zip(before, neighbour.received(), strict=True))
    controller.start()
    controller.wait_ready(bridge)


def flows_of_lags(bridge: Bridge) -> set[object]:
    """By which frames enter and leave by members."""
    return {
        flow.identity
        for flow in bridge.flows()
        if flow.table == TableId.LAG or (flow.table, flow.priority) == (TableId.ADMISSION, 980)
    }
