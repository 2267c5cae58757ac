"""Spanning tree in the datapath: BPDUs go to the controller alone, port states hold, guards act.

The bridge's neighbours are BPDUs written by hand.  The controller's clock is real and its timers
are the shortest allowed; the switch's clock is moved along with it (`alongside`), because a warp
of seconds would end the flows that bring BPDUs to the controller.
"""

from __future__ import annotations

import itertools
import struct
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from tests.vswitchd import frames
from tests.vswitchd.controller import Controller
from tests.vswitchd.hosts import halves, learn, wait_forgotten
from tests.vswitchd.ovs import LOCAL, Bridge, VSwitchd
from tests.vswitchd.waiting import wait_for

TC, PROPOSAL, ROOT, DESIGNATED, LEARNING, FORWARDING, AGREEMENT = 1, 2, 8, 12, 16, 32, 64
EDGE = {"admin_edge": True}
SLOW = {"auto_edge": False}
FORWARD_DELAY = 4

PROFILES: dict[str, dict[int, dict[str, object]]] = {
    "states": {1: SLOW, 2: EDGE},
    "change": {1: SLOW, 2: SLOW, 3: SLOW, 4: EDGE},
    "bpdu-guard": {1: EDGE | {"bpdu_guard": True}, 2: EDGE},
    "bpdu-guard-by-hand": {1: EDGE | {"bpdu_guard": True}, 2: EDGE},
    "root-guard": {1: SLOW | {"root_guard": True}, 2: EDGE},
    "loop-guard": {1: SLOW, 2: SLOW | {"loop_guard": True}, 3: EDGE},
    "own": {1: SLOW, 2: EDGE},
    "off": {1: {"enabled": False}, 2: {"enabled": False}, 3: EDGE, 4: SLOW},
    "filter": {1: EDGE | {"bpdu_filter": True}, 2: EDGE},
    "malformed": {1: EDGE, 2: EDGE},
    "flood": {1: SLOW, 2: SLOW},
}
_dpids = {name: 0x5700 + number for number, name in enumerate(PROFILES, 1)}


def port_name(profile: str, number: int) -> str:
    return f"v{_dpids[profile]:x}p{number}"


def _config() -> str:
    timers = {"hello_time": 1, "max_age": 6, "forward_delay": FORWARD_DELAY}
    bridges: dict[str, Any] = {}
    for profile, ports in PROFILES.items():
        own = {port_name(profile, number): {"stp": stp} for number, stp in ports.items()}
        recovery = 0 if profile == "bpdu-guard-by-hand" else 2
        bridges[f"{_dpids[profile]:016x}"] = {
            "ports": own,
            "stp": {"bpdu_guard_recovery": recovery},
        }
    defaults = {"stp": {"enabled": True, **timers}}
    return yaml.safe_dump({"defaults": defaults, "bridges": bridges})


@pytest.fixture(scope="module")
def controller(controller_factory: Callable[..., Controller]) -> Controller:
    return controller_factory(_config())


@pytest.fixture
def make(vswitchd: VSwitchd, controller: Controller) -> Iterator[Callable[[str], Bridge]]:
    """Makes the connected bridge of a profile."""
    made: list[Bridge] = []

    def run(profile: str) -> Bridge:
        bridge = vswitchd.add_bridge(dpid=_dpids[profile])
        made.append(bridge)
        for number in PROFILES[profile]:
            bridge.add_port(number, port_name(profile, number))
        controller.connect(bridge)
        return bridge

    yield run
    for bridge in made:
        bridge.destroy()


# --- what a neighbour says -----------------------------------------------------------------------


def rst(
    flags: int = DESIGNATED,
    *,
    root: int = 0xF000,
    cost: int = 0,
    number: int = 1,
    times: tuple[float, float, float, float] = (0, 6, 1, 4),
) -> bytes:
    """An RST BPDU (802.1D-2004 9.3.3) of the bridge `number` about a root of that priority."""
    address = frames.mac(f"02:bb:00:00:00:{number:02x}")
    root_id = struct.pack("!H", root) + frames.mac("02:bb:00:00:00:01")
    bridge_id = struct.pack("!H", max(root, 0x1000 * (number - 1))) + address
    body = struct.pack("!HBBB", 0, 2, 2, flags) + root_id + struct.pack("!I", cost) + bridge_id
    body += struct.pack("!HHHHH", 0x8001, *(int(t * 256) for t in times)) + b"\0"
    return frames.llc(frames.BPDU_GROUP, f"02:bb:00:00:00:{number:02x}", body)


def config(age: float) -> bytes:
    """A Configuration BPDU (9.3.1) that has been on its way for so many seconds."""
    body = bytes.fromhex("0000000000") + bytes(8) + bytes(4) + bytes(8)
    body += struct.pack("!HHHHH", 0x8001, *(int(t * 256) for t in (age, 6, 1, 4)))
    return frames.llc(frames.BPDU_GROUP, frames.host(9), body)


INFERIOR = rst(root=0xF000)
SUPERIOR = rst(DESIGNATED | LEARNING | FORWARDING, root=0)


class Neighbour:
    """Says the same again and again, and lets the switch's clock pass meanwhile."""

    def __init__(self, bridge: Bridge, said: dict[int, bytes], interval: float = 0.3) -> None:
        self._bridge = bridge
        self._said = said
        self._interval = interval
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._speak)

    def __enter__(self) -> Neighbour:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def silence(self, port: int) -> None:
        self._said.pop(port)

    def says(self, port: int, frame: bytes) -> None:
        self._said[port] = frame

    def _speak(self) -> None:
        switch = self._bridge.switch
        while True:
            for port, frame in list(self._said.items()):
                switch.appctl("netdev-dummy/receive", self._bridge.port_name(port), frame.hex())
            switch.appctl("time/warp", str(int(self._interval * 1000)))
            if self._stop.wait(self._interval):
                return


def alongside(bridge: Bridge) -> Callable[[], None]:
    """Let a little of the switch's time pass with each look."""
    return lambda: bridge.switch.appctl("time/warp", "10") and None


# --- what the bridge says of itself --------------------------------------------------------------


def status(controller: Controller, bridge: Bridge, port: int) -> dict[str, Any]:
    found = controller.get(f"/v1/bridges/{bridge.dpid16}/stp")["ports"]
    return next(entry for entry in found if entry["number"] == port)


def in_datapath(bridge: Bridge, port: int) -> str:
    """The port's state by the switch's own flows, flood group included."""
    actions = [
        flow.actions
        for flow in bridge.flows()
        if flow.table == 0 and flow.priority == 100 and flow.match == f"in_port={port}"
    ]
    forwards = bool(actions) and "goto_table" in actions[0]
    assert (port in bridge.groups()[1]) == forwards
    return "forwarding" if forwards else "learning" if actions else "discarding"


def wait_state(
    controller: Controller, bridge: Bridge, port: int, state: str, seconds: float = 15
) -> None:
    wait_for(
        lambda: status(controller, bridge, port)["state"] == state,
        f"port {port} to be {state}",
        seconds=seconds,
        tick=alongside(bridge),
    )
    wait_for(lambda: in_datapath(bridge, port) == state, f"port {port} to be {state} in the switch")


def wait_received(controller: Controller, bridge: Bridge, port: int, count: int) -> None:
    wait_for(
        lambda: status(controller, bridge, port)["received"]["rst"] == count,
        f"{count} BPDUs to be counted on port {port}",
        tick=alongside(bridge),
    )


def guard_events(controller: Controller, bridge: Bridge, guard: str) -> list[bool]:
    """Whether a guard struck (True) or let go (False), in order."""
    return [
        event["data"]["active"]
        for event in controller.events(f"stp.{guard}")
        if event["datapath_id"] == bridge.dpid16
    ]


def crosses(bridge: Bridge, port: int, other: int) -> tuple[bool, bool]:
    """Whether frames of unknown hosts get from a port to another one, and back."""
    numbers = next(_fresh)
    one, two = frames.host(numbers), frames.host(numbers + 1)
    there = other in bridge.send(port, frames.ethernet(frames.BROADCAST, one))
    back = port in bridge.send(other, frames.ethernet(frames.host(0xFFFF), two))
    return there, back


_fresh = itertools.count(0x5000, 2)


# --- port states ---------------------------------------------------------------------------------


def test_each_state_lets_through_what_it_should_and_never_a_bpdu(
    make: Callable[[str], Bridge], controller: Controller
) -> None:
    bridge = make("states")
    host = frames.host(1)
    hello = frames.ethernet(frames.BROADCAST, host)
    wait_state(controller, bridge, 2, "forwarding")
    for heard, state in enumerate(("discarding", "learning", "forwarding"), 1):
        wait_state(controller, bridge, 1, state)
        open_ = state == "forwarding"
        assert crosses(bridge, 1, 2) == (open_, open_)
        # To the controller alone, and once.
        assert bridge.send(1, INFERIOR) == set()
        wait_received(controller, bridge, 1, heard)
        assert bridge.send(2, frames.pause(frames.host(2))) == set()
        if state == "discarding":
            bridge.inject(1, hello)
            bridge.inject(2, frames.ethernet(frames.BROADCAST, frames.host(3)))
            wait_for(lambda: controller.where(bridge, frames.host(3)) == 2, "the other to be known")
            assert controller.where(bridge, host) is None
        elif state == "learning":
            bridge.inject(1, hello)
            wait_for(lambda: controller.where(bridge, host) == 1, "the host to be learned")
            assert halves(bridge, host) == (0, 0)  # nothing may reach it yet
            assert 1 not in bridge.send(2, frames.ethernet(host, frames.host(3)))
        assert in_datapath(bridge, 1) == state, "it was over too soon to have tested anything"
    # Learned in learning, used from the first moment in forwarding: no flood.
    wait_for(lambda: halves(bridge, host) == (1, 1), "what was learned to be installed")
    assert bridge.send(2, frames.ethernet(host, frames.host(3))) == {1}


def test_bpdus_of_an_edge_port_are_heard_and_end_its_being_one(
    make: Callable[[str], Bridge], controller: Controller
) -> None:
    bridge = make("malformed")
    wait_state(controller, bridge, 2, "forwarding")
    assert status(controller, bridge, 2)["edge"]["oper"]
    assert bridge.send(2, SUPERIOR) == set()
    wait_for(lambda: not status(controller, bridge, 2)["edge"]["oper"], "the port to be no edge")


def test_a_port_without_spanning_tree_lets_bpdus_pass(
    make: Callable[[str], Bridge], controller: Controller
) -> None:
    bridge = make("off")
    for port in (1, 2, 3):
        wait_state(controller, bridge, port, "forwarding")
    assert in_datapath(bridge, 4) == "discarding"
    assert bridge.send(1, INFERIOR) == {2, 3, LOCAL}  # as any multicast: not by one that blocks
    assert bridge.send(3, INFERIOR) == set()
    assert bridge.send(1, frames.pause(frames.host(1))) == set()


def test_a_filtered_port_neither_hears_nor_speaks(
    make: Callable[[str], Bridge], controller: Controller
) -> None:
    bridge = make("filter")
    wait_state(controller, bridge, 1, "forwarding")
    assert bridge.send(1, SUPERIOR) == set()
    wait_for(lambda: status(controller, bridge, 1)["drops"], "the drop to be counted")
    told = status(controller, bridge, 1)
    assert told["drops"] == {"filtered": 1}
    assert told["received"] == {"config": 0, "tcn": 0, "rst": 0}
    assert told["sent"] == {"config": 0, "tcn": 0, "rst": 0}
    assert told["state"] == "forwarding"


# --- topology changes ----------------------------------------------------------------------------


def test_a_topology_change_flushes_all_other_ports_but_edges(
    make: Callable[[str], Bridge], controller: Controller
) -> None:
    bridge = make("change")
    bridge.switch.step()
    with Neighbour(bridge, {1: SUPERIOR}) as neighbour:
        for port in (1, 2, 3, 4):
            wait_state(controller, bridge, port, "forwarding", 30)
        assert status(controller, bridge, 1)["role"] == "root"
        settled(controller, bridge)
        hosts = {port: learn(controller, bridge, 0x70 + port, port) for port in (1, 2, 3, 4)}

        neighbour.says(1, rst(DESIGNATED | LEARNING | FORWARDING | TC, root=0))
        for port in (2, 3):
            wait_forgotten(controller, bridge, hosts[port])
        assert_known(controller, bridge, {port: hosts[port] for port in (1, 4)})
        neighbour.says(1, SUPERIOR)
        settled(controller, bridge)

        # The same from below: a bridge whose root port faces our port 2.
        hosts = {port: learn(controller, bridge, 0x80 + port, port) for port in (1, 2, 3, 4)}
        bridge.inject(2, rst(ROOT | FORWARDING | LEARNING | TC, root=0, cost=200_000, number=9))
        for port in (1, 3):
            wait_forgotten(controller, bridge, hosts[port])
        assert_known(controller, bridge, {port: hosts[port] for port in (2, 4)})
        # ... and it is told on.
        wait_for(lambda: any(tells_change(f) for f in bridge.sent(1)), "port 1 to tell of it")


def settled(controller: Controller, bridge: Bridge) -> None:
    path = f"/v1/bridges/{bridge.dpid16}/stp"
    wait_for(
        lambda: not controller.get(path)["topology_change"]["active"],
        "the topology change to be over",
    )


def assert_known(controller: Controller, bridge: Bridge, hosts: dict[int, str]) -> None:
    for port, host in hosts.items():
        assert controller.where(bridge, host) == port
        assert halves(bridge, host) == (1, 1)


def tells_change(frame: bytes) -> bool:
    return frame[:6] == frames.mac(frames.BPDU_GROUP) and frame[20] == 2 and bool(frame[21] & TC)


# --- guards --------------------------------------------------------------------------------------


def test_bpdu_guard_shuts_the_port_for_a_time(
    make: Callable[[str], Bridge], controller: Controller
) -> None:
    bridge = make("bpdu-guard")
    for port in (1, 2):
        wait_state(controller, bridge, port, "forwarding")
    assert crosses(bridge, 1, 2) == (True, True)
    bridge.inject(1, INFERIOR)
    wait_state(controller, bridge, 1, "discarding")
    shut = time.monotonic()
    told = status(controller, bridge, 1)
    assert told["guards"] == ["bpdu-guard"]
    assert told["guard_counts"]["bpdu-guard"] == 1
    assert guard_events(controller, bridge, "bpdu-guard") == [True]
    assert crosses(bridge, 1, 2) == (False, False)
    wait_state(controller, bridge, 1, "forwarding")
    assert 1 < time.monotonic() - shut < 8
    assert status(controller, bridge, 1)["guards"] == []
    assert guard_events(controller, bridge, "bpdu-guard") == [True, False]
    assert crosses(bridge, 1, 2) == (True, True)


def test_bpdu_guard_that_waits_for_a_person(
    make: Callable[[str], Bridge], controller: Controller
) -> None:
    bridge = make("bpdu-guard-by-hand")
    wait_state(controller, bridge, 1, "forwarding")
    bridge.inject(1, INFERIOR)
    wait_state(controller, bridge, 1, "discarding")
    # Neither time nor a cable pulled and put back frees it.
    bridge.link(1, up=False)
    wait_for(lambda: not status(controller, bridge, 1)["up"], "the link to be down")
    bridge.link(1, up=True)
    wait_for(lambda: status(controller, bridge, 1)["up"], "the link to be up")
    assert status(controller, bridge, 1)["guards"] == ["bpdu-guard"]
    path = f"/v1/bridges/{bridge.dpid16}/stp/ports/{bridge.port_name(1)}/recover"
    reply = controller.api("POST", path)
    assert reply.status == 200, reply
    assert reply.body["guards"] == []
    wait_state(controller, bridge, 1, "forwarding")


def test_root_guard_blocks_as_long_as_a_better_root_is_told(
    make: Callable[[str], Bridge], controller: Controller
) -> None:
    bridge = make("root-guard")
    wait_state(controller, bridge, 1, "forwarding")
    with Neighbour(bridge, {1: SUPERIOR}):
        wait_state(controller, bridge, 1, "discarding")
        told = controller.get(f"/v1/bridges/{bridge.dpid16}/stp")
        assert told["root_id"] == told["bridge_id"]
        assert told["ports"][0]["guards"] == ["root-guard"]
        assert told["ports"][0]["guard_counts"]["root-guard"] == 1
        assert crosses(bridge, 1, 2) == (False, False)
    wait_state(controller, bridge, 1, "forwarding", 25)
    assert guard_events(controller, bridge, "root-guard") == [True, False]


def test_loop_guard_holds_a_spare_port_that_hears_no_bpdus_any_more(
    make: Callable[[str], Bridge], controller: Controller
) -> None:
    bridge = make("loop-guard")
    spare = rst(DESIGNATED | LEARNING | FORWARDING, root=0, cost=10, number=2)
    with Neighbour(bridge, {1: SUPERIOR, 2: spare}) as neighbour:
        wait_state(controller, bridge, 1, "forwarding")
        wait_for(lambda: status(controller, bridge, 2)["role"] == "alternate", "a spare port")
        neighbour.silence(2)
        wait_for(
            lambda: status(controller, bridge, 2)["guards"] == ["loop-guard"],
            "loop guard to strike",
        )
        # It would be forwarding after two forward delays.
        end = time.monotonic() + 2 * FORWARD_DELAY + 1.5
        while time.monotonic() < end:
            assert in_datapath(bridge, 2) == "discarding"
            time.sleep(0.1)
        assert crosses(bridge, 2, 3) == (False, False)
        neighbour.says(2, spare)
        wait_for(
            lambda: status(controller, bridge, 2)["guards"] == [], "loop guard to let go", seconds=5
        )
        assert status(controller, bridge, 2)["role"] == "alternate"
        assert guard_events(controller, bridge, "loop-guard") == [True, False]


def test_a_port_that_hears_itself_blocks(
    make: Callable[[str], Bridge], controller: Controller
) -> None:
    bridge = make("own")
    wait_state(controller, bridge, 1, "forwarding")
    bridge.forget_sent()
    own = wait_for(
        lambda: [f for f in bridge.sent(1) if f.startswith(frames.mac(frames.BPDU_GROUP))],
        "a BPDU to leave",
    )[-1]
    bridge.inject(1, own)
    wait_state(controller, bridge, 1, "discarding")
    assert status(controller, bridge, 1)["guards"] == ["self-loop"]
    assert crosses(bridge, 1, 2) == (False, False)
    wait_state(controller, bridge, 1, "forwarding", 25)
    assert guard_events(controller, bridge, "self-loop") == [True, False]


# --- bad BPDUs, and too many ---------------------------------------------------------------------


def malformed() -> dict[str, bytes]:
    """What no bridge would say."""
    good = SUPERIOR
    head, body = good[:17], good[17:]
    return {
        "cut short": frames.llc(frames.BPDU_GROUP, frames.host(9), body[:20]),
        "length says more than there is": head[:12] + b"\x05\x00" + head[14:] + body,
        "length says nothing": head[:12] + b"\x00\x00" + head[14:] + body,
        "another protocol": head + b"\x00\x07" + body[2:],
        "an unknown type": head + body[:3] + b"\x55" + body[4:],
        "no LLC header of a BPDU": good[:14] + b"\xaa\xaa\x03" + body,
        "older than it may be": config(age=6),
        "only noise": frames.ethernet(frames.BPDU_GROUP, frames.host(9), bytes(range(200))),
    }


def test_bad_bpdus_are_counted_and_change_nothing(
    make: Callable[[str], Bridge], controller: Controller
) -> None:
    bridge = make("malformed")
    for port in (1, 2):
        wait_state(controller, bridge, port, "forwarding")
    before = status(controller, bridge, 1)
    for count, (what, frame) in enumerate(malformed().items(), 1):
        assert bridge.send(1, frame) == set(), what
        wait_for(
            lambda count=count: sum(status(controller, bridge, 1)["drops"].values()) == count,
            f"the BPDU to be counted: {what}",
            seconds=5,
        )
    after = status(controller, bridge, 1)
    for field in ("role", "state", "received", "designated", "edge", "guards"):
        assert after[field] == before[field]
    assert crosses(bridge, 1, 2) == (True, True)
    # Each reason is told once, not each frame.
    told = [
        event["data"]["reason"]
        for event in controller.events("stp.bpdu.dropped")
        if event["datapath_id"] == bridge.dpid16
    ]
    assert sorted(told) == sorted(after["drops"])


def test_a_flood_of_bpdus_on_a_port_does_not_crowd_out_another_ports(
    make: Callable[[str], Bridge], controller: Controller
) -> None:
    """The switch's clock stands still, so its meter lets no more than its burst pass."""
    bridge = make("flood")
    wait_for(lambda: status(controller, bridge, 2)["sent"]["rst"] > 0, "spanning tree to run")
    begun = status(controller, bridge, 2)["received"]["rst"]
    name, burst = bridge.port_name(1), [INFERIOR.hex()] * 100
    for _ in range(30):
        bridge.switch.appctl("netdev-dummy/receive", name, *burst)
    bridge.switch.appctl("netdev-dummy/receive", bridge.port_name(2), INFERIOR.hex())
    at = time.monotonic()
    wait_for(
        lambda: status(controller, bridge, 2)["received"]["rst"] == begun + 1,
        "the other port's BPDU",
        seconds=3,
    )
    print(f"heard after {time.monotonic() - at:.3f} s")
    heard = status(controller, bridge, 1)["received"]["rst"]
    assert 0 < heard < 1000, "the meter did not hold them back"
