"""A flood of new addresses on one port, beside new hosts on nine others, at full speed."""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.background import Background
from tests.support.lab import ETHERTYPE, Host, Wire
from tests.support.ownswitch import BRIDGE, DPID, ControllerInside, OwnSwitch
from tests.support.stamped import ETH_P_802_2, Receiver, is_hello, stamped_socket
from tests.support.waiting import wait_for

FLOODED, OTHERS = 10, range(1, 10)
FLOOD, EACH = 5000, 100
PAUSE = 0.002
"""Frames a second on the flooded port, each of a new address, and on each of the others."""
HOSTS = 300
"""Hosts on each of the others; they send in turn."""
LIMIT = 8_000
"""What the flood fills in some seconds, and more than the others need."""
HELLO = 2
CONFIG = f"""
defaults: {{stp: {{enabled: true, hello_time: {HELLO}}}}}
bridges: {{"{DPID:016x}": {{fdb_max_learned: {LIMIT}}}}}
"""


@pytest.fixture
def switch() -> Iterator[OwnSwitch]:
    made = OwnSwitch(Path("/usr/sbin/ovs-vswitchd"))
    try:
        made.start()
        yield made
    finally:
        made.close()


@pytest.fixture
def controller(switch: OwnSwitch) -> Iterator[ControllerInside]:
    made = ControllerInside(switch.namespace, CONFIG)
    try:
        made.start()
        yield made
    finally:
        made.close()


@pytest.fixture
def hosts(switch: OwnSwitch, controller: ControllerInside) -> dict[int, Host]:
    """A host at each port of a bridge that forwards."""
    made = {number: switch.host(number, addressed=False) for number in (*OTHERS, FLOODED)}
    for number, host in made.items():
        switch.add_port(host.plug, number)
    switch.vsctl("set-controller", BRIDGE, controller.target)
    switch.vsctl("set", "Controller", BRIDGE, "connection_mode=out-of-band")
    controller.wait_ready(switch.bridge)

    def forwards() -> bool:
        ports = controller.get(f"/v1/bridges/{DPID:016x}/ports")["ports"]
        return sum(port["state"] == "forwarding" for port in ports if not port["local"]) == 10

    wait_for(forwards, "all ports to forward", seconds=40)
    return made


def address(port: int, number: int) -> bytes:
    return b"\x02" + bytes([port]) + struct.pack("!I", number)


def frame(source: bytes, target: bytes = b"\x02\x0a\x00\x00\x00\x02") -> bytes:
    return (target + source + struct.pack("!H", ETHERTYPE)).ljust(60, b"\0")


class Senders(Background):
    """All hosts, in their pace, until stopped."""

    def __init__(self, wires: dict[int, Wire]) -> None:
        self.sent = dict.fromkeys(wires, 0)
        self._wires = wires
        super().__init__(self._send)

    def _send(self) -> None:
        begun = time.monotonic()
        while not self._stop.wait(PAUSE):
            elapsed = time.monotonic() - begun
            for port, wire in self._wires.items():
                due = int(elapsed * (FLOOD if port == FLOODED else EACH))
                for number in range(self.sent[port], due):
                    host = number if port == FLOODED else number % HOSTS
                    wire.socket.send(frame(address(port, host)))
                self.sent[port] = due


def test_hosts_on_nine_ports_are_learned_beside_a_flood_on_the_tenth(
    hosts: dict[int, Host], switch: OwnSwitch, controller: ControllerInside
) -> None:
    wires = {port: host.wire() for port, host in hosts.items()}
    hellos = Receiver(hosts[1].open(lambda: stamped_socket("eth0", ETH_P_802_2)))
    began = time.time()
    with Senders(wires) as senders:

        def learned() -> bool:
            found = by_port(switch, controller)
            full = sum(found.values()) == LIMIT
            return full and all(found[hosts[port].plug] >= HOSTS for port in OTHERS)

        wait_for(learned, "a full table with all hosts of nine ports", seconds=60)
        took, flooded = time.time() - began, senders.sent[FLOODED]
        leaks = leaked(wires, address(1, 1), address(2, 2))
        found = by_port(switch, controller)
    hellos.close()
    times = [at for at, data, _ in hellos.frames if is_hello(data)]
    longest = max(b - a for a, b in pairwise([began, *times]))
    print(f"{took:.1f} s, {flooded} flooded, {len(times)} hellos, {longest:.2f} s apart at most")
    assert all(found[hosts[port].plug] >= HOSTS for port in OTHERS), found
    assert leaks == 0
    assert longest < 2 * HELLO
    for wire in wires.values():
        wire.socket.close()


def by_port(switch: OwnSwitch, controller: ControllerInside) -> dict[str, int]:
    """Number of learned addresses by port."""
    learned: dict[str, int] = controller.bridge(switch.bridge)["fdb"]["learned_by_port"]
    return learned


def leaked(wires: dict[int, Wire], one: bytes, other: bytes) -> int:
    """Of 50 frames between hosts of ports 1 and 2, those that come to the flooded port."""
    wires[FLOODED].received()
    for _ in range(25):
        wires[1].send(frame(one, other))
        wires[2].send(frame(other, one))
    wires[2].wait_for(frame(one, other))
    wires[1].wait_for(frame(other, one))
    return sum(got[:12] in (one + other, other + one) for got in wires[FLOODED].received())
