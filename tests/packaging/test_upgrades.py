"""Releases are exchanged under traffic: to this version, back, and here again.

Each release runs from its own virtual environment, with the versions that it was pinned to.
"""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.packaging.machine import REPOSITORY
from tests.support.lab import Host
from tests.support.ownswitch import ControllerInside, OwnSwitch
from tests.support.traffic import running
from tests.support.waiting import wait_for

RELEASES = {"0.1": "ec3478f", "0.2": "823a0da"}
"""The last commit of each release."""

OLD, NEW = "02:00:00:00:00:99", "02:00:00:00:00:97"
BINDING = {"vlan": 0, "mac": "02:00:00:00:00:98", "address": "192.0.2.7"}
INSTALL_SECONDS = 900

pytestmark = pytest.mark.thorough


def sh(*command: object, cwd: Path = REPOSITORY) -> None:
    done = subprocess.run(
        [*map(str, command)],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=INSTALL_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module", params=list(RELEASES))
def release(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path]:
    """A release, and its ofapp-manager."""
    commit = RELEASES[request.param]
    known = subprocess.run(["git", "cat-file", "-e", commit], cwd=REPOSITORY, check=False)
    if known.returncode:
        pytest.skip(f"the clone is without commit {commit}")
    folder = tmp_path_factory.mktemp("release")
    sh("git", "archive", "-o", folder / "sources.tar", commit)
    (folder / "sources").mkdir()
    sh("tar", "-xf", folder / "sources.tar", "-C", folder / "sources")
    sh("/usr/bin/python3", "-m", "venv", folder / "venv")
    pip = (folder / "venv/bin/pip", "install", "--quiet", "--disable-pip-version-check")
    sh(*pip, "-r", "deploy/requirements.txt", cwd=folder / "sources")
    sh(*pip, "--no-deps", "--no-build-isolation", ".", cwd=folder / "sources")
    return request.param, folder / "venv/bin/ofapp-manager"


class Bed:
    """A switch with two hosts, and the controller that is exchanged."""

    def __init__(self) -> None:
        program = shutil.which("ovs-vswitchd")
        assert program
        self.switch = OwnSwitch(Path(program))
        self.controller = ControllerInside(
            self.switch.namespace, "defaults: {ageing_time: 123, stp: {enabled: false}}"
        )
        self.current = self.controller.program
        self.hosts: list[Host] = []

    def start(self, program: Path) -> None:
        self.switch.start()
        for number in (1, 2):
            host = self.switch.host(number)
            self.switch.add_port(host.plug, number)
            self.hosts.append(host)
        self.controller.program = program
        self.controller.start()
        self.switch.vsctl("set-controller", "br0", self.controller.target)
        wait_for(self.in_line, "the switch", seconds=30)

    def in_line(self) -> bool:
        bridges = self.controller.api("GET", "/v1/bridges").body["bridges"]
        return bool(bridges) and all(bridge["in_line"] for bridge in bridges)

    def exchange(self, program: Path) -> int:
        """Stop the controller and start the other program; return how many pings were lost."""
        sender, receiver = self.hosts
        with running(sender, "ping", "-n", "-i", "0.01", receiver.ip) as ping:
            assert ping.stdout
            for _, line in zip(range(50), ping.stdout, strict=False):
                assert "Unreachable" not in line
            assert self.controller.terminate() == 0
            self.controller.program = program
            self.controller.start()
            wait_for(self.in_line, "the switch", seconds=60)
            ping.send_signal(signal.SIGINT)
            counts = re.search(r"(\d+) packets transmitted, (\d+) received", ping.stdout.read())
        assert counts
        return int(counts[1]) - int(counts[2])

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """Ask for something of the bridge."""
        reply = self.controller.api(method, f"/v1/bridges/{self.switch.dpid:016x}{path}", body)
        assert reply.status in (200, 201, 204), reply
        return reply.body

    def static(self) -> dict[str, str]:
        """The ports of the static addresses."""
        entries = self.ask("GET", "/fdb")["entries"]
        return {one["mac"]: one["port"]["name"] for one in entries if one["type"] == "static"}

    def put_static(self, mac: str) -> None:
        self.ask("PUT", f"/fdb/0/{mac}", {"port": self.hosts[0].plug})


@pytest.fixture
def bed() -> Iterator[Bed]:
    made = Bed()
    try:
        yield made
    finally:
        made.controller.close()
        made.switch.close()


def test_to_this_version_and_back(release: tuple[str, Path], bed: Bed) -> None:
    """No frame is lost on the way; what both versions know stays."""
    version, program = release
    bed.start(program)
    plug = bed.hosts[0].plug
    bed.put_static(OLD)
    if version == "0.2":
        bed.ask("PATCH", f"/ports/{plug}", {"fdb_max_learned": 77})

    assert bed.exchange(bed.current) == 0
    assert bed.static() == {OLD: plug}
    assert bed.ask("GET", "")["ageing_time"] == 123
    if version == "0.2":
        assert bed.ask("GET", f"/ports/{plug}")["limit"] == 77

    bed.put_static(NEW)
    bed.ask("POST", "/bindings", BINDING | {"port": bed.hosts[1].plug})
    bed.ask("PATCH", f"/ports/{plug}", {"trust": "learn"})
    assert bed.exchange(program) == 0
    assert bed.static() == {OLD: plug, NEW: plug}
    aside = [*(bed.controller.dir / "state").glob("settings-*.damaged-1")]
    assert len(aside) == (version == "0.2")  # it does not know `trust`

    bed.ask("DELETE", f"/fdb/0/{NEW}")
    assert bed.exchange(bed.current) == 0
    assert bed.static() == {OLD: plug}
    # 0.2 has written the file of static entries without bindings.
    kept = [] if version == "0.2" else [BINDING["address"]]
    assert [one["address"] for one in bed.ask("GET", "/bindings")["entries"]] == kept
    assert "Traceback" not in bed.controller.log()
