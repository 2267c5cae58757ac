"""OpenFlow over TLS with the material of deploy/tls/make, and a real switch at the other end."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packaging.machine import REPOSITORY
from tests.support.controller import Controller
from tests.support.ovs import VSwitchd
from tests.support.ports import free_port
from tests.support.waiting import wait_for

MAKE = REPOSITORY / "deploy/tls/make"


def make(folder: Path, *switches: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [MAKE, folder, *switches], capture_output=True, text=True, timeout=120, check=False
    )


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tls")
    done = make(folder, "left")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def controller(material: Path) -> Iterator[Controller]:
    port = free_port()
    own = material / "controller"
    running = Controller(
        options=(
            *("--ofp-ssl-listen-port", str(port)),
            *("--ctl-privkey", str(own / "key.pem"), "--ctl-cert", str(own / "cert.pem")),
            *("--ca-certs", str(own / "switch-ca.pem")),
        )
    )
    running.ofp_port = port
    try:
        running.start()
        yield running
    finally:
        running.close()


@pytest.fixture
def switch() -> Iterator[VSwitchd]:
    with_clock = VSwitchd()
    with_clock.start()
    yield with_clock
    with_clock.close()


def connect(switch: VSwitchd, controller: Controller, *files: Path) -> None:
    bridge = switch.add_bridge()
    switch.vsctl("set-ssl", *map(str, files))
    switch.vsctl("set-controller", bridge.name, f"ssl:127.0.0.1:{controller.ofp_port}")


def served(controller: Controller) -> list[str]:
    bridges = controller.get("/v1/bridges")["bridges"]
    return [bridge["datapath_id"] for bridge in bridges if bridge["connected"]]


def test_a_switch_with_a_certificate_of_ours_is_served(
    material: Path, controller: Controller, switch: VSwitchd
) -> None:
    own = material / "switches/left"
    connect(switch, controller, own / "key.pem", own / "cert.pem", own / "controller-ca.pem")
    wait_for(lambda: served(controller), "the switch to be served", tick=switch.step, seconds=20)
    assert served(controller) == ["0000000000000001"]


@pytest.mark.parametrize("who", ["a stranger", "the controller"])
def test_anybody_else_is_refused(
    who: str, material: Path, controller: Controller, switch: VSwitchd, tmp_path: Path
) -> None:
    """Also with the controller's own certificate: it is of the other authority."""
    key, cert = material / "controller/key.pem", material / "controller/cert.pem"
    if who == "a stranger":
        key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
        subprocess.run(
            [
                *("openssl", "req", "-x509", "-nodes", "-newkey", "rsa:2048", "-days", "2"),
                *("-subj", "/CN=switch", "-keyout", key, "-out", cert),
            ],
            capture_output=True,
            check=True,
        )
    wait_for(lambda: not served(controller), "the switch before to be gone")
    known = len(controller.log())
    connect(switch, controller, key, cert, material / "switches/left/controller-ca.pem")
    wait_for(
        lambda: "certificate verify failed" in controller.log()[known:],
        "the controller to refuse it",
        tick=switch.step,
        seconds=20,
    )
    assert not served(controller)
    assert switch.vsctl("get", "controller", "br1", "is_connected").strip() == "false"


def test_the_switch_refuses_another_controller(
    material: Path, controller: Controller, switch: VSwitchd
) -> None:
    own = material / "switches/left"
    connect(
        switch,
        controller,
        *(own / "key.pem", own / "cert.pem", material / "controller/switch-ca.pem"),
    )
    log = switch.dir / "ovs-vswitchd.log"
    wait_for(
        lambda: "certificate verify failed" in log.read_text(),
        "the switch to refuse it",
        tick=switch.step,
        seconds=20,
    )
    assert not served(controller)


def test_more_switches_later_and_what_exists_is_kept(material: Path) -> None:
    key = material / "switches/left/key.pem"
    before = key.read_bytes()
    assert make(material, "left", "right").returncode == 0
    assert key.read_bytes() == before
    assert key.stat().st_mode & 0o077 == 0
    for name in ("left", "right"):
        subprocess.run(
            [
                *("openssl", "verify", "-CAfile", material / "controller/switch-ca.pem"),
                material / "switches" / name / "cert.pem",
            ],
            check=True,
            capture_output=True,
        )


def test_a_name_that_would_lead_elsewhere_is_refused(tmp_path: Path) -> None:
    done = make(tmp_path, "../elsewhere")
    assert done.returncode == 1
    assert "no name for a switch" in done.stderr
