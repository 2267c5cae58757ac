"""`ofapp deploy` as an administrator uses it, on a host with addresses, routes and a gateway."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.deploy.runner import Runner
from tests.deploy.site import BEYOND4, HOST4, HOST6, ROUTER4, SECOND4, Site
from tests.support.waiting import wait_for

ABSENT = "10.77.0.250"


@contextlib.contextmanager
def ping_stream(site: Site) -> Iterator[list[str]]:
    """Pings from the router, 50 a second; the list holds what ping told when it ended."""
    output: list[str] = []
    words = ("ip", "netns", "exec", site.router, "ping", "-n", "-q", "-i", "0.02", HOST4)
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        yield output
    finally:
        process.send_signal(signal.SIGINT)
        output.append(process.communicate(timeout=10)[0])


def lost(output: list[str]) -> int:
    """Of the stream's pings."""
    sent, received = (
        int(output[0].split(word)[0].split()[-1]) for word in (" packets", " received")
    )
    return sent - received


@pytest.fixture
def applied(site: Site, runner: Runner) -> Iterator[Site]:
    """The host with a confirmed deployment of eth0; reverted in the end."""
    assert runner.apply().said == ""
    yield site
    if site.bridges():
        assert runner.revert().said == ""


def test_plan_changes_nothing_and_tells_all(site: Site) -> None:
    plan = site.deploy("plan", "--nic", "eth0", "--confirm-within", 30)
    assert f"add {HOST4}/24 to br0" in plan
    assert "move route default via 10.77.0.1 metric 100 to br0" in plan
    assert "add fe80::" not in plan
    steps = json.loads(
        site.deploy("plan", "--nic", "eth0", "--confirm-within", 30, "-j").splitlines()[0]
    )["steps"]
    assert [step["what"] for step in steps if step["kind"] == "PutPort"] == ["plug eth0 into br0"]
    assert not site.journal.exists()


def test_addresses_routes_and_lifetimes_move_and_come_back(site: Site) -> None:
    before = site.layout()
    with ping_stream(site) as output:
        said = site.deploy("apply", "--nic", "eth0", "--confirm-within", 60)
        assert "NOT YET CONFIRMED" in said
        assert site.reachable()
        site.deploy("confirm")
        on_nic = site.run("ip", "addr", "show", "dev", "eth0")
        on_bridge = site.run("ip", "addr", "show", "dev", "br0")
        routes = site.run("ip", "route", "show", "table", "all")
        assert "inet" not in on_nic
        for address in (HOST4, SECOND4, HOST6):
            assert address in on_bridge
        assert "49" in on_bridge.partition(SECOND4)[2].partition("valid_lft ")[2][:2]
        assert "10.88.0.0/16 via 10.77.0.1 dev br0 table 77" in routes
        assert "default via 10.77.0.1 dev br0 proto dhcp metric 100" in routes
        assert site.vsctl("get", "Bridge", "br0", "fail_mode") == "secure"
        nic_mac = site.run("cat", "/sys/class/net/eth0/address")
        assert nic_mac == site.run("cat", "/sys/class/net/br0/address")
        assert nic_mac.strip().replace(":", "") in site.vsctl("get", "Bridge", "br0", "datapath_id")
        again = site.deploy("apply", "--nic", "eth0")
        assert "nothing to do" in again
        site.deploy("revert")
    assert site.reachable()
    assert site.layout() == before
    assert lost(output) < 100, output  # two seconds of fifty: usually none at all
    doubled = output[0].partition(" duplicates")[0].rpartition("+")[2]
    assert (
        "duplicates" not in output[0] or int(doubled) < 50
    )  # in the midst; `reachable` allows none


def test_the_only_uplink_does_not_wait_for_spanning_tree(site: Site) -> None:
    site.stop("controller")
    site.start_controller("bridges: {}")
    with ping_stream(site) as output:
        site.deploy("apply", "--nic", "eth0", "--confirm-within", 60)
        site.deploy("confirm")
        site.deploy("revert")
    assert lost(output) < 100, output  # it was three seconds of fifty, and is usually none at all
    site.stop("controller")
    site.start_controller()


def test_what_nobody_confirms_is_put_back(site: Site) -> None:
    before = site.layout()
    site.deploy("apply", "--nic", "eth0", "--confirm-within", 1)
    wait_for(lambda: site.bridges() == [], "the watcher", seconds=20)
    wait_for(lambda: not list(site.journal.glob("*.json")), "its end", seconds=10)
    assert site.layout() == before
    assert site.reachable()
    assert "nothing waits" in site.deploy("confirm", check=False)


def test_a_ping_confirms_and_its_absence_does_not(site: Site) -> None:
    said = site.deploy(
        "apply", "--nic", "eth0", "--confirm-ping", ABSENT, "--confirm-within", 2, check=False
    )
    assert f"{ABSENT} did not answer" in said
    assert site.bridges() == []
    assert site.reachable()
    said = site.deploy("apply", "--nic", "eth0", "--confirm-ping", BEYOND4)
    assert f"{BEYOND4} answers: confirmed" in said
    assert json.loads(site.deploy("status", "-j"))[0]["state"] == "confirmed"
    site.deploy("revert")


def test_a_gateway_that_does_not_answer_any_more_takes_it_back(site: Site) -> None:
    """A controller that takes the bridge and lets nothing pass."""
    program = "; ".join(
        (
            "import socket, struct",
            "server = socket.create_server(('127.0.0.1', 7777))",
            "one, _ = server.accept()",  # only to be tried
            "two, _ = server.accept()",
            "two.sendall(struct.pack('!BBHI', 4, 0, 8, 1))",  # OFPT_HELLO, and never another word
            "print(*iter(lambda: two.recv(4096), b''))",
        )
    )
    mute = subprocess.Popen(["ip", "netns", "exec", site.host, sys.executable, "-c", program])
    try:
        wait_for(lambda: ":7777" in site.run("ss", "-ltn"), "the mute controller")
        said = site.deploy(
            *("apply", "--nic", "eth0", "--confirm-within", 30, "--settle-within", 2),
            *("--controller", "tcp:127.0.0.1:7777"),
            check=False,
        )
    finally:
        mute.kill()
        mute.wait()
    assert "the gateway" in said
    assert ROUTER4 in said
    assert "everything is as it was before" in said
    assert site.reachable()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--nic", "eth9", "--mtu", "9000"), "there is no NIC eth9"),
        (("--nic", "eth0", "--controller", "tcp:127.0.0.1:1"), "Connection refused"),
        (("--nic", "eth0", "--controller", "tcp:10.77.0.1:6653"), "is reached over eth0 itself"),
        (("--nic", "eth0", "--datapath", "system"), "modprobe openvswitch"),
        (("--bridge", "a-much-too-long-name"), "ofapp: --bridge: 'a-much-too-long-name' is too"),
    ],
)
def test_what_is_against_it_is_said_before_anything_changes(
    site: Site, options: tuple[str, ...], said: str
) -> None:
    before = site.layout()
    assert said in site.deploy("apply", *options, "--confirm-within", 30, check=False)
    assert site.layout() == before
    assert site.bridges() == []
    assert not list(site.journal.glob("*.json"))


def test_the_only_default_route_wants_a_confirmation(site: Site) -> None:
    said = site.deploy("apply", "--nic", "eth0", check=False)
    assert "carries the only IPv4 default route" in said
    assert "--confirm-within" in said


def test_a_bridge_of_somebody_else_is_left_alone(site: Site) -> None:
    site.vsctl("add-br", "br0", "--", "set", "Bridge", "br0", "datapath_type=netdev")
    try:
        before = site.vsctl("list", "Bridge", "br0")
        said = site.deploy("apply", "--nic", "eth0", "--confirm-within", 30, check=False)
        assert "was not made by ofapp deploy" in said
        assert site.vsctl("list", "Bridge", "br0") == before
    finally:
        site.vsctl("del-br", "br0")


def test_ports_of_others_keep_the_bridge(applied: Site) -> None:
    applied.vsctl("add-port", "br0", "vnet0", "--", "set", "Interface", "vnet0", "type=internal")
    assert "vnet0" in applied.deploy("revert")
    assert applied.reachable()
    assert applied.vsctl("list-ports", "br0") == "vnet0"
    applied.vsctl("del-br", "br0")


def test_another_nic_and_ports_are_added_and_taken_out_again(applied: Site) -> None:
    site = applied
    site.plug("eth1", "r1")
    try:
        more = ("--nic", "eth0", "--nic", "eth1", "--port", "tap7:tap", "--port", "int7:internal")
        said = site.deploy("apply", *more, "--confirm-within", 60, check=False)
        assert "runs no spanning tree on br0" in said  # two cables to one router: a loop
        assert site.vsctl("list-ports", "br0") == "eth0"
        site.run("ip", "link", "set", "eth1", "down")
        site.deploy("apply", *more, "--no-stp-guard", "--confirm-within", 1)
        wait_for(
            lambda: json.loads(site.deploy("status", "-j"))[0]["state"] == "confirmed",
            "the earlier deployment to be back",
            seconds=20,
        )
        log = (site.journal / "br0.log").read_text()
        for port in ("eth1", "tap7", "int7"):
            assert f"unplug {port} from br0" in log
        assert site.vsctl("list-ports", "br0") == "eth0"
        assert "tap7" not in site.run("ip", "link")
        wait_for(site.reachable, "the host to be reached by eth0 alone", seconds=10)
    finally:
        site.run("ip", "link", "del", "eth1")


@pytest.mark.parametrize("loss", ["link set br0 down", "tuntap del dev br0 mode tap"])
def test_recover_mends_what_went_with_open_vswitch(applied: Site, loss: str) -> None:
    """LOCAL set down loses its routes and IPv6 addresses, LOCAL created again loses everything."""
    applied.stop("ovs-vswitchd")
    applied.run("ip", *loss.split())
    assert not applied.answers(applied.router, HOST4)
    applied.start_switch()
    assert "as it was confirmed" in applied.deploy("recover")
    # The switch too has just started: what it was sent, or asked, a moment ago it may have lost.
    wait_for(applied.reachable, "every address to answer", seconds=5)


def test_a_restart_of_open_vswitch_alone_loses_nothing(applied: Site) -> None:
    applied.stop("ovs-vswitchd")
    applied.start_switch()
    wait_for(applied.reachable, "the host to be back", seconds=20)


def test_the_doctor_finds_nothing_and_then_what_is_broken(applied: Site) -> None:
    doctor = ("doctor", "--db", applied.database)
    assert applied.ofapp(*doctor) == "nothing is wrong\n"
    applied.vsctl("set", "Bridge", "br0", "rstp_enable=true", "fail_mode=standalone")
    applied.vsctl("add-port", "br0", "nowhere0")
    applied.run("ip", "addr", "add", "10.78.0.1/24", "dev", "eth0")
    applied.run("sysctl", "-qw", "net.ipv4.conf.eth0.arp_ignore=0")
    try:
        findings = json.loads(applied.ofapp(*doctor, "-j", check=False))
        reported = {(one["where"], one["fix"]) for one in findings}
        assert {
            ("br0", "ovs-vsctl set bridge br0 rstp_enable=false"),
            ("br0", "ovs-vsctl set-fail-mode br0 secure"),
            ("nowhere0", "ovs-vsctl del-port br0 nowhere0 (or fix what it says)"),
            ("eth0", "ofapp deploy apply moves it"),
            ("eth0", "sysctl -w net.ipv4.conf.eth0.arp_ignore=8"),
        } == reported
    finally:
        applied.run("ip", "addr", "del", "10.78.0.1/24", "dev", "eth0")
        applied.vsctl("del-port", "br0", "nowhere0")


def test_the_doctor_misses_the_controller(applied: Site) -> None:
    applied.stop("controller")
    try:
        wait_for(
            lambda: applied.vsctl("get", "Controller", "br0", "is_connected") == "false",
            "Open vSwitch to write it down",
            seconds=20,
        )
        said = applied.ofapp("doctor", "--db", applied.database, check=False)
        assert "is not connected to tcp:127.0.0.1:6653" in said
        assert "no answer from the controller at http://127.0.0.1:8080" in said
        assert applied.reachable()  # fail_mode secure: the flows stay
    finally:
        applied.start_controller()
