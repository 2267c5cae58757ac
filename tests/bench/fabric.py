"""Frames that a ring of three switches loses when a link fails, and what two paths carry.

The ring is a fabric of ofapp, Open vSwitch's RSTP and the Linux bridge's STP by turns, each with
the same stream of 1,000 frames a second between hosts at two neighbours.  Every cable passes a
switch that only forwards it: when that one forwards no more, both ends still have their carrier,
which is the silent failure.  One switch without any ring is what the stream loses anyhow.

A busy ovs-vswitchd misses BFD, also on links that were not cut.  A turn in which a fabric had
such a failure tells nothing of the event, and is counted apart.  A link that comes back waits
longer after each failure, up to a minute: most of these turns are those of "back" and "back again".
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml

from ofapp.bench.figures import percentile
from tests.bench.gaps import RATE, gap
from tests.bench.meanwhile import new_hosts
from tests.bench.stp_ring import PRIORITIES, DefaultRstp
from tests.bench.table import head, row
from tests.support.controller import Controller
from tests.support.lab import Host, Stream, Switch, sh, vsctl
from tests.support.network import BridgeLike, Network, port_state
from tests.support.stp_peers import KernelStp
from tests.support.traffic import running
from tests.support.waiting import during, wait_for

DPIDS = (0xFA01, 0xFA02, 0xFA03)
MTU = 1600
SETTLE = 1.0
AGEING = 10
"""Seconds, where hosts are learned all the time: most that are known at a time are 100,000."""
FLOWS, SECONDS = 32, 10
"""TCP flows over two paths, and how long they send."""
NAMES = {
    "fabric": "ofapp, a fabric",
    "rstp": "OVS rstp_enable",
    "linux": "Linux bridge, STP with the shortest timers",
    "one": "one switch of ofapp",
}
EVENTS = ("carrier", "back", "silent", "back again")
Found = dict[str, dict[str, list[dict[str, int]]]]
"""Device -> event -> what each turn has lost."""


class Cable:
    """A cable between two bridges, by way of a switch that forwards between its two ends."""

    def __init__(self, network: Network, one: BridgeLike, other: BridgeLike) -> None:
        self.wire = network.switch()
        self._near, self._far = network.cable(one, self.wire), network.cable(self.wire, other)
        for cable in (self._near, self._far):
            for end in cable.ends:
                sh("ip", "link", "set", end, "mtu", MTU)
        self.ends = (self._near.ends[0], self._far.ends[1])
        self.restore()

    def cut(self) -> None:
        """Both ends lose their carrier at the same time."""
        near, far = self._near.ends[1], self._far.ends[0]
        sh("sh", "-c", f"ip link set {near} down; ip link set {far} down")

    def silence(self) -> None:
        """Nothing arrives any more, and both ends keep their carrier."""
        sh("ovs-ofctl", "-O", "OpenFlow13", "del-flows", self.wire.name)

    def restore(self) -> None:
        """It works again."""
        one, other = self.wire.ports.values()
        for port, to in ((one, other), (other, one)):
            flow = f"in_port={port},actions=output:{to}"
            sh("ovs-ofctl", "-O", "OpenFlow13", "add-flow", self.wire.name, flow)
        near, far = self._near.ends[1], self._far.ends[0]
        sh("sh", "-c", f"ip link set {near} up; ip link set {far} up")


class Ring:
    """Three switches in a ring, and a host at each of the first two, whose cable is used."""

    def __init__(self, kind: str, bfd: int | None = None, learn: int = 0) -> None:
        """bfd: milliseconds between its packets on each link, of a fabric.

        learn: frames a second of addresses that are new, from a third host.
        """
        self.kind = kind
        self._learn = learn
        self._learned = ExitStack()
        self.network = network = Network("fb")
        self.controller: Controller | None = None
        if kind in ("fabric", "one"):
            self.controller = Controller(yaml.safe_dump(self._file()))
            self.controller.start()
            count = 1 if kind == "one" else 3
            self.switches: list[BridgeLike] = [network.switch(dpid) for dpid in DPIDS[:count]]
        else:
            peer = DefaultRstp if kind == "rstp" else KernelStp
            self.switches = [network.peer(peer, priority) for priority in PRIORITIES]
        self.cables: list[Cable] = []
        if kind != "one":
            one, two, three = self.switches
            self.cables = [
                Cable(network, *ends) for ends in ((one, two), (two, three), (three, one))
            ]
        if bfd is not None:
            for end in (end for cable in self.cables for end in cable.ends):
                times = f"bfd:min_tx={bfd}", f"bfd:min_rx={bfd}"
                vsctl("set", "Interface", end, "bfd:enable=true", *times)
        # The root of the spanning trees is the third switch: the direct cable is used all the same.
        self.hosts = [network.host(self.switches[0]), network.host(self.switches[:2][-1])]

    def _file(self) -> dict[str, Any]:
        if self.kind == "one":
            return {"defaults": {"stp": {"enabled": False}}}
        members = {
            f"s{at}": {"bridge": f"{dpid:016x}", "links": [f"{self.network.tag}l*"]}
            for at, dpid in enumerate(DPIDS, 1)
        }
        file: dict[str, Any] = {"fabrics": {"ring": {"members": members}}}
        return file | ({"defaults": {"ageing_time": AGEING}} if self._learn else {})

    def start(self) -> None:
        """Until frames pass, and all cables are in use."""
        if self.controller is not None:
            for switch in self.switches:
                assert isinstance(switch, Switch)
                switch.set_controller(self.controller.target)
        self.wait()
        if self._learn:
            third = self.network.host(self.switches[-1])
            self._learned.enter_context(new_hosts(third, self._learn))

    def wait(self) -> None:
        """Until all cables are in use again, as far as this kind uses them."""
        wait_for(self._whole, f"the {NAMES[self.kind]} to be whole", seconds=120)

    def _whole(self) -> bool:
        if self.kind == "fabric":
            assert self.controller is not None
            links = self.controller.get("/v1/fabrics/ring")["links"]
            return [link["state"] for link in links] == ["carries"] * 3
        if self.kind == "one":
            return self.hosts[0].reaches(self.hosts[1].ip)
        states = [
            port_state(bridge, cable.ends[end])
            for cable, pair in zip(self.cables, ((0, 1), (1, 2), (2, 0)), strict=True)
            for end, bridge in enumerate(self.switches[at] for at in pair)
        ]
        return sorted(states) == ["discarding"] + ["forwarding"] * 5

    def used(self) -> Cable:
        """The cable that a stream takes: whose counters rise."""
        with Stream(*self.hosts, RATE):
            before = [_count(cable.ends[0]) for cable in self.cables]
            for _ in during(10, 0.2):
                rise = [_count(c.ends[0]) - b for c, b in zip(self.cables, before, strict=True)]
                if max(rise) > RATE / 5:
                    return self.cables[rise.index(max(rise))]
        raise RuntimeError("the stream takes no cable")

    def failed(self) -> int:
        """How often links of a fabric have failed so far."""
        if self.kind != "fabric":
            return 0
        assert self.controller is not None
        return sum(link["failures"] for link in self.controller.get("/v1/fabrics/ring")["links"])

    def close(self) -> None:
        self._learned.close()
        self.network.close()
        if self.controller is not None:
            self.controller.close()


def _count(interface: str) -> int:
    of = Path(f"/sys/class/net/{interface}/statistics")
    return sum(int((of / f"{way}_packets").read_text()) for way in ("rx", "tx"))


@contextmanager
def ring(kind: str, bfd: int | None = None, learn: int = 0) -> Iterator[Ring]:
    """A ring that is whole."""
    made = Ring(kind, bfd, learn)
    try:
        made.start()
        yield made
    finally:
        made.close()


def failures(
    made: Ring, turns: int, silent: bool, flooded: bool = False
) -> dict[str, list[dict[str, int]]]:
    """What each event loses of the stream, by turn, and how many failures were others.

    flooded: of broadcasts.
    """
    one, two = made.hosts
    found: dict[str, list[dict[str, int]]] = {}

    def event(name: str, change: Callable[[], Any], fails: int = 0) -> None:
        two.run("ping", "-c1", "-W2", one.ip, check=False)  # its address stays known
        expected = made.failed() + fails * (made.kind == "fabric")
        values = asdict(gap(one, two, change, SETTLE, flooded=flooded))
        for _ in during(2):  # the controller may hear of the failure late
            if made.failed() >= expected:
                break
        values["others"] = abs(made.failed() - expected)  # the link itself may have failed before
        found.setdefault(name, []).append(values)
        print(f"  {made.kind} {name}: {values}", file=sys.stderr, flush=True)

    def restored(cable: Cable) -> Callable[[], Any]:
        return lambda: (cable.restore(), made.wait())

    for _ in range(turns):
        if made.kind == "one":
            event("nothing", lambda: None)
            continue
        cable = made.cables[0] if flooded else made.used()
        event("carrier", cable.cut, 1)
        event("back", restored(cable))
        if silent:
            cable = made.cables[0] if flooded else made.used()
            event("silent", cable.silence, 1)
            event("back again", restored(cable))
    return found


def two_paths(mbit: int) -> dict[str, float]:
    """Mbit/s by one path and by two, each limited to `mbit`.

    The flows are of TCP, whose ports are hashed; UDP between two hosts takes one path.
    """
    found = {}
    for paths in (1, 2):
        with parallel(paths, mbit) as (one, two):
            found[f"{paths}"] = tcp_mbps(one, two)
    return found


@contextmanager
def parallel(paths: int, mbit: int) -> Iterator[tuple[Host, Host]]:
    """Two members with so many cables, each of which carries `mbit` Mbit/s."""
    network = Network("fp")
    members = {
        f"s{at}": {"bridge": f"{dpid:016x}", "links": [f"{network.tag}l*"]}
        for at, dpid in enumerate(DPIDS[:2], 1)
    }
    controller = Controller(yaml.safe_dump({"fabrics": {"pair": {"members": members}}}))
    try:
        controller.start()
        switches = [network.switch(dpid) for dpid in DPIDS[:2]]
        for _ in range(paths):
            cable = network.cable(*switches)
            for end in cable.ends:
                sh("ip", "link", "set", end, "mtu", MTU)
                limit = f"rate {mbit}mbit burst 32kb latency 20ms"
                sh("tc", "qdisc", "add", "dev", end, "root", "tbf", *limit.split())
        hosts = [network.host(switch) for switch in switches]
        for switch in switches:
            switch.set_controller(controller.target)

        def whole() -> bool:
            links = controller.get("/v1/fabrics/pair")["links"]
            return [link["state"] for link in links] == ["carries"] * paths

        wait_for(whole, "all cables to carry frames", seconds=60)
        wait_for(lambda: hosts[0].reaches(hosts[1].ip), "the hosts to reach each other")
        yield hosts[0], hosts[1]
    finally:
        network.close()
        controller.close()


def tcp_mbps(one: Host, two: Host) -> float:
    """Mbit/s of `FLOWS` TCP flows."""
    with running(two, "iperf3", "-s", "-1", "--forceflush") as daemon:
        assert any("listening" in line for line in daemon.stdout or ())
        said = json.loads(one.run("iperf3", "-c", two.ip, "-P", FLOWS, "-t", SECONDS, "-J"))
    return float(said["end"]["sum_received"]["bits_per_second"]) / 1e6


def table(found: Found) -> str:
    """Markdown: frames lost, which at 1,000 frames a second are milliseconds."""
    apart = ("other links failed", "most then")
    lines = [head("Device, event", "turns", "median", "p99", "most", "came twice", *apart)]
    for device, events in found.items():
        for name, turns in events.items():
            lost = [turn["lost"] for turn in turns if not turn["others"]]
            figures = [percentile(lost, share) if lost else "-" for share in (0.5, 0.99, 1)]
            twice = sum(turn["twice"] for turn in turns)
            then = [turn["lost"] for turn in turns if turn["others"]]
            cells = (len(lost), *figures, twice, len(then), max(then, default=0))
            lines.append(row(f"{device}, {name}", *cells))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="tests/bench/run fabric", description=__doc__)
    parser.add_argument("--turns", type=int, default=20, help="of failures of a fabric's links")
    parser.add_argument("--others", type=int, default=3, help="turns of the other devices")
    parser.add_argument("--bfd", type=int, nargs="*", default=[10, 50], help="milliseconds")
    parser.add_argument("--learn", type=int, default=5000, help="new hosts a second, 0: none")
    parser.add_argument("--mbit", type=int, default=40, help="of a path, 0: do not measure that")
    parser.add_argument("--json", type=Path, metavar="FILE", help="every figure")
    given = parser.parse_args()
    found: Found = {}
    for bfd in given.bfd:
        with ring("fabric", bfd) as made:
            name = f"{NAMES['fabric']}, BFD {bfd} ms x 3"
            found[name] = failures(made, given.turns, True)
        with ring("fabric", bfd) as made:
            found[f"{name}, broadcasts"] = failures(made, given.turns, True, flooded=True)
        if given.learn and bfd == max(given.bfd):  # faster ones fail by themselves on a busy switch
            with ring("fabric", bfd, given.learn) as made:
                key = f"{name}, {given.learn} new hosts a second"
                found[key] = failures(made, given.turns, True)
    for kind in ("rstp", "linux", "one"):
        if given.others:
            with ring(kind) as made:
                found[NAMES[kind]] = failures(made, given.others, kind != "one")
    print(table(found))
    if given.mbit:
        paths = two_paths(given.mbit)
        ratio = paths["2"] / paths["1"]
        print(f"\nTwo equal paths carry {ratio:.2f} times one: {paths['1']:.1f}, {paths['2']:.1f}")
        print(f"Mbit/s of {FLOWS} TCP flows.")
    if given.json:
        given.json.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
