"""Members of a cluster on one switch, as the switch sees them; the cluster's own tier has hosts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support import frames
from tests.support.controller import Controller
from tests.support.etcd_nodes import EtcdNodes, missing
from tests.support.hosts import learn
from tests.support.ovs import LOCAL, Bridge, VSwitchd
from tests.support.waiting import wait_for

A = frames.host(1)
NAMES = ("a", "b")


@pytest.fixture(scope="module")
def etcd() -> Iterator[EtcdNodes]:
    if reason := missing():
        pytest.skip(reason)
    nodes = EtcdNodes()
    yield nodes
    nodes.close()


@dataclass
class Site:
    """A bridge, the members by name, and etcd."""

    bridge: Bridge
    members: dict[str, Controller]

    def owner(self) -> str:
        """The member whose bridge is in line; waits until there is one."""

        def found() -> str | None:
            return next((name for name in self.members if self.has(name)), None)

        return str(wait_for(found, "an owner", tick=self.bridge.switch.step, seconds=30))

    def other(self, name: str) -> str:
        return next(other for other in self.members if other != name)

    def has(self, name: str) -> bool:
        """Whether it is this member's bridge, and in line."""
        member = self.members[name]
        return member.alive and _in_line(member, self.bridge)

    def wait_owner(self, name: str) -> None:
        wait_for(
            lambda: self.has(name), f"{name} to be owner", tick=self.bridge.switch.step, seconds=30
        )

    def events(self, name: str, kind: str) -> list[dict[str, Any]]:
        return self.members[name].events(kind)


def _in_line(member: Controller, bridge: Bridge) -> bool:
    reply = member.api("GET", f"/v1/bridges/{bridge.dpid16}", timeout=2)
    return reply.status == 200 and bool(reply.body["in_line"])


@pytest.fixture
def site(vswitchd: VSwitchd, etcd: EtcdNodes, request: pytest.FixtureRequest) -> Iterator[Site]:
    cluster = request.node.name[-40:].strip("[]").replace("/", "-")
    members = {}
    for name in NAMES:
        options = (f"--cluster=etcd={','.join(etcd.endpoints)}", f"--member={name}")
        members[name] = Controller(f"cluster: {{name: {cluster}}}", options=options)
        members[name].start()
    bridge = vswitchd.add_bridge(ports=3)
    vswitchd.vsctl("set-controller", bridge.name, *(one.target for one in members.values()))
    for row in vswitchd.vsctl("--bare", "--columns=_uuid", "list", "Controller").split():
        vswitchd.vsctl(
            *("set", "Controller", row, "inactivity_probe=0", "max_backoff=1000"),
            "connection_mode=out-of-band",
        )
    try:
        yield Site(bridge, members)
    finally:
        bridge.destroy()
        for member in members.values():
            member.close()


def test_the_other_takes_over_when_the_owner_is_killed(site: Site) -> None:
    bridge = site.bridge
    owner = site.owner()
    other = site.other(owner)
    learn(site.members[owner], bridge, 1, port=1)
    before = {flow.identity for flow in bridge.flows()}
    site.members[owner].kill9()
    site.wait_owner(other)
    assert site.members[other].where(bridge, A) == 1
    assert before <= {flow.identity for flow in bridge.flows()}
    assert bridge.send(1, frames.ethernet(frames.BROADCAST, A)) == {2, 3, LOCAL}
    event = site.events(other, "cluster.owner")[-1]
    assert event["data"]["reason"].startswith(f"{owner} has gone")
