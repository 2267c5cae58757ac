"""Who asks: this bridge, the Linux bridge, a router of either kind; and a ring of two switches."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable, Iterator

import pytest
import yaml

from tests.support.controller import Controller
from tests.support.lab import Host, Lab, Switch, sh
from tests.support.multicast_entries import counters, family_status, wait_forwarding
from tests.support.queriers import kernel_querier, set_querier
from tests.support.streams import Member, Streams, sysctl
from tests.support.waiting import wait_for

GROUPS = {4: "239.5.5.5", 6: "ff1e::5:5"}
QUICK = {
    "mcast_last_member_interval": 0.2,
    "mcast_query_interval": 2,
    "mcast_query_response_interval": 0.5,
    "mcast_startup_query_interval": 1,
    "mcast_querier_interval": 4,
}
LOW = {4: "10.210.0.1", 6: "fe80::1"}
HIGH = {4: "10.211.0.250", 6: "fe80::ff:ff:ff:1"}
V3, V2, LOWER, HIGHER, RING_A, RING_B, PIMD, PROXY = range(0x4D10, 0x4D18)


def _asks(address: dict[int, str], **more: object) -> dict[str, object]:
    names = {f"mcast_querier_address{family}": text for family, text in address.items()}
    return {"multicast": {"mcast_querier": True, **names, **more}}


_STP = {"stp": {"enabled": True, "hello_time": 1, "max_age": 6, "forward_delay": 4}}
CONFIG = {
    "defaults": {"multicast": QUICK},
    "bridges": {
        f"{V3:016x}": _asks(HIGH),
        f"{V2:016x}": _asks(HIGH, mcast_igmp_version=2, mcast_mld_version=1),
        f"{LOWER:016x}": _asks(LOW),
        f"{HIGHER:016x}": _asks(HIGH),
        **{
            f"{dpid:016x}": {**_STP, "multicast": {"mcast_querier_interval": 60}}
            for dpid in (RING_A, RING_B)
        },
        # Neither says in its first query how often it asks.
        **{
            f"{dpid:016x}": {"multicast": {"mcast_querier_interval": 255}} for dpid in (PIMD, PROXY)
        },
    },
}


@pytest.fixture(scope="module")
def controller(controller_factory: Callable[[str], Controller]) -> Controller:
    """With a kind of bridge for each test."""
    return controller_factory(yaml.safe_dump(CONFIG))


# --- this bridge asks --------------------------------------------------------------------------


@pytest.mark.parametrize("dpid", [V3, V2], ids=["v3-mldv2", "v2-mldv1"])
def test_hosts_answer_this_bridge(lab: Lab, controller: Controller, dpid: int) -> None:
    switch = lab.switch(dpid)
    sender, old, new, *_ = [lab.host(switch) for _ in range(4)]
    sysctl(old, "ipv4/conf/{}/force_igmp_version", 2)
    sysctl(old, "ipv6/conf/{}/force_mld_version", 1)
    before = [Member(host, GROUPS[family]) for host in (old, new) for family in (4, 6)]
    controller.connect(switch)  # who joined before is asked now, and told of nothing else
    with Streams(lab.hosts) as streams:
        for family in (4, 6):
            wait_forwarding(controller, switch, "restrict", family)
            stream = streams.start(sender, GROUPS[family])
            streams.wait(stream, {old, new})
        for member in before[:2]:
            member.leave()
        for family in (4, 6):
            streams.wait((sender, GROUPS[family]), {new})
    for member in before[2:]:
        member.leave()


@pytest.mark.parametrize("wins", [True, False], ids=["ours", "linux"])
def test_the_lowest_address_asks(lab: Lab, controller: Controller, wins: bool) -> None:
    switch = lab.switch(LOWER if wins else HIGHER)
    sender, member, router = [lab.host(switch) for _ in range(3)]
    kernel_querier(router)
    controller.connect(switch)
    theirs = {4: router.ip, 6: "fe80::a:ff:fe00:3"}
    with Streams(lab.hosts) as streams, Member(member, GROUPS[4]), Member(member, GROUPS[6]):
        for family in (4, 6):
            ours = LOW[family]
            wait_for(
                lambda family=family, ours=ours: (
                    family_status(controller, switch, family)["querier"]["address"]
                    == (ours if wins else theirs[family])
                ),
                "the lowest to be elected",
            )
            if wins:
                wait_silent(controller, switch, switch.towards(router), family)
            # Who asks may be a router, and gets everything; who was heard last 4 s ago is none.
            hosts = {member} if wins else {member, router}
            streams.wait(streams.start(sender, GROUPS[family]), hosts, seconds=8)
        if not wins:
            set_querier(router, "mcast_querier", 0)
            for family in (4, 6):
                wait_for(
                    lambda family=family: (
                        family_status(controller, switch, family)["querier"]["address"]
                        == HIGH[family]
                    ),
                    "this bridge to take over",
                )
                streams.wait((sender, GROUPS[family]), {member}, seconds=8)


def wait_silent(controller: Controller, switch: Switch, port: int, family: int) -> None:
    """Wait until the querier at a port, which asks every second, has not asked for two."""
    kind = {4: "rx_igmp_v3_query", 6: "rx_mld_v2_query"}[family]
    seen, since = -1, time.monotonic()

    def silent() -> bool:
        nonlocal seen, since
        heard = counters(controller, switch, port).get(kind, 0)
        if heard != seen:
            seen, since = heard, time.monotonic()
        return time.monotonic() - since > 2.2

    wait_for(silent, "the other querier to give way")


# --- routers -----------------------------------------------------------------------------------

PIMD_CONF = """
igmp-query-interval 2
phyint eth0 enable igmpv3
phyint up0 enable
"""
IGMPPROXY = """
quickleave
phyint up0 upstream ratelimit 0 threshold 1
  altnet 10.0.0.0/8
phyint eth0 downstream ratelimit 0 threshold 1
"""


@pytest.fixture
def daemon() -> Iterator[Callable[..., None]]:
    """Runs a program in a host, with a separate /run; ends it."""
    running: list[subprocess.Popen[bytes]] = []

    def run(host: Host, *command: str) -> None:
        shell = f"mount -t tmpfs none /run && exec {' '.join(command)}"
        running.append(
            subprocess.Popen(
                ["ip", "netns", "exec", host.namespace, "unshare", "-m", "sh", "-c", shell],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )

    yield run
    for process in running:
        process.terminate()
        process.wait(5)


@pytest.mark.thorough
def test_routers_are_heard_and_hear(
    lab: Lab,
    controller: Controller,
    daemon: Callable[..., None],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """pimd on one LAN, igmpproxy between another and a network from which a stream comes.

    pimd's first IGMPv3 query has a wrong checksum, is dropped as by Linux, and its second counts.
    Leaves are not tried: pimd does not ask after one, and igmpproxy gives hosts 20 s.
    """
    for program in ("pimd", "igmpproxy"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    configs = tmp_path_factory.mktemp("routers")
    pim, proxied = lab.switch(PIMD), lab.switch(PROXY)
    sender, member, _, pimd = [lab.host(pim) for _ in range(4)]
    inside, _, proxy = [lab.host(proxied) for _ in range(3)]
    source = lab.host()
    for host, name in ((pimd, "up0"), (proxy, "up0")):  # each has another network
        ends = ("type", "veth", "peer", "name")
        netns = source.namespace if host is proxy else host.namespace
        host.run("ip", "link", "add", name, *ends, "out0", "netns", netns)
        host.run("ip", "link", "set", name, "up")
        host.run("ip", "addr", "add", "10.212.0.1/24", "dev", name)
        host.run("ethtool", "-K", name, "tx", "off")
    source.run("ip", "link", "del", "eth0")
    source.run("ip", "link", "set", "out0", "name", "eth0")
    source.run("ip", "addr", "add", "10.212.0.2/24", "dev", "eth0")
    source.run("ip", "link", "set", "eth0", "up")
    source.run("ethtool", "-K", "eth0", "tx", "off")
    for switch in (pim, proxied):
        controller.connect(switch)
    (configs / "igmpproxy").write_text(IGMPPROXY)
    (configs / "pimd").write_text(PIMD_CONF)
    (configs / "igmpproxy").chmod(0o600)
    daemon(proxy, "igmpproxy", "-n", str(configs / "igmpproxy"))
    daemon(pimd, "pimd", "-f", "-c", str(configs / "pimd"))
    for switch, router in ((pim, pimd), (proxied, proxy)):
        wait_forwarding(controller, switch, "restrict", 4, seconds=25)
        answer = family_status(controller, switch, 4)
        assert answer["querier"]["address"] == router.ip
        (port,) = answer["router_ports"]
        assert port["port"]["number"] == switch.towards(router)
        hellos = [reason for reason in port["reasons"] if reason.startswith("pim")]
        assert bool(hellos) == (router is pimd)
    with Streams(lab.hosts) as streams:
        local = streams.start(sender, GROUPS[4])
        streams.wait(local, {pimd})
        with Member(member, GROUPS[4]):
            streams.wait(local, {member, pimd})
        routed = streams.start(source, "239.6.6.6")
        streams.expect(routed, ())
        with Member(inside, "239.6.6.6"):  # igmpproxy hears of it and lets the stream in
            streams.wait(routed, {inside})


# --- a ring --------------------------------------------------------------------------------------


def test_a_ring_of_two_switches_relearns(lab: Lab, controller: Controller) -> None:
    """Two cables between two switches, of which spanning tree blocks one; then the other is cut."""
    near, far = lab.switch(RING_A), lab.switch(RING_B)
    lab.link(near, far)
    lab.link(near, far)
    first, second = [name for name in near.ports if near.links[near.ports[name]] is far]
    sender, close, router = [lab.host(near) for _ in range(3)]
    away, silent = [lab.host(far) for _ in range(2)]
    for switch in (near, far):
        controller.connect(switch)
    lab.settle()
    kernel_querier(router)
    for switch in (near, far):
        for family in (4, 6):
            wait_forwarding(controller, switch, "restrict", family)

    def towards_the_querier(cable: str) -> bool:
        """Whether the far switch has heard queries by this cable.

        IPv6's: Linux takes the IPv4 query that a switch sends in the querier's stead after a
        topology change (RFC 4541 2.1.1(4), from 0.0.0.0) for a better querier's and falls silent.
        """
        ports = family_status(controller, far, 6)["router_ports"]
        names = [port["port"]["name"] for port in ports if "query" in port["reasons"]]
        return cable[:-1] + "b" in names

    with Streams(lab.hosts) as streams, Member(away, GROUPS[4]), Member(away, GROUPS[6]):
        down = [streams.start(sender, GROUPS[family]) for family in (4, 6)]
        for stream in down:
            streams.wait(stream, {away, router})
        up = streams.start(silent, "239.8.8.8")  # from the far switch to a member at the near one
        with Member(close, "239.8.8.8"):
            streams.wait(up, {close, router})
            active, spare = (first, second) if towards_the_querier(first) else (second, first)
            assert towards_the_querier(active)
            assert not towards_the_querier(spare)
            begun = streams.sent[down[0]]
            sh("ip", "link", "set", active, "down")
            for stream in down:
                streams.wait(stream, {away, router}, seconds=10)
                numbers = range(begun, streams.sent[stream] - 20)
                lost = len(streams.missing(stream, away, numbers))
                print(f"{stream[1]}: {lost} frames lost, 5 ms each")
            streams.wait(up, {close, router}, seconds=10)
            wait_for(lambda: towards_the_querier(spare), "the router to be found again")
