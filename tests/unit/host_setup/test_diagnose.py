"""The doctor: each illness is found, by its name and with a cure, and a healthy host has none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ofapp.cli.commands import doctor
from ofapp.host_setup.diagnose import diagnose
from ofapp.host_setup.diagnose_controller import ControllerReport
from ofapp.host_setup.finding import Finding, grouped
from ofapp.host_setup.model import DeployConfig
from ofapp.host_setup.state import Bridge, BridgePort, Controller, Host, Link, Switch
from ofapp.host_setup.wanted import USERSPACE_UPLINK
from tests.unit.host_setup.hosts import FIRST, host, nic, ours

ID = "0000525400000001"
URL = "http://127.0.0.1:8080"
GOOD = ControllerReport(URL, bridges={ID: {"connected": True, "in_line": True}})
SETTINGS = tuple(USERSPACE_UPLINK.items())


def uplink(**more: Any) -> Link:
    """As `apply` leaves it."""
    link = nic(addresses=(), routes=(), promiscuous=True)
    state = replace(link.state, settings=SETTINGS, offloads=())
    return replace(link, state=replace(state, **more.pop("state", {})), **more)


def local(**more: Any) -> Link:
    return nic("br0", addresses=(FIRST,), **more)


def healthy(link: Link | None = None, port: BridgePort | None = None, **bridge: Any) -> Host:
    port = port or BridgePort("eth0", number=1, mtu=1500)
    return host(link or uplink(), local(), bridges=(ours("br0", port, **bridge),))


def found(
    seen: Host, report: ControllerReport = GOOD, bridge: str | None = None
) -> tuple[Finding, ...]:
    return diagnose(seen, report, bridge)


def test_nothing_is_wrong_with_a_healthy_host() -> None:
    assert found(healthy()) == ()


def problem(**fields: Any) -> dict[str, Any]:
    """A problem as /v1/problems has it."""
    return {
        "severity": "error",
        "bridge": "br0",
        "port": "eth0",
        "message": "port eth0 (1) is closed by bpdu guard",
        "advice": "See what is connected there.",
        "remedy": "ofapp stp recover br0 eth0",
        "acknowledged": None,
        **fields,
    }


def test_what_the_controller_knows_to_be_wrong_is_found_as_well() -> None:
    problems = [
        problem(),
        problem(severity="warning", bridge=None, port=None, remedy=None, message="the file"),
        problem(severity="info"),
        problem(acknowledged={"by": "ann", "at": "now", "comment": ""}),
    ]
    report = replace(GOOD, problems=problems)
    guard, file = found(healthy(), report)
    assert (guard.where, guard.fatal) == ("eth0", True)
    assert guard.fix.startswith("ofapp stp recover br0 eth0")
    assert (file.where, file.fatal, file.fix) == (
        "controller",
        False,
        "See what is connected there.",
    )
    assert found(healthy(), report, bridge="br0") == (guard,)


def tree(**port: Any) -> ControllerReport:
    """The controller's view of spanning tree on eth0."""
    values = {"name": "eth0", "up": True, "state": "forwarding", "role": "root", "reason": ""}
    return replace(GOOD, trees={ID: {"ports": [{**values, **port}]}})


AWAY = (Controller("tcp:127.0.0.1:6653", error="Connection refused"),)
IN_BAND = (Controller("tcp:127.0.0.1:6653", out_of_band=False, connected=True),)

ILL: dict[str, tuple[Host, ControllerReport, str, str]] = {
    "no ovs": (
        Host((uplink(),), Switch(problem="No such file")),
        GOOD,
        "does not run",
        "systemctl start",
    ),
    "also in a Linux bridge": (
        host(
            uplink(master="vmbr0"),
            nic("vmbr0", kind="bridge"),
            local(),
            bridges=(ours("br0", BridgePort("eth0", number=1, mtu=1500)),),
        ),
        GOOD,
        "is a port of the Linux bridge vmbr0 as well",
        "ip link set eth0 nomaster",
    ),
    "no bridge": (host(), GOOD, "has no bridge", "ofapp deploy apply"),
    "no kernel module": (
        replace(
            healthy(in_use_id=None, controllers=AWAY, datapath="system"),
            switch=replace(
                healthy(in_use_id=None, controllers=AWAY, datapath="system").switch,
                kernel_module=False,
            ),
        ),
        ControllerReport(URL),
        "kernel module openvswitch, which is not loaded",
        "datapath_type=netdev",
    ),
    "not created": (
        healthy(in_use_id=None, datapath="netdev"),
        ControllerReport(URL),
        "did not create it on datapath type netdev",
        "ovs-vswitchd.log",
    ),
    "no controller": (healthy(controllers=()), GOOD, "has no controller", "set-controller br0"),
    "not connected": (
        healthy(controllers=AWAY),
        ControllerReport(URL, bridges={ID: {"connected": False}}),
        "Connection refused",
        "start",
    ),
    "standalone": (healthy(fail_mode="standalone"), GOOD, "standalone", "set-fail-mode br0 secure"),
    "protocols": (
        healthy(protocols=("OpenFlow10",)),
        GOOD,
        "OpenFlow 1.3",
        "protocols=OpenFlow13",
    ),
    "rstp": (healthy(rstp=True), GOOD, "rstp_enable is on", "rstp_enable=false"),
    "stp": (healthy(stp=True), GOOD, "stp_enable is on", "stp_enable=false"),
    "in-band": (
        healthy(controllers=IN_BAND, disable_in_band=False),
        GOOD,
        "hidden flows",
        "disable-in-band=true",
    ),
    "bad port": (
        healthy(port=BridgePort("eth0", number=-1, error="No such device")),
        GOOD,
        "No such device",
        "del-port br0 eth0",
    ),
    "address on the NIC": (
        healthy(uplink(state={"addresses": (FIRST,)})),
        GOOD,
        "has the address 192.0.2.2/24",
        "ofapp deploy apply",
    ),
    "down": (healthy(uplink(state={"up": False})), GOOD, "is down", "ip link set eth0 up"),
    "no carrier": (healthy(uplink(carrier=False)), GOOD, "no carrier", "cable"),
    "not promiscuous": (
        healthy(uplink(promiscuous=False)),
        GOOD,
        "not promiscuous",
        "promisc on",
    ),
    "gro": (
        healthy(uplink(state={"offloads": ("rx-gro",)})),
        GOOD,
        "joins received frames",
        "ethtool -K eth0 gro off",
    ),
    "checksums": (
        host(
            uplink(kind="veth", checksums_later=True, other_end=77),
            replace(nic("h1", addresses=(), routes=()), index=77, checksums_later=True),
            local(),
            bridges=(ours("br0", BridgePort("eth0", number=1, mtu=1500)),),
        ),
        GOOD,
        "checksums",
        "ethtool -K h1 tx off",
    ),
    "another address": (
        healthy(controllers=(Controller("tcp:192.0.2.77:6653", error="no route"),)),
        replace(GOOD, bridges={ID: {"connected": False}}, listens=["tcp:0.0.0.0:6653"]),
        "is not connected to tcp:192.0.2.77:6653: no route",
        "ovs-vsctl set-controller br0 tcp:127.0.0.1:6653",
    ),
    "refused there": (
        healthy(controllers=AWAY),
        replace(GOOD, bridges={ID: {"connected": False}}, listens=["tcp:127.0.0.1:6653"]),
        "is not connected",
        "the controller's log",
    ),
    "own stack": (
        healthy(uplink(state={"settings": tuple((key, 0) for key in USERSPACE_UPLINK)})),
        GOOD,
        "answers ARP",
        "net.ipv4.conf.eth0.arp_ignore=8",
    ),
    "local down": (
        host(
            uplink(),
            replace(local(), state=replace(local().state, up=False)),
            bridges=(ours("br0", BridgePort("eth0", number=1)),),
        ),
        GOOD,
        "LOCAL port is down",
        "ofapp deploy recover",
    ),
    "mtus": (
        healthy(port=BridgePort("eth0", number=1, mtu=9000)),
        GOOD,
        "eth0 9000, br0 1500",
        "mtu_request=1500",
    ),
    "no rest": (
        healthy(),
        ControllerReport(URL, problem="no answer from it"),
        "no answer",
        "--api",
    ),
    "unknown": (healthy(), ControllerReport(URL), "does not know it", "which switches it refuses"),
    "blocked": (
        healthy(),
        tree(state="discarding", role="designated", reason="listening"),
        "has it discarding",
        "ofapp stp show br0",
    ),
    "vlan limit": (
        replace(healthy(), switch=replace(healthy().switch, vlan_limit=0)),
        GOOD,
        "other_config:vlan-limit=0",
        "ovs-vsctl set Open_vSwitch . other_config:vlan-limit=1",
    ),
}


@pytest.mark.parametrize("name", ILL)
def test_an_illness_is_found_with_its_cure(name: str) -> None:
    seen, report, problem, cure = ILL[name]
    findings = found(seen, report)
    assert [one for one in findings if problem in one.problem and cure in one.fix], findings
    assert len(findings) == 1


def test_a_cable_between_two_userspace_bridges_is_sound() -> None:
    """Open vSwitch sends frames with their checksums; a bridge of the kernel does not."""
    far = uplink(state={"name": "eth1"}, index=77, checksums_later=True)
    near = uplink(kind="veth", checksums_later=True, other_end=77)
    ports = [BridgePort(f"eth{n}", number=n + 1, mtu=1500) for n in range(2)]
    for datapath, least in (("netdev", 0), ("system", 1)):
        other = ours("br1", ports[1], datapath=datapath)
        seen = host(near, far, local(), bridges=(ours("br0", ports[0]), other))
        problems = [each for each in found(seen, bridge="br0") if "checksums" in each.problem]
        assert len(problems) == least


def test_a_veth_whose_other_end_is_not_on_this_host_is_not_judged() -> None:
    assert found(healthy(uplink(kind="veth", checksums_later=True))) == ()


def test_alike_findings_of_several_places_are_one_group() -> None:
    findings = [
        *(Finding(name, f"{name} is down", f"ip link set {name} up") for name in ("e1", "e10")),
        Finding("e2", "e2 is down", "ip link set e2 up", fatal=False),
        Finding("br-e1", "has no controller", "ovs-vsctl set-controller br-e1 tcp:..."),
    ]
    both, warning, alone = grouped(findings)
    assert (both.places, both.problem, both.fixes) == (
        ("e1", "e10"),
        "NAME is down",
        ("ip link set e1 up", "ip link set e10 up"),
    )
    assert (warning.places, warning.problem, warning.fatal) == (("e2",), "e2 is down", False)
    assert alone.fixes == (findings[-1].fix,)


def test_a_problem_of_several_places_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    problem = "is not connected to tcp:127.0.0.1:6653: no answer"
    names = "br0", "br1"
    doctor.show(tuple(Finding(name, problem, "start the controller there") for name in names))
    first, *_ = capsys.readouterr().out.splitlines()
    assert first == f"error: 2 places (br0, br1): each {problem}"


def test_the_controller_of_this_host_is_named_so() -> None:
    (finding,) = found(healthy(), replace(GOOD, url="local", bridges={}, trees={}))
    assert finding.problem.startswith("the controller on this host does not know it")


def test_a_datapath_id_of_two_bridges() -> None:
    twin = Bridge("br1", in_use_id=ID, controllers=ours().controllers)
    seen = healthy()
    seen = replace(seen, switch=replace(seen.switch, bridges=(*seen.switch.bridges, twin)))
    (finding,) = found(seen)
    assert finding.where == "br0, br1"
    assert "datapath-id" in finding.fix


def two_uplinks(*ports: Any) -> tuple[Finding, ...]:
    """What is found when spanning tree has eth0 and eth1 so."""
    first = tree().trees[ID]["ports"][0]
    report = replace(GOOD, trees={ID: {"ports": [{**first, **port} for port in ports]}})
    known = (BridgePort("eth0", number=1, mtu=1500), BridgePort("eth1", number=2, mtu=1500))
    other = replace(uplink(), state=replace(uplink().state, name="eth1"))
    return found(host(uplink(), other, local(), bridges=(ours("br0", *known),)), report)


SPARE = {"name": "eth1", "state": "discarding", "role": "alternate"}


def test_a_second_uplink_that_is_blocked_is_as_it_should_be() -> None:
    assert two_uplinks({"name": "eth0"}, SPARE) == ()
    assert two_uplinks({"name": "patch0"}, SPARE) == ()  # the root port is no uplink
    assert two_uplinks({"role": "designated"}, {**SPARE, "role": "backup"}) == ()


def test_a_second_uplink_that_does_not_open_is_reported() -> None:
    (finding,) = two_uplinks({"name": "eth0"}, {**SPARE, "role": "designated"})
    assert (finding.where, finding.fatal) == ("eth1", False)
    (finding,) = two_uplinks({"name": "tap0", "role": "designated"}, SPARE)
    assert (finding.where, finding.fatal) == ("eth1", True)


def test_a_bridge_that_was_made_again_is_reported() -> None:
    old = {"connected": False, "in_line": False, "former_name": "br0"}
    report = replace(GOOD, bridges={**GOOD.bridges, "00000000000000aa": old})
    (finding,) = found(healthy(), report)
    assert (finding.where, finding.fatal) == ("br0", False)
    assert "ofapp bridge forget 00000000000000aa" in finding.fix
    assert found(healthy(), report, bridge="br0") == (finding,)


def test_only_the_bridge_that_is_asked_for() -> None:
    other = Bridge("br1", fail_mode="standalone", ours=False, in_use_id="00000000000000bb")
    seen = healthy()
    seen = replace(seen, switch=replace(seen.switch, bridges=(*seen.switch.bridges, other)))
    assert found(seen, bridge="br0") == ()
    assert {finding.where for finding in found(seen)} == {"br1"}
    (missing,) = found(seen, bridge="br7")
    assert "has no bridge br7" in missing.problem


def test_what_apply_makes_has_no_illness_of_its_own() -> None:
    """The doctor and `apply` mean the same."""
    from ofapp.host_setup.plan import plan_apply
    from ofapp.host_setup.wanted import wanted_layout
    from tests.unit.host_setup.hosts import do

    config = DeployConfig(nics=("eth0",), datapath="netdev")
    seen = host(nic(promiscuous=True))
    for step in plan_apply(seen, wanted_layout(seen, config), config):
        seen = do(seen, step)
    (bridge,) = seen.switch.bridges
    controllers = tuple(replace(one, connected=True) for one in bridge.controllers)
    bridge = replace(bridge, controllers=controllers, in_use_id=bridge.datapath_id)
    seen = replace(seen, switch=replace(seen.switch, bridges=(bridge,)))
    assert found(seen) == ()


def test_members_that_do_as_another_file_says() -> None:
    def member(name: str, revision: int | None, **other: object) -> dict[str, object]:
        return {"name": name, "revision": revision, "error": "", "differs": False, **other}

    good = replace(GOOD, members=[member("a", 7), member("b", 7)])
    assert diagnose(healthy(), good) == ()
    own_files = replace(GOOD, members=[member("a", None), member("b", None)])
    assert diagnose(healthy(), own_files) == ()
    report = replace(
        GOOD,
        members=[
            member("a", 7),
            member("b", 7, differs=True),
            member("c", 3, error="no such key"),
            member("d", None),
        ],
    )
    found = {finding.where: finding for finding in diagnose(healthy(), report)}
    assert found.keys() == {"member b", "member c", "member d"}
    assert not found["member b"].fatal
    assert "cannot do as revision 7" in found["member c"].problem
    assert "yet" in found["member d"].problem
