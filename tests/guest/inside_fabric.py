"""What runs inside the machine with the kernel datapath: python -m tests.guest.inside_fabric FILE.

Makes a fabric of three bridges in a ring, with a host at each and a second one at the first, and
then a Linux bond with LACP whose cables lead to the first two bridges.  Writes to FILE, as JSON,
what it saw.
"""

from __future__ import annotations

import json
import sys
import traceback
from pathlib import Path

import yaml

from tests.guest.inside import start_openvswitch
from tests.guest.inside_lags import passes
from tests.support.bonds import End, Mode
from tests.support.controller import Controller
from tests.support.kernelbonds import KernelSide
from tests.support.lab import Host, Stream, frame, sh
from tests.support.network import Network
from tests.support.traffic import running, small_frames, tcp_mbps
from tests.support.waiting import wait_for

DPIDS = (0xFB01, 0xFB02, 0xFB03)
MTU = 1600
TAG, SECOND = bytes.fromhex("81006064"), bytes.fromhex("81000065")
"""VLAN tags: VLAN 100 with priority 3, and one inside."""
ROUNDS = 3
LAG, BONDED = "server", (1, 2)
"""An aggregation, and the members with ports of it."""


def made(network: Network) -> Controller:
    """A controller of a ring whose cables are in use."""
    members = {
        f"s{at}": {"bridge": f"{dpid:016x}", "links": [f"{network.tag}l*"]}
        for at, dpid in enumerate(DPIDS, 1)
    }
    bond = {"members": [f"s{at}/{plug(network, at)}" for at in BONDED], "rate": "fast"}
    file = {"fabrics": {"ring": {"members": members}}, "bridges": {"ring": {"lags": {LAG: bond}}}}
    controller = Controller(yaml.safe_dump(file))
    controller.start()
    switches = [network.switch(dpid) for dpid in DPIDS]
    for at, switch in enumerate(switches):
        cable = network.cable(switch, switches[(at + 1) % 3])
        for end in cable.ends:
            sh("ip", "link", "set", end, "mtu", MTU)
    for switch in (*switches, switches[0]):
        network.host(switch)
    for switch in switches:
        switch.set_controller(controller.target)
    wait_links(controller, 3)
    return controller


def wait_links(controller: Controller, count: int) -> None:
    """Wait until so many cables carry frames."""

    def whole() -> bool:
        links = controller.get("/v1/fabrics/ring")["links"]
        return sum(link["state"] == "carries" for link in links) == count

    wait_for(whole, f"{count} cables to carry frames", seconds=60)


def passes_with(one: Host, other: Host, tags: bytes) -> bool:
    """Whether a frame with such tags arrives as it was sent, within five attempts."""
    plain = frame(other.mac, one.mac, b"tagged")
    tagged = (plain[:12] + tags + plain[12:]).ljust(64, b"\0")
    with one.wire() as out, other.wire() as into:
        for _ in range(5):
            out.send(tagged)
            one.reaches(other.ip)  # it has arrived by then
            if tagged in into.received():
                return True
    return False


def plug(network: Network, member: int) -> str:
    """The interface of a member that leads to the bond."""
    return f"{network.tag}b{member}"


def bonded(network: Network) -> KernelSide:
    """A host with a bond of Linux, whose cables lead to two members."""
    side = KernelSide(9)
    ends = [End(side.namespace, f"b{at}") for at in BONDED]
    for at, end in zip(BONDED, ends, strict=True):
        name = plug(network, at)
        there = "peer", "name", end.interface, "netns", end.namespace
        sh("ip", "link", "add", name, "up", "type", "veth", *there)
        network.switches[at - 1].add_port(name)
    side.take(ends, Mode("active", "fast"))
    return side


def wait_used(side: KernelSide, other: Host, count: int) -> None:
    """Wait until the bond uses so many cables, and reaches a host."""
    wait_for(lambda: len(side.used()) == count, f"{count} cables in use", seconds=60)
    wait_for(lambda: side.host.reaches(other.ip), "the host to be reached", seconds=20)


def bond_facts(network: Network) -> dict[str, object]:
    """What a Linux bond at two members loses when a cable is pulled, and plugged in again."""
    side, three = bonded(network), network.hosts[2]
    try:
        wait_used(side, three, 2)
        found: dict[str, object] = {}
        for what, state, count in (("pulled", "down", 1), ("plugged in", "up", 2)):
            with Stream(three, side.host, 500) as there, Stream(side.host, three, 500) as back:
                sh("ip", "link", "set", plug(network, 1), state)
                wait_used(side, three, count)
                there.more(300)
                lost, doubled = there.lost() + back.lost(), there.doubled() + back.doubled()
                found[what] = {"lost": lost, "doubled": doubled}
        passes(side.host, three)
        return found
    finally:
        side.close()


def busy_flow(one: Host, other: Host) -> str | None:
    """The kernel's entry for IPv4 from one to the other, once it has carried packets."""
    match = f"eth(src={one.mac},dst={other.mac}),eth_type(0x0800)"
    lines = [line for line in sh("ovs-dpctl", "dump-flows").splitlines() if "recirc_id(0)" in line]
    return next((line for line in lines if match in line and "packets:0," not in line), None)


def main() -> None:
    facts: dict[str, object] = {}
    network: Network | None = None
    controller: Controller | None = None
    try:
        for module in ("openvswitch", "bridge", "veth", "bonding"):  # bridge brings IPv6
            sh("modprobe", module)
        sh("ip", "link", "set", "lo", "up")
        start_openvswitch()
        network = Network("kf", datapath="system")
        controller = made(network)
        one, two, three, near = network.hosts
        for host in (two, three, near):
            wait_for(lambda host=host: one.reaches(host.ip), "the hosts to meet", seconds=20)
        facts["pings"] = [one.reaches(two.ip6), two.reaches(three.ip), three.reaches(near.ip6)]
        facts["tagged"] = [passes_with(one, two, tags) for tags in (TAG, TAG + SECOND)]
        with running(one, "ping", "-n", "-i", "0.1", two.ip):
            facts["flow"] = wait_for(lambda: busy_flow(one, two), "a flow in use", seconds=20)
        speed: dict[str, list[float]] = {}
        for _ in range(ROUNDS):
            for name, measure in (("tcp_mbps", tcp_mbps), ("small_fps", small_frames)):
                for kind, to in (("fabric", two), ("bridge", near)):
                    speed.setdefault(f"{name} {kind}", []).append(measure(one, to))
        facts["speed"] = speed
        with Stream(one, two, 1000) as stream:
            network.cables[0].cut()
            wait_links(controller, 2)
            stream.more(500)
            facts["cut"] = {"lost": stream.lost(), "doubled": stream.doubled()}
        facts["after"] = [one.reaches(two.ip), two.reaches(three.ip)]
        network.cables[0].restore()
        wait_links(controller, 3)
        facts["bond"] = bond_facts(network)
    except BaseException:
        said = "" if controller is None else controller.log_tail()
        facts["error"] = f"{traceback.format_exc()}\n{said}"
    Path(sys.argv[1]).write_text(json.dumps(facts))


if __name__ == "__main__":
    main()
