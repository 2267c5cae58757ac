"""The page *etcd*, typed: three Debian machines with the package, by that page alone.

A block of commands goes by the first bold words above it. Each is typed as it stands, in the folder
and on the machine that the page names; afterwards members answer for each other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.packaging.machine import REPOSITORY, Machine
from tests.support.lab import sh

PAGE = REPOSITORY / "ofapp/docs/pages/etcd.md"
ADDRESSES = {"a": "192.0.2.11", "b": "192.0.2.12", "c": "192.0.2.13"}
MEMBERS = {"a": "ctl1", "b": "ctl2", "c": "ctl3"}
FOLDER = "/root/ofapp-etcd"
START = "systemctl daemon-reload && systemctl start etcd"


def blocks() -> dict[str, list[str]]:
    """Bold words -> the lines of the blocks below them."""
    found: dict[str, list[str]] = {}
    words, typed = "", False
    for line in PAGE.read_text().splitlines():
        if line.startswith("```"):
            typed = not typed
        elif typed:
            lines = found.setdefault(words, [])
            if lines and lines[-1].endswith("\\"):
                lines[-1] = lines[-1][:-1] + line.strip()
            else:
                lines.append(line)
        elif bold := re.match(r"(?:.*?)\*\*([^*]+)\*\*", line):
            words = bold[1]
    return found


BLOCKS = blocks()


class Site:
    """Three machines on one network, each with the package."""

    def __init__(self, stack: ExitStack, package: Path) -> None:
        self._lan = f"oe{package.parent.name[-8:]}{id(self):x}"[:15]
        sh("ip", "netns", "add", self._lan)
        stack.callback(sh, "ip", "netns", "del", self._lan)
        sh("ip", "-n", self._lan, "link", "add", "lan", "up", "type", "bridge")
        self.machines = {name: stack.enter_context(Machine()) for name in ADDRESSES}
        self._package = package
        self.at_each(self._install)

    def at_each(self, do: Any) -> None:
        """`do(name)` for all machines at the same time."""
        with ThreadPoolExecutor() as pool:
            list(pool.map(do, self.machines))

    def type(self, name: str, lines: list[str], folder: str = "/root") -> str:
        """What the shell prints; AssertionError when a line fails."""
        machine, script = self.machines[name], "\n".join(("set -e", f"cd {folder}", *lines))
        try:
            return machine.run("bash", "-c", script, seconds=240)
        except AssertionError as error:
            journal = machine.run("journalctl", "--no-pager", "-n", "40", check=False)
            raise AssertionError(f"{error}\n{journal}") from None

    def give(self, name: str, what: str, folder: str = FOLDER) -> None:
        """Copy a file, or a folder, from the machine where `make` ran, to /root."""
        packed = self.machines["a"].run("sh", "-c", f"tar -C {folder} -c {what} | base64")
        self.machines[name].put("/root/given.b64", packed)
        self.machines[name].run("sh", "-c", "base64 -d /root/given.b64 | tar -C /root -x")

    def get(self, name: str, path: str) -> Any:
        """What the member at that machine answers; None: it refuses, or is not there."""
        ask = ("curl", "--silent", "--fail", f"http://127.0.0.1:8080/v1/{path}")
        said = self.machines[name].run(*ask, check=False)
        return json.loads(said) if said.startswith("{") else None

    def _install(self, name: str) -> None:
        machine = self.machines[name]
        machine.wire(self._lan, "lan", f"{ADDRESSES[name]}/24")
        # There is no mirror: what this machine has counts as the newest.
        machine.run("sh", "-c", "rm -rf /var/lib/apt/lists/*")
        machine.put("/tmp/ofapp.deb", self._package.read_bytes())
        machine.run("dpkg", "--install", "/tmp/ofapp.deb", seconds=240)


@pytest.fixture(scope="module")
def site(package: Path) -> Iterator[Site]:
    """All that the page has one type up to `cluster show`."""
    with ExitStack() as stack:
        site = Site(stack, package)
        site.type("a", BLOCKS["On a safe machine"])

        def node(name: str) -> None:
            site.give(name, f"nodes/{name}")
            site.type(name, BLOCKS["On each node"], f"/root/nodes/{name}")

        def controller(name: str) -> None:
            site.give(name, f"members/{MEMBERS[name]}")
            site.type(name, BLOCKS["On each controller"], f"/root/members/{MEMBERS[name]}")

        site.at_each(node)
        site.type("a", BLOCKS["from the machine with the folder"])
        site.at_each(controller)
        site.machines["a"].run(
            *("ovs-vsctl", "add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=netdev"),
            *("fail_mode=secure", "protocols=OpenFlow13"),
        )
        site.type("a", [*BLOCKS["On each switch"][:1]])
        yield site


def agreed(site: Site, name: str) -> bool:
    """Whether that member says that all are there, and answers for the switch."""
    answer = site.get(name, "cluster")
    states = {one["name"]: one["state"] for one in answer["members"]} if answer else {}
    bridges = (site.get(name, "bridges") or {"bridges": []})["bridges"]
    return states == dict.fromkeys(MEMBERS.values(), "ready") and [
        (one["connected"], one["in_line"]) for one in bridges
    ] == [(True, True)]


def all_agree(site: Site) -> None:
    for name, machine in site.machines.items():
        machine.wait(lambda name=name: agreed(site, name), f"{name} to answer for all", seconds=60)


def test_members_answer_for_each_other(site: Site) -> None:
    all_agree(site)
    owners = {site.get(name, "cluster")["bridges"][0]["owner"] for name in site.machines}
    assert len(owners) == 1
    for name in site.machines:
        shown = site.type(name, BLOCKS["On each switch"][1:])
        assert shown.count("ready") >= len(MEMBERS), shown
        assert "br0" in shown


def test_the_commands_for_a_full_database_work(site: Site) -> None:
    site.type("a", BLOCKS["as etcd's root user"] + BLOCKS["The database is full"])
    keys = site.type("a", BLOCKS["as etcd's root user"] + BLOCKS["To list the keys in etcd"])
    assert "/ofapp/default/members/ctl1" in keys


def test_it_is_restored_from_a_snapshot(site: Site) -> None:
    """And no member is restarted."""
    site.type("a", BLOCKS["as etcd's root user"] + BLOCKS["Save a snapshot"])
    for name in site.machines:
        site.give(name, "etcd.db", "/root")
        site.machines[name].run("systemctl", "stop", "etcd")
    site.at_each(lambda name: site.type(name, BLOCKS["to restore it on each node"]))
    for name, machine in site.machines.items():
        machine.wait(
            lambda name=name: (site.get(name, "events?kind=cluster.history.cleared") or {}).get(
                "events"
            ),
            f"{name} to have read all",
        )
    all_agree(site)


def test_a_lost_node_is_replaced(site: Site) -> None:
    site.machines["c"].run("systemctl", "stop", "etcd")
    site.type("a", BLOCKS["as etcd's root user"] + BLOCKS["A node is lost for good"])
    steps = BLOCKS["On each node"]
    assert steps[-1] == START
    new = [*steps[:-1], *BLOCKS["On the new node"], START]
    site.type("c", new, "/root/nodes/c")
    listed = site.type("a", [*BLOCKS["as etcd's root user"], "etcdctl endpoint health"])
    assert "unhealthy" not in listed, listed


def test_every_command_of_the_page_is_typed_here() -> None:
    assert BLOCKS.keys() == {
        "On a safe machine",
        "On each node",
        "from the machine with the folder",
        "On each controller",
        "On each switch",
        "as etcd's root user",
        "The database is full",
        "A node is lost for good",
        "On the new node",
        "Save a snapshot",
        "to restore it on each node",
        "To list the keys in etcd",
    }
