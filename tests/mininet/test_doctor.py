"""Broken set-ups on a real Open vSwitch: the doctor names the cause, and its remedy mends it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.ownswitch import BRIDGE, ControllerInside, OwnSwitch
from tests.support.waiting import wait_for

OTHER = "br1"
CABLE = "a0", "b0"
CONFIG = "defaults: {lldp: {enabled: true}}"
OFFLOADS = ["tx", "off", "tso", "off", "gso", "off", "gro", "off"]
IDS = 0x0A00_0000_0D01, 0x0A00_0000_0D02
SETTLED = 60.0
"""Seconds in which the doctor notices a change: Open vSwitch writes a connection's state into its
database every five seconds."""


class Site:
    """Two bridges with a cable between them and a host each, and their controller."""

    def __init__(self) -> None:
        self.switch = OwnSwitch(Path("/usr/sbin/ovs-vswitchd"), dpid=IDS[0])
        self.controller: ControllerInside | None = None

    def build(self) -> None:
        switch = self.switch
        switch.start()
        self.controller = controller = ControllerInside(switch.namespace, CONFIG)
        controller.start()
        one, other = CABLE
        switch.inside("ip", "link", "add", one, "type", "veth", "peer", "name", other)
        for end in CABLE:
            switch.inside("ip", "link", "set", end, "up")
            switch.inside("ethtool", "-K", end, *OFFLOADS)
        switch.host(1)
        switch.host(2)
        switch.vsctl(
            *("add-br", OTHER, "--", "set", "Bridge", OTHER, "datapath_type=netdev"),
            *("fail_mode=secure", "protocols=OpenFlow13"),
            f"other_config:datapath-id={IDS[1]:016x}",
        )
        for bridge, ports in ((BRIDGE, ("plug1", "a0")), (OTHER, ("plug2", "b0"))):
            for port in ports:
                switch.vsctl("add-port", bridge, port)
            switch.vsctl("set", "Bridge", bridge, "other_config:disable-in-band=true")
            switch.vsctl("set-controller", bridge, controller.target)
        wait_for(lambda: self.findings() == [], f"a healthy site: {self.findings()}", seconds=90)

    def shell(self, command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Type a command on the switch's host."""
        assert self.controller is not None
        environment = (
            os.environ
            | self.switch.env
            | {
                "OFAPP_API": f"http://127.0.0.1:{self.controller.api_port}",
                "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            }
        )
        words = ["ip", "netns", "exec", self.switch.namespace, "bash", "-ec", command]
        done = subprocess.run(words, capture_output=True, text=True, env=environment, check=False)
        assert not check or done.returncode == 0, (command, done)
        return done

    def findings(self) -> list[dict[str, Any]]:
        """All that the doctor says."""
        done = self.shell(f"ofapp doctor --json --db unix:{self.switch.dir}/db.sock", check=False)
        found: list[dict[str, Any]] = json.loads(done.stdout or "[]")
        assert done.returncode in (0, 1, 3), done
        return found

    def close(self) -> None:
        if self.controller is not None:
            self.controller.close()
        self.switch.close()


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    made = Site()
    try:
        made.build()
        yield made
    finally:
        made.close()


@dataclass(frozen=True, slots=True)
class Broken:
    """A set-up: the command that breaks it, where the doctor finds it, and words of the cause.

    undo: what puts the rest back after the remedy.
    """

    command: str
    where: str
    cause: str
    undo: str = ""


SETUPS = {
    "standalone": Broken("ovs-vsctl del-fail-mode br0", "br0", "fail_mode is standalone"),
    "wrong controller": Broken(
        "ovs-vsctl set-controller br0 tcp:127.0.0.1:1", "br0", "is not connected to tcp:127.0.0.1:1"
    ),
    "no controller": Broken("ovs-vsctl del-controller br0", "br0", "has no controller"),
    "OpenFlow 1.0": Broken(
        "ovs-vsctl set bridge br0 protocols=OpenFlow10", "br0", "OpenFlow 1.3 is not among"
    ),
    "RSTP of Open vSwitch": Broken(
        "ovs-vsctl set bridge br0 rstp_enable=true", "br0", "rstp_enable is on"
    ),
    "STP of Open vSwitch": Broken(
        "ovs-vsctl set bridge br0 stp_enable=true", "br0", "stp_enable is on"
    ),
    "port down": Broken("ip link set plug1 down", "plug1", "is down"),
    "cable down": Broken(
        "ip link set a0 down",
        "a0",
        "is missing: br0/a0 has no carrier",
        "ip link set a0 up",
    ),
    "Linux bridge": Broken(
        "ip link add lbr type bridge; ip link set plug1 master lbr",
        "plug1",
        "is a port of the Linux bridge lbr as well",
        "ip link del lbr",
    ),
    "address on a port": Broken(
        "ip addr add 192.0.2.9/24 dev plug1",
        "plug1",
        "has the address 192.0.2.9/24, which belongs on br0",
        "ip addr del 192.0.2.9/24 dev br0",
    ),
    "MTU": Broken("ovs-vsctl set interface plug1 mtu_request=1400", "br0", "MTUs differ"),
    "no such device": Broken(
        "ovs-vsctl add-port br0 nosuch || true", "nosuch", "Open vSwitch cannot use it"
    ),
    "one datapath id": Broken(
        f"ovs-vsctl set bridge br1 other_config:datapath-id={IDS[0]:016x}",
        "br0, br1",
        "have the same datapath id",
        f"ovs-vsctl set bridge br1 other_config:datapath-id={IDS[1]:016x}",
    ),
    "checksums": Broken(  # of the host itself; a userspace bridge behind a veth fills them in
        "ip link add v0 type veth peer name v1; ip link set v0 up; ip link set v1 up;"
        " ovs-vsctl add-port br0 v0",
        "v1",
        "leaves checksums to hardware",
        "ovs-vsctl del-port v0; ip link del v0",
    ),
    "joined frames": Broken("ethtool -K plug1 gro on", "plug1", "joins received frames"),
    "vlan-limit": Broken(
        "ovs-vsctl set Open_vSwitch . other_config:vlan-limit=2",
        "Open vSwitch",
        "reads two VLAN tags",
    ),
}


def remedy(fix: str) -> str:
    """The command of a remedy: the words before it end with a colon, those behind it are aside."""
    return re.sub(r"^if .*: (?=ovs-)", "", fix.partition(" (")[0])


@pytest.mark.parametrize("broken", SETUPS.values(), ids=SETUPS)
def test_the_cause_is_named_and_the_remedy_mends_it(site: Site, broken: Broken) -> None:
    site.shell(broken.command)

    def matching() -> list[dict[str, Any]]:
        found = site.findings()
        return [
            one for one in found if one["where"] == broken.where and broken.cause in one["problem"]
        ]

    (finding,) = wait_for(matching, f"{broken.cause}: {site.findings()}", seconds=SETTLED)
    print(f"{finding['severity']}: {finding['where']}: {finding['problem']} | {finding['fix']}")
    site.shell(remedy(finding["fix"]))
    if broken.undo:
        site.shell(broken.undo)
    wait_for(lambda: not matching(), f"the end of: {broken.cause}", seconds=SETTLED)
    wait_for(lambda: site.findings() == [], "a healthy site", seconds=2 * SETTLED)
