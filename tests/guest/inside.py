"""What runs inside the machine with the kernel datapath: python -m tests.guest.inside FILE ROUNDS.

Makes three bridges with two hosts each: one of ofapp, one of Open vSwitch that does NORMAL, one of
Linux.  Writes to FILE, as JSON, what it saw and how fast they were.  Whether that is good is for
the tests outside to say.
"""

from __future__ import annotations

import json
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.support.controller import Controller
from tests.support.lab import Host, Lab, sh
from tests.support.traffic import running, small_frames, tcp_mbps
from tests.support.waiting import wait_for

RATE = 8
"""Mbit/s of ports that are limited."""
HANDLERS_FROM = 11.0
"""Seconds of uptime below which Open vSwitch 3.1 starts without upcall handlers, for good."""


@dataclass
class Pair:
    """Two hosts on one bridge."""

    one: Host
    other: Host

    def tcp(self) -> float:
        """Mbit/s from one to the other."""
        return tcp_mbps(self.one, self.other)

    def small_frames(self) -> float:
        """Frames of 60 bytes a second that arrive at the other while one sends all it can."""
        return small_frames(self.one, self.other)


def of_linux(lab: Lab) -> Pair:
    """Two hosts on a Linux bridge."""
    bridge = f"{lab.tag}lb"
    sh("ip", "link", "add", bridge, "up", "type", "bridge", "mcast_snooping", 0)
    pair = Pair(lab.host(), lab.host())
    for host in (pair.one, pair.other):
        sh("ip", "link", "set", host.plug, "master", bridge)
    return pair


def of_normal(lab: Lab) -> Pair:
    """Two hosts on an Open vSwitch that learns by itself."""
    switch = lab.switch()
    sh("ovs-ofctl", "-O", "OpenFlow13", "add-flow", switch.name, "actions=NORMAL")
    return Pair(lab.host(switch), lab.host(switch))


def of_ofapp(lab: Lab, controller: Controller, facts: dict[str, object]) -> Pair:
    """Two hosts on ofapp's bridge, and what can be seen of it when they have talked."""
    switch = lab.switch()
    pair = Pair(lab.host(switch), lab.host(switch))
    controller.connect(switch)
    local = "10.211.0.200"
    Path(f"/proc/sys/net/ipv4/conf/{switch.name}/arp_ignore").write_text("0")  # it is a host here
    sh("ip", "addr", "add", f"{local}/24", "dev", switch.name)
    sh("ip", "link", "set", switch.name, "up")
    wait_for(lambda: pair.one.reaches(pair.other.ip), "the hosts to reach each other", seconds=30)
    facts["pings"] = [pair.one.reaches(pair.other.ip6), pair.other.reaches(local)]
    wait_for(lambda: controller.where(switch, pair.other.mac), "the hosts to be known", seconds=30)
    facts["where"] = [controller.where(switch, host.mac) for host in (pair.one, pair.other)]
    facts["ports"] = [switch.ports[host.plug] for host in (pair.one, pair.other)]
    facts["dpctl_show"] = sh("ovs-dpctl", "show")
    with running(pair.one, "ping", "-n", "-i", "0.1", pair.other.ip):
        facts["datapath_ports"] = _datapath_ports(pair)
        facts["dpctl_flow"] = wait_for(
            lambda: _busy_flow(pair), "a flow of the datapath in use", seconds=30
        )
    return pair


def _datapath_ports(pair: Pair) -> list[int]:
    lines = [line.split() for line in sh("ovs-dpctl", "show").splitlines()]
    numbers = {words[2]: int(words[1].rstrip(":")) for words in lines if words[0] == "port"}
    return [numbers[host.plug] for host in (pair.one, pair.other)]


def _busy_flow(pair: Pair) -> str | None:
    """The kernel's own entry for IPv4 from one to the other, once it has carried packets."""
    match = f"eth(src={pair.one.mac},dst={pair.other.mac}),eth_type(0x0800)"
    for line in sh("ovs-dpctl", "dump-flows").splitlines():
        if match in line and "packets:0," not in line:
            return line
    return None


def measure(pairs: dict[str, Pair], controller: Controller, rounds: int) -> dict[str, object]:
    """Runs by turns, so that a slow moment of the machine hits all alike: name -> runs."""
    kinds: dict[str, Callable[[Pair], float]] = {
        "tcp_mbps": Pair.tcp,
        "small_fps": Pair.small_frames,
    }
    before = _packet_ins(controller)
    runs = {kind: {name: [] for name in pairs} for kind in kinds}  # type: dict[str, dict[str, list[float]]]
    for turn in range(rounds):
        for kind, run in kinds.items():
            order = list(pairs)
            for name in order[turn % 3 :] + order[: turn % 3]:
                runs[kind][name].append(run(pairs[name]))
    return {"packet_ins": _packet_ins(controller) - before, **runs}


def limited(pair: Pair, controller: Controller) -> dict[str, float]:
    """Mbit/s to a port with a rate for what leaves, and from a port with a rate for what enters."""
    (bridge,) = controller.get("/v1/bridges")["bridges"]
    found = {}
    for host, option in ((pair.other, "rate_out"), (pair.one, "rate_in")):
        path = f"/v1/bridges/{bridge['datapath_id']}/ports/{host.plug}"
        assert controller.api("PATCH", path, {option: RATE * 1000}).status == 200
        found[option] = pair.tcp()
        assert controller.api("PATCH", path, {option: None}).status == 200
    return found


def _packet_ins(controller: Controller) -> int:
    (bridge,) = controller.get("/v1/bridges")["bridges"]
    counters = controller.get(f"/v1/bridges/{bridge['datapath_id']}")["counters"]
    return sum(value for name, value in counters.items() if "packet_in" in name)


def start_openvswitch() -> None:
    """Start it when it can have upcall handlers."""
    wait_for(lambda: time.monotonic() > HANDLERS_FROM, "upcall handlers", seconds=HANDLERS_FROM)
    sh("/usr/share/openvswitch/scripts/ovs-ctl", "start", "--system-id=random")


def main() -> None:
    facts: dict[str, object] = {}
    controller = Controller()
    try:
        for module in ("openvswitch", "bridge", "veth"):
            sh("modprobe", module)
        sh("ip", "link", "set", "lo", "up")
        controller.start()
        facts["controller_up"] = time.monotonic()
        start_openvswitch()
        lab = Lab(datapath="system")
        pairs = {
            "ofapp": of_ofapp(lab, controller, facts),
            "normal": of_normal(lab),
            "linux": of_linux(lab),
        }
        facts["ready"] = time.monotonic()
        for pair in pairs.values():
            wait_for(lambda pair=pair: pair.one.reaches(pair.other.ip), "the hosts to meet")
        facts["speed"] = measure(pairs, controller, int(sys.argv[2]))
        facts["limited"] = limited(pairs["ofapp"], controller)
    except BaseException:
        facts["error"] = f"{traceback.format_exc()}\n{controller.log_tail()}"
    facts["end"] = time.monotonic()
    Path(sys.argv[1]).write_text(json.dumps(facts))


if __name__ == "__main__":
    main()
