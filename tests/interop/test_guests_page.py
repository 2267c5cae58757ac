"""deploy/guests/README.md, typed: a guest with dnsmasq and udhcpc, from the report to a refusal.

A block of commands goes by the last bold words above it.  They are typed as they stand, where the
switch, the controller and dnsmasq are; only the folder /etc/ofapp is another one.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.controller import ROOT
from tests.support.lab import Host
from tests.support.ownswitch import ControllerInside, OwnSwitch
from tests.support.waiting import wait_for

FOLDER = ROOT / "deploy/guests"
MAC = "52:54:00:00:00:07"
ADDRESS = "192.0.2.7"
GATEWAY = "192.0.2.1"

SCRIPT = """#!/bin/sh
[ "$1" = bound ] && ip address add $ip/24 dev eth0
exit 0
"""


def blocks() -> dict[str, list[str]]:
    """Bold words -> the lines of the block below them, before the guide turns to hypervisors."""
    found: dict[str, list[str]] = {}
    words = ""
    for line in (FOLDER / "README.md").read_text().partition("## libvirt")[0].splitlines():
        if bold := re.findall(r"\*\*([^*]+)\*\*", line):
            words = bold[-1]
        if line.startswith("    "):
            found.setdefault(words, []).append(line.strip())
    return found


BLOCKS = blocks()


class Site:
    """Bridge br0 with the guest's port vnet3, its controller, and what the guide sets up."""

    def __init__(self, stack: ExitStack, folder: Path) -> None:
        self.switch = OwnSwitch(Path(shutil.which("ovs-vswitchd") or ""))
        stack.callback(self.switch.close)
        self.switch.start()
        self.controller = ControllerInside(self.switch.namespace)
        stack.callback(self.controller.close)
        self.folder = shutil.copytree(FOLDER, folder / "guests")
        self.etc = self.controller.config_file.parent
        with (self.folder / "dnsmasq.conf").open("a") as file:  # so that it can be ended
            file.write(
                f"pid-file={folder}/dnsmasq.pid\ndhcp-leasefile={folder}/leases\nuser=root\n"
            )
        stack.callback(self._end, folder / "dnsmasq.pid")
        script = folder / "bound"
        script.write_text(SCRIPT)
        script.chmod(0o755)
        self._script = script
        self.controller.start()
        self.controller.connect(self.switch.bridge)
        self.guest = self._guest()

    def _guest(self) -> Host:
        guest = self.switch.host(3)
        for words in ("down", "name vnet3", "up"):
            name = "vnet3" if words == "up" else guest.plug
            self.switch.inside("ip", "link", "set", name, *words.split())
        guest.run("ip", "link", "set", "eth0", "address", MAC)
        guest.run("ip", "address", "flush", "dev", "eth0")
        self.switch.inside("sysctl", "-q", "-w", "net.ipv4.conf.vnet3.arp_ignore=8")
        self.switch.add_port("vnet3", 3)
        self.switch.inside("ip", "link", "set", "br0", "up")
        self.switch.inside("ethtool", "-K", "br0", "tx", "off")
        return guest

    def type(self, words: str, status: int = 0) -> str:
        """What the commands below these words print, and with which status the last one ends."""
        lines = "\n".join(BLOCKS[words]).replace("/etc/ofapp", str(self.etc))
        environment = self.switch.env | {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "OFAPP_API": f"http://127.0.0.1:{self.controller.api_port}",
        }
        done = subprocess.run(
            ["ip", "netns", "exec", self.switch.namespace, "bash", "-ec", lines],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == status, done
        return done.stdout

    def lease(self) -> str | None:
        """The address that the guest gets by DHCP."""
        self.guest.run("ip", "address", "flush", "dev", "eth0")
        client = ("busybox", "udhcpc", "-f", "-q", "-n", "-t", "3", "-i", "eth0")
        self.guest.run(*client, "-s", self._script, check=False)
        found = re.search(r"inet (192\.0\.2\.\d+)", self.guest.run("ip", "-4", "addr"))
        return None if found is None else found[1]

    def _end(self, file: Path) -> None:
        if file.exists():
            os.kill(int(file.read_text()), signal.SIGTERM)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The guide up to dnsmasq."""
    with ExitStack() as stack:
        site = Site(stack, tmp_path_factory.mktemp("guests"))
        site.type("as a drop-in")
        site.type("Start it")
        yield site


def test_a_guest_that_is_reported_bound_and_then_held_to_its_addresses(site: Site) -> None:
    guest = site.guest
    guest.run("ip", "address", "add", f"{ADDRESS}/24", "dev", "eth0")
    assert guest.reaches(GATEWAY)  # learn only reports
    wait_for(lambda: MAC in site.type("See what it would refuse"), "the report")
    site.type("Give it one")
    assert ADDRESS in site.type("See what it would refuse")
    said = site.type("Then enforce it.")
    assert f"{MAC}" not in said, said  # it has a binding, so it is not cut off
    wait_for(lambda: guest.reaches(GATEWAY), "the guest to be reached again")
    guest.run("ip", "address", "flush", "dev", "eth0")
    guest.run("ip", "address", "add", "192.0.2.99/24", "dev", "eth0")
    assert not guest.reaches(GATEWAY)
    wait_for(lambda: "192.0.2.99" in site.type("ask for the reason", 1), "the refusal")
    assert "192.0.2.99 has no binding" in site.type("ask for the reason", 1)


def test_a_guest_that_gets_a_lease_works_at_once(site: Site) -> None:
    address = wait_for(site.lease, "a lease")
    assert address is not None
    assert site.guest.reaches(GATEWAY)
    assert address in site.type("See what it would refuse")


def test_every_command_of_the_guide_is_typed_here() -> None:
    assert BLOCKS.keys() == {
        *("as a drop-in", "See what it would refuse", "Give it one", "Then enforce it."),
        *("ask for the reason", "Start it"),
    }
