"""Spanning tree at the edge of a fabric: Open vSwitch's own RSTP beyond two of its members.

The fabric is one bridge to it, so one of the two cables is blocked.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support import frames
from tests.support.waiting import wait_for
from tests.vswitchd.ring import SPEED, Neighbour, Ring

CABLES = {1: 5, 2: 5}
"""The port of each member that leads to the other switch."""
LOW, HIGH = 4096, 61440
"""Priorities of the other switch: it is the root, or never."""


class Beyond(Neighbour):
    """A switch with RSTP, cabled to a port each of s1 and s2, and a host."""

    def __init__(self, ring: Ring, name: str = "nb") -> None:
        super().__init__(ring, name, CABLES)
        for member, number in CABLES.items():
            bridge = ring.members[member - 1]
            bridge.add_port(number, f"out{member}")
            socket = f"options:pstream=punix:{self._switch.dir}/out{member}.sock"
            self._switch.vsctl("set", "Interface", f"out{member}", socket)

    def start(self, priority: int) -> None:
        """Begin."""
        self._switch.vsctl(
            *("add-br", self.name, "--", "set", "Bridge", self.name, "datapath_type=dummy"),
            *("fail_mode=standalone", "other_config:hwaddr=aa:55:aa:55:00:99"),
            *("rstp_enable=true", f"other_config:rstp-priority={priority}"),
        )
        for member in CABLES:
            path = f"options:stream=unix:{self._switch.dir}/out{member}.sock"
            self._switch.vsctl(
                *("add-port", self.name, f"n{member}"),
                *("--", "set", "Interface", f"n{member}", "type=dummy", path),
            )
        self._switch.vsctl(
            *("add-port", self.name, "there", "--", "set", "Interface", "there", "type=dummy"),
            f"options:tx_pcap={self._there}",
        )

    def stop_stp(self) -> None:
        """Send no BPDUs any more."""
        self._switch.vsctl("set", "Bridge", self.name, "rstp_enable=false")

    def states(self) -> dict[int, str]:
        """The states of its ports, by the member where the cable ends."""
        shown = self._switch.appctl("rstp/show", self.name)
        found = re.findall(r"^\s*n(\d)\s+\S+\s+(\S+)", shown, re.MULTILINE)
        return {int(member): state.lower() for member, state in found}


@pytest.fixture
def beyond(ring: Ring) -> Iterator[Beyond]:
    made = Beyond(ring)
    yield made
    ring.switch.vsctl("--if-exists", "del-br", made.name)


def states_by_name(ring: Ring) -> dict[str, str]:
    """The states of the fabric's ports."""
    tree = ring.controller.get(f"/v1/bridges/{ring.dpid}/stp")
    return {port["name"]: port["state"] for port in tree["ports"]}


def states(ring: Ring) -> dict[int, str]:
    """The states of the fabric's ends of the cables."""
    named = states_by_name(ring)
    return {member: named.get(f"s{member}/out{member}", "none") for member in CABLES}


def usable(ring: Ring, beyond: Beyond) -> set[int]:
    """The cables whose ends both forward."""
    ours, theirs = states(ring), beyond.states()
    return {m for m in CABLES if ours[m] == theirs.get(m) == "forwarding"}


def crossings(ring: Ring, beyond: Beyond, number: int) -> tuple[int, int]:
    """How often a broadcast arrives: of a host at s3 beyond, and of one beyond at s3; at most 1."""
    there = frames.arp_request(frames.host(number))
    beyond.heard()
    sent = ring.send(3, 1, there)
    assert {*sent.values()} <= {1}, sent
    to = beyond.heard().count(there)
    back = frames.arp_request(frames.host(number + 1))
    for bridge in ring.members:
        bridge.forget_sent()
    beyond.say(back)
    ring.settle()
    counts = {
        (at, edge): bridge.sent(edge).count(back)
        for at, bridge in enumerate(ring.members, 1)
        for edge in (1, 2)
    }
    assert {*counts.values()} <= {0, 1}, counts
    came = counts[3, 1]
    assert to <= 1
    assert came <= 1
    return to, came


@pytest.mark.parametrize("priority", [LOW, HIGH], ids=["root", "no-root"])
def test_one_cable_is_blocked_and_takes_over(
    ring: Ring, beyond: Beyond, priority: int, record_property: Any
) -> None:
    ring.configure(defaults={"stp": {"enabled": True}})
    beyond.start(priority)
    tick = ring.switch.in_pace()
    crossed = lambda: crossings(ring, beyond, 70) == (1, 1)  # noqa: E731

    def one() -> bool:
        crossings(ring, beyond, 70)
        return len(usable(ring, beyond)) == 1

    wait_for(one, "one cable to forward", tick=tick, seconds=60)
    wait_for(crossed, "frames to cross", tick=tick)
    (active,) = usable(ring, beyond)
    other = 3 - active
    assert "discarding" in {states(ring)[other], beyond.states()[other]}

    beyond.fail(active)
    begin = time.monotonic()
    wait_for(crossed, "the other cable", tick=tick)
    healed = time.monotonic() - begin
    assert usable(ring, beyond) == {other}

    beyond.fail(active, up=True)
    wait_for(lambda: one() and active in usable(ring, beyond), "it", tick=tick, seconds=60)
    wait_for(crossed, "frames to cross", tick=tick)

    ring.fail(1, 3)  # the link between s1 and s2, at the same time as the cable
    beyond.fail(active)
    begin = time.monotonic()
    wait_for(crossed, "both to be replaced", tick=tick)
    both = time.monotonic() - begin
    ring.fail(1, 3, up=True)
    beyond.fail(active, up=True)

    def whole() -> bool:
        crossings(ring, beyond, 70)
        carrying = [link for link in ring.status["links"] if link["state"] == "carries"]
        return len(carrying) == 3 and usable(ring, beyond) == {active}

    wait_for(whole, "all to be as before", tick=tick, seconds=60)
    wait_for(crossed, "frames to cross", tick=tick)
    record_property("healed", healed)
    print(f"healed after {healed * 1000:.0f} ms; with a link of the fabric {both * 1000:.0f} ms")


def configure(ring: Ring, ports: dict[int, dict[str, Any]]) -> None:
    """Set options of spanning tree at the fabric's ends of the cables."""
    named = {f"s{member}/out{member}": {"stp": options} for member, options in ports.items()}
    ring.configure(defaults={"stp": {"enabled": True}}, bridges={"pod": {"ports": named}})


def wait_usable(ring: Ring, beyond: Beyond, cables: set[int]) -> None:
    """Wait until these cables forward, and no other."""
    tick = ring.switch.in_pace()
    what = f"cables {cables} to forward"
    wait_for(lambda: usable(ring, beyond) == cables, what, tick=tick, seconds=60)


@pytest.mark.parametrize(
    ("option", "better", "worse", "priority"),
    [("path_cost", 200, 20_000, LOW), ("priority", 16, 240, HIGH)],
)
def test_options_of_ports_at_two_members_decide_which_cable_forwards(
    ring: Ring, beyond: Beyond, option: str, better: int, worse: int, priority: int
) -> None:
    """The cost decides at a bridge below the root, the priority at the root."""
    configure(ring, {1: {option: worse}, 2: {option: better}})
    beyond.start(priority)
    wait_usable(ring, beyond, {2})
    configure(ring, {1: {option: better}, 2: {option: worse}})
    wait_usable(ring, beyond, {1})


def test_a_port_with_restricted_role_is_never_root_port(ring: Ring, beyond: Beyond) -> None:
    configure(ring, {1: {"restricted_role": True}, 2: {"path_cost": 100_000}})
    beyond.start(LOW)
    wait_usable(ring, beyond, {2})
    configure(ring, {1: {"restricted_role": True}, 2: {"restricted_role": True}})
    wait_usable(ring, beyond, set())


def test_a_port_with_loop_guard_stays_closed_when_bpdus_cease(ring: Ring, beyond: Beyond) -> None:
    """The other switch no longer takes part; its cables keep their carrier."""
    configure(ring, {member: {"loop_guard": True} for member in CABLES})
    beyond.start(LOW)
    tick = ring.switch.in_pace()
    wait_for(lambda: len(usable(ring, beyond)) == 1, "one cable to forward", tick=tick, seconds=60)
    beyond.stop_stp()
    closed = dict.fromkeys(CABLES, "discarding")
    wait_for(lambda: states(ring) == closed, "both to close", tick=tick, seconds=60)


def test_ports_that_detect_no_hosts_wait_for_the_forward_delay(ring: Ring) -> None:
    """Without auto_edge and a point-to-point link nothing says sooner that no loop is there."""
    slow = {"auto_edge": False, "point_to_point": "force-false"}
    named = {ring.name(member, 1): {"stp": slow} for member in (1, 3)}
    stp = {"enabled": True, "forward_delay": 4, "max_age": 6}
    ring.configure(defaults={"stp": stp}, bridges={"pod": {"ports": named}})
    tick = ring.switch.in_pace()
    for member in (1, 3):
        ring.members[member - 1].link(1, up=False)
    wait_for(lambda: open_ports(ring) == set(), "no carrier", tick=tick)
    begin = time.monotonic()
    for member in (1, 3):
        ring.members[member - 1].link(1, up=True)
    wait_for(lambda: open_ports(ring) == {1, 3}, "both", tick=tick, seconds=30)
    assert (time.monotonic() - begin) * SPEED > 7


def open_ports(ring: Ring) -> set[int]:
    """Those of s1 and s3 whose first edge port forwards."""
    named = states_by_name(ring)
    return {member for member in (1, 3) if named.get(ring.name(member, 1)) == "forwarding"}
