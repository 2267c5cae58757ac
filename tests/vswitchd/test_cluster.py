"""Members of a cluster on one switch, as the switch sees them; the cluster's own tier has hosts."""

from __future__ import annotations

import base64
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
CLUSTER = "site"


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
    etcd: EtcdNodes

    def drain(self, name: str) -> None:
        """As `ofapp cluster drain` does."""
        body = {"key": key("drained", name), "value": "e30="}
        self.etcd.nodes[0].post("kv/put", body)

    def undrain(self, name: str) -> None:
        self.etcd.nodes[0].post("kv/deleterange", {"key": key("drained", name)})

    def wait_roles(self, **roles: str) -> None:
        """Wait until the switch takes these members for that."""

        def role(name: str) -> str:
            target = self.members[name].target
            words = ("--bare", "--columns=role", "find", "Controller", f'target="{target}"')
            return self.bridge.switch.vsctl(*words).strip()

        wait_for(
            lambda: all(role(name) == own for name, own in roles.items()),
            f"roles {roles}",
            tick=lambda: self.bridge.switch.warp(1),
        )

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


def key(*names: str) -> str:
    """As etcd's HTTP gateway takes it."""
    return base64.b64encode("/".join(("/ofapp", CLUSTER, *names)).encode()).decode()


def _in_line(member: Controller, bridge: Bridge) -> bool:
    reply = member.api("GET", f"/v1/bridges/{bridge.dpid16}", timeout=2)
    return reply.status == 200 and bool(reply.body["in_line"])


@pytest.fixture(scope="module")
def members(etcd: EtcdNodes) -> Iterator[dict[str, Controller]]:
    """Those that are alive go from test to test."""
    made = {}
    for name in NAMES:
        options = (f"--cluster=etcd={','.join(etcd.endpoints)}", f"--member={name}")
        made[name] = Controller(f"cluster: {{name: {CLUSTER}}}", options=options)
    yield made
    for member in made.values():
        member.close()


@pytest.fixture
def site(vswitchd: VSwitchd, etcd: EtcdNodes, members: dict[str, Controller]) -> Iterator[Site]:
    for member in members.values():
        if not member.alive:
            member.start()
    bridge = vswitchd.add_bridge(ports=3)
    vswitchd.vsctl("set-controller", bridge.name, *(one.target for one in members.values()))
    for row in vswitchd.vsctl("--bare", "--columns=_uuid", "list", "Controller").split():
        vswitchd.vsctl(
            *("set", "Controller", row, "inactivity_probe=0", "max_backoff=1000"),
            "connection_mode=out-of-band",
        )
    site = Site(bridge, members, etcd)
    try:
        yield site
    finally:
        for name in members:
            site.undrain(name)
        bridge.destroy()


def test_one_that_was_stopped_writes_nothing_when_it_wakes(site: Site) -> None:
    bridge = site.bridge
    owner = site.owner()
    other = site.other(owner)
    site.wait_roles(**{owner: "master", other: "slave"})
    site.members[owner].pause()
    site.wait_owner(other)
    assert site.members[other].put_static(bridge, A, 2).status == 201
    flows = {flow.identity for flow in bridge.flows()}
    site.wait_roles(**{owner: "slave", other: "master"})
    site.members[owner].resume()
    lost = ("bridge.lost", "cluster.lost")
    wait_for(lambda: any(site.events(owner, kind) for kind in lost), "the former owner to notice")
    site.wait_roles(**{owner: "slave", other: "master"})
    # The former owner's bridge has no such entry: what it wrote would take the flows away.
    assert {flow.identity for flow in bridge.flows()} == flows
    assert site.has(other)


def test_one_that_is_drained_gives_its_switch_to_the_other(site: Site) -> None:
    bridge = site.bridge
    owner = site.owner()
    other = site.other(owner)
    learn(site.members[owner], bridge, 1, port=1)
    before = {flow.identity for flow in bridge.flows()}
    site.drain(owner)
    site.wait_owner(other)
    assert site.members[other].where(bridge, A) == 1
    assert before <= {flow.identity for flow in bridge.flows()}
    assert site.events(other, "cluster.owner")[-1]["data"]["reason"].startswith(
        f"{owner} is drained"
    )
    assert site.events(owner, "bridge.given-up")
    assert not site.events(owner, "bridge.lost")


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
