"""From spanning tree to a fabric and back, with the commands of the page, while hosts talk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.controller import Controller
from tests.support.lab import Stream, vsctl
from tests.support.network import Network
from tests.support.waiting import wait_for

RATE = 1000
MOST = 15_000
"""Frames that a change may cost, on a machine that is busy with other tests."""
RSTP = {"enabled": True, "priority": 32768}

pytestmark = pytest.mark.thorough


class Site:
    """Three switches in a ring with a host each, a controller, and its commands."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.network = Network("fm")
        self.controller = Controller(yaml.safe_dump(self.file(fabric=False)))
        self.controller.start()
        self.switches = [self.network.switch() for _ in range(3)]
        for at, switch in enumerate(self.switches):
            cable = self.network.cable(switch, self.switches[(at + 1) % 3])
            for end in cable.ends:  # as the page says, for hosts that are busy
                vsctl("set", "Interface", end, "bfd:min_tx=1000", "bfd:min_rx=1000")
        self.hosts = [self.network.host(switch) for switch in self.switches]

    def file(self, *, fabric: bool) -> dict[str, Any]:
        """The configuration.  Host ports are edges in both, as a person would say."""
        edges = {"stp": {"admin_edge": True}}
        tag = self.network.tag
        file: dict[str, Any] = {"defaults": {"stp": RSTP, "ports": {f"{tag}p*": edges}}}
        if fabric:
            members = {
                f"s{at}": {"bridge": switch.dpid16, "links": [f"{tag}l*"]}
                for at, switch in enumerate(self.switches, 1)
            }
            file["fabrics"] = {"mesh": {"members": members}}
            file["bridges"] = {"mesh": {"ports": {f"*/{tag}p*": edges}}}
        return file

    def ofapp(self, *words: object) -> str:
        """Type a command; its output."""
        done = self.controller.ofapp(*words)
        assert not done.returncode, done.stdout + done.stderr
        return done.stdout

    def fabric(self, *words: object) -> str:
        """A command of `ofapp fabric` about the settings of switches."""
        journal = ("--journal", self.folder / "journal")
        return self.ofapp("fabric", *words, *journal)

    def configure(self, *, fabric: bool) -> None:
        """Write the file; it is not read yet."""
        self.controller.configure(yaml.safe_dump(self.file(fabric=fabric)))

    @property
    def settings(self) -> tuple[str, ...]:
        """What `apply` changes, and `revert` puts back."""
        columns = "name,mtu_request,bfd"
        rows = vsctl("--columns", columns, "--format=csv", "list", "Interface").splitlines()
        bridges = "name,fail_mode,rstp_enable,controller,other_config"
        more = vsctl("--columns", bridges, "--format=csv", "list", "Bridge").splitlines()
        return tuple(sorted((*rows, *more)))

    def is_fabric(self) -> bool:
        """Whether all cables carry frames of the fabric."""
        reply = self.controller.api("GET", "/v1/fabrics/mesh")
        if reply.status != 200:
            return False
        states = [link["state"] for link in reply.body["links"]]
        return states == ["carries"] * 3 and bool(reply.body["settled"])

    def is_tree(self) -> bool:
        """Whether spanning tree of the controller blocks one cable, and all else forwards."""
        for switch in self.switches:
            reply = self.controller.api("GET", f"/v1/bridges/{switch.dpid16}")
            if reply.status != 200 or not reply.body["in_line"]:
                return False
        return len(self.network.blocked()) == 1

    def is_rstp(self) -> bool:
        """The same of Open vSwitch's own."""
        states = [
            vsctl("get", "Port", end, "rstp_status:rstp_port_state").strip('"')
            for cable in self.network.cables
            for end in cable.ends
        ]
        return states.count("Forwarding") == 5

    def close(self) -> None:
        self.network.close()
        self.controller.close()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with closing(Site(tmp_path)) as site:
        yield site


def streams(site: Site) -> tuple[Stream, Stream]:
    """Both directions between hosts at neighbours."""
    one, two, _ = site.hosts
    return Stream(one, two, RATE), Stream(two, one, RATE)


def lost(site: Site, what: str, *steps: Any) -> int:
    """Frames lost of 1,000 a second in each direction while steps are made, the greater one."""
    there, back = streams(site)
    with there, back:
        there.more(100)
        for step in steps:
            step()
        there.more(RATE)
        found = [one.lost() - one.dropped() for one in (there, back)]
        busy = there.dropped() + back.dropped()  # the hosts, not the network
        print(f"{what}: lost {found} of {there.sent}, {busy} more by busy hosts")
        assert there.doubled() + back.doubled() == 0
    return max(found)


def all_meet(site: Site) -> None:
    for host in site.hosts:
        for other in site.hosts:
            if host is not other:
                wait_for(lambda a=host, b=other: a.reaches(b.ip), "all hosts to meet", seconds=30)


def test_from_spanning_tree_of_the_controller_and_back(site: Site) -> None:
    for switch in site.switches:
        switch.set_controller(site.controller.target)
    wait_for(site.is_tree, "a tree", seconds=60)
    all_meet(site)
    before = site.settings
    file = site.controller.config_file

    site.configure(fabric=True)
    assert "mtu_request=1526" in site.ofapp("fabric", "plan", "--config-file", file)
    prepared = lost(
        site,
        "apply and confirm",
        lambda: site.fabric("apply", "--config-file", file),
        lambda: site.fabric("confirm"),
    )
    changed = lost(
        site,
        "tree to fabric",
        lambda: site.ofapp("config", "reload"),
        lambda: wait_for(site.is_fabric, "a fabric", seconds=60),
    )
    all_meet(site)
    site.configure(fabric=False)
    returned = lost(
        site,
        "fabric to tree",
        lambda: site.ofapp("config", "reload"),
        lambda: wait_for(site.is_tree, "a tree again", seconds=60),
    )
    reverted = lost(site, "revert", lambda: site.fabric("revert"))
    assert site.settings == before
    all_meet(site)
    assert max(prepared, changed, returned, reverted) < MOST


def test_from_rstp_of_open_vswitch_and_back(site: Site) -> None:
    for switch in site.switches:
        vsctl("set", "Bridge", switch.name, "fail_mode=standalone", "rstp_enable=true")
    wait_for(site.is_rstp, "Open vSwitch's tree", seconds=60)
    all_meet(site)
    before = site.settings
    file = site.controller.config_file
    site.configure(fabric=True)
    site.ofapp("config", "reload")  # no member is connected yet
    target = ("--controller", site.controller.target)
    changed = lost(
        site,
        "RSTP of Open vSwitch to fabric",
        lambda: site.fabric("apply", "--config-file", file, *target),
        lambda: site.fabric("confirm"),
        lambda: wait_for(site.is_fabric, "a fabric", seconds=60),
    )
    all_meet(site)
    site.configure(fabric=False)
    returned = lost(
        site,
        "fabric to RSTP of Open vSwitch",
        lambda: site.ofapp("config", "reload"),
        lambda: site.fabric("revert"),
        lambda: wait_for(site.is_rstp, "Open vSwitch's tree again", seconds=60),
    )
    assert site.settings == before
    all_meet(site)
    assert max(changed, returned) < MOST
