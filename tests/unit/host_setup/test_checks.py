"""Obstacles to a deployment: each is reported with a remedy, and nothing else is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ofapp.host_setup.checks import Problem, Reach, check
from ofapp.host_setup.model import DeployConfig, parse_port
from ofapp.host_setup.state import Bridge, BridgePort, Host, Switch
from tests.unit.host_setup.hosts import DEFAULT, host, nic, ours

CONFIG = DeployConfig(nics=("eth0",), datapath="netdev")
REACHED = Reach()


def found(
    seen: Host, config: DeployConfig = CONFIG, reach: Reach = REACHED, *, later: bool = True
) -> tuple[Problem, ...]:
    return check(seen, config, reach, confirmed_later=later)


def with_config(**values: object) -> DeployConfig:
    return DeployConfig.model_validate({**CONFIG.model_dump(), **values})


def test_nothing_is_against_a_good_host() -> None:
    assert found(host()) == ()


def with_switch(**values: object) -> Host:
    seen = host()
    return replace(seen, switch=replace(seen.switch, **values))  # type: ignore[arg-type]


TWO = with_config(nics=("eth0", "eth1"))
SECOND_NIC = nic("eth1", addresses=(), routes=(), index=3)
PORT = BridgePort("eth0", ours=False)

FATAL = {
    "root": (replace(host(), privileged=False), CONFIG, REACHED, "run as root"),
    "ovs": (Host((nic(),), Switch(problem="No such file")), CONFIG, REACHED, "systemctl start"),
    "module": (
        with_switch(kernel_module=False),
        with_config(datapath="system"),
        REACHED,
        "modprobe openvswitch",
    ),
    "dpdk": (host(), with_config(ports=("d0:dpdk:0000:01:00.0",)), REACHED, "dpdk-init=true"),
    "afxdp": (
        with_switch(interface_types=("system",)),
        with_config(nics=(), ports=("eth0:afxdp",)),
        REACHED,
        "without AF_XDP",
    ),
    "unknown nic": (host(), with_config(nics=("eth7",)), REACHED, "these are there: eth0"),
    "loopback": (host(nic(loopback=True)), CONFIG, REACHED, "loopback"),
    "bond": (host(nic(master="bond0")), CONFIG, REACHED, "ip link set eth0 nomaster"),
    "other bridge": (
        host(bridges=(Bridge("brx", ports=(PORT,), ours=False),)),
        CONFIG,
        REACHED,
        "ovs-vsctl del-port brx eth0",
    ),
    "their bridge": (
        host(bridges=(Bridge("br0", ours=False),)),
        CONFIG,
        REACHED,
        "was not made by ofapp deploy",
    ),
    "their link": (host(nic(), nic("br0", (), ())), CONFIG, REACHED, "an interface br0 already"),
    "their port": (
        host(bridges=(ours("br0", PORT),)),
        CONFIG,
        REACHED,
        "that ofapp deploy has not plugged in",
    ),
    "other datapath": (
        host(bridges=(ours(datapath="system"),)),
        CONFIG,
        REACHED,
        "ofapp deploy revert first",
    ),
    "datapath id": (
        host(bridges=(Bridge("brx", in_use_id="0000525400000001", ours=False),)),
        CONFIG,
        REACHED,
        "--datapath-id",
    ),
    "mtu": (host(), with_config(mtu=9001), REACHED, "an MTU of 9000 at most"),
    "small mtu": (host(), with_config(mtu=1200), REACHED, "1280 at least"),
    "odd route": (
        host(nic(odd_routes=("default (several next hops)",))),
        CONFIG,
        REACHED,
        "cannot be moved",
    ),
    "tap": (
        host(nic(), nic("t0", (), (), kind="veth")),
        with_config(ports=("t0:tap",)),
        REACHED,
        "is not a tap",
    ),
    "internal": (
        host(nic(), nic("i0", (), ())),
        with_config(ports=("i0:internal",)),
        REACHED,
        "an interface i0 already",
    ),
    "taken port": (
        host(bridges=(Bridge("brx", ports=(BridgePort("t0"),), ours=False),)),
        with_config(ports=("t0:tap",)),
        REACHED,
        "ovs-vsctl del-port brx t0",
    ),
    "controller": (
        host(),
        CONFIG,
        Reach({"tcp:127.0.0.1:6653": "Connection refused"}),
        "start it (ofapp-manager)",
    ),
    "in-band": (
        host(),
        with_config(controllers=("tcp:192.0.2.9:6653",)),
        Reach(via={"tcp:192.0.2.9:6653": "eth0"}),
        "--in-band",
    ),
    "stp": (host(nic(), SECOND_NIC), TWO, Reach(api="no ofapp answers"), "--no-stp-guard"),
}


@pytest.mark.parametrize("name", FATAL)
def test_an_error_is_reported_with_its_fix(name: str) -> None:
    seen, config, reach, text = FATAL[name]
    problems = found(seen, config, reach)
    (problem,) = (problem for problem in problems if problem.fatal)
    assert text in str(problem)


WARNINGS = {
    "manager": (host(nic(managers=("NetworkManager",))), CONFIG, REACHED, "manage br0 instead"),
    "rstp": (host(bridges=(ours(rstp=True),)), CONFIG, REACHED, "swallows BPDUs"),
    "standalone": (host(bridges=(ours(fail_mode="standalone"),)), CONFIG, REACHED, "can loop"),
    "mtus": (
        host(nic(), replace(SECOND_NIC, state=replace(SECOND_NIC.state, mtu=9000))),
        with_config(nics=("eth0", "eth1"), stp_guard=False),
        REACHED,
        "--mtu",
    ),
    "one of two controllers": (
        host(),
        with_config(controllers=("tcp:127.0.0.1:6653", "tcp:192.0.2.9:6653")),
        Reach({"tcp:192.0.2.9:6653": "timed out"}),
        "timed out",
    ),
    "in-band for nothing": (host(), with_config(in_band=True), REACHED, "leave it out"),
    "two uplinks": (
        host(nic(), SECOND_NIC),
        TWO,
        REACHED,
        "with one uplink alone it costs nothing",
    ),
    "gateway": (host(), CONFIG, Reach(silent=frozenset({"192.0.2.1"})), "does not answer now"),
}


@pytest.mark.parametrize("name", WARNINGS)
def test_a_warning_does_not_stop_it(name: str) -> None:
    seen, config, reach, text = WARNINGS[name]
    problems = found(seen, config, reach)
    assert len(problems) == 1
    assert text in str(problems[0])
    assert not problems[0].fatal


class TestTheOnlyDefaultRoute:
    def test_needs_a_confirmation(self) -> None:
        (problem,) = found(host(), later=False)
        assert problem.fatal
        assert "--confirm-within" in problem.fix

    def test_is_not_the_only_one_with_another_nic(self) -> None:
        other = nic("eth1", addresses=(), routes=(replace(DEFAULT, metric=200),), index=3)
        six_only = [p.text for p in found(host(nic(), other), later=False)]
        assert len(six_only) == 1
        assert "IPv6" in six_only[0]
        plain = nic(routes=(DEFAULT,))
        assert found(host(plain, other), later=False) == ()

    def test_of_a_nic_without_one_is_no_matter(self) -> None:
        assert found(host(nic(routes=())), later=False) == ()


def test_errors_come_first() -> None:
    seen = host(nic(managers=("NetworkManager",)))
    problems = found(seen, with_config(nics=("eth0",), mtu=9001))
    assert [problem.fatal for problem in problems] == [True, False]


def test_what_has_a_fix_in_the_options_is_mended_by_them() -> None:
    assert not [problem for problem in found(host(nic(), SECOND_NIC), TWO) if problem.fatal]
    assert parse_port("t0:tap").type == "tap"
