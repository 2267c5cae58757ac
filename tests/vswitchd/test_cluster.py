"""Members of a cluster on one switch, as the switch sees them; the cluster's own tier has hosts."""

from __future__ import annotations

import base64
import json
import re
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from ofapp.bridge.lag.lacp.information import State
from ofapp.bridge.lag.lacp.port import Mux
from ofapp.controller.cluster.election.placement import Candidate, line
from ofapp.openflow.model.rule import TableId
from tests.support import dhcp_frames as dhcp
from tests.support import frames
from tests.support import multicast_frames as mcframes
from tests.support.controller import Controller
from tests.support.etcd_nodes import EtcdNodes, missing
from tests.support.hosts import learn
from tests.support.multicast_entries import entries, hear_querier, wait_entry
from tests.support.ovs import LOCAL, Bridge, VSwitchd
from tests.support.waiting import wait_for
from tests.vswitchd import test_lacp
from tests.vswitchd import test_learned_bindings as learned

A = frames.host(1)
NAMES = ("a", "b")
JOINED, SET = "239.1.1.1", "239.2.2.2"
CLUSTER = "site"
BOND = f"bridges: {{{test_lacp.DPID:016x}: {{lags: {{lag0: {test_lacp.LAG}}}}}}}"


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

    def connect(self, bridge: Bridge, *others: str) -> None:
        """Have a bridge look for all members, and for these controllers."""
        switch, targets = bridge.switch, [one.target for one in self.members.values()]
        switch.vsctl("set-controller", bridge.name, *targets, *others)
        for row in switch.vsctl("--bare", "--columns=_uuid", "list", "Controller").split():
            words = ("inactivity_probe=0", "max_backoff=1000", "connection_mode=out-of-band")
            switch.vsctl("set", "Controller", row, *words)

    def drain(self, name: str) -> None:
        """As `ofapp cluster drain` does."""
        body = {"key": key("drained", name), "value": "e30="}
        self.etcd.nodes[0].post("kv/put", body)

    def stored(self, bridge: Bridge, document: str) -> Any:
        """A bridge's stored document; None without one."""
        of_bridge = key("state", "bridges", bridge.dpid16, f"{document}.json")
        records = self.etcd.nodes[0].post("kv/range", {"key": of_bridge}).get("kvs", ())
        return json.loads(base64.b64decode(records[0]["value"])) if records else None

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
        return self.members[name].alive and self.serves(name, self.bridge)

    def serves(self, name: str, bridge: Bridge) -> bool:
        """Whether a bridge is this member's, and in line: any other would ask it."""
        member = self.members[name]
        claims = member.get("/v1/cluster")["bridges"]
        own = {claim["datapath_id"] for claim in claims if claim["owner"] == name}
        return bridge.dpid16 in own and _in_line(member, bridge)

    def wait_owner(self, name: str) -> None:
        wait_for(
            lambda: self.has(name), f"{name} to be owner", tick=self.bridge.switch.step, seconds=30
        )

    def events(self, name: str, kind: str) -> list[dict[str, Any]]:
        """Those of the bridge, and of none."""
        about = (None, self.bridge.dpid16)
        return [one for one in self.members[name].events(kind) if one["datapath_id"] in about]


def key(*names: str) -> str:
    """As etcd's HTTP gateway takes it."""
    return base64.b64encode("/".join(("/ofapp", CLUSTER, *names)).encode()).decode()


def mac_text(mac: int) -> str:
    return mac.to_bytes(6, "big").hex(":")


def _ages(bridge: Bridge) -> dict[str, float]:
    """Flows of bindings by their match, and the seconds that they have existed."""
    text = bridge.switch.ofctl("dump-flows", bridge.name, f"table={TableId.GUARD:d}")
    flows = re.findall(r"duration=([\d.]+)s.* (\S*in_port=\S*)", text)
    assert flows, text
    return {match: float(seconds) for seconds, match in flows}


def _first(bridge: Bridge) -> str:
    """The member that a bridge falls to."""
    return line(map(Candidate, NAMES), bridge.dpid).order[0]


def _in_use(lacp: Any) -> set[int]:
    """The members that both ends distribute to, by a stored document of LACP."""
    ports = [
        port
        for lag in (lacp or {"snapshot": {}})["snapshot"].values()
        for port in lag["actor"]["ports"]
    ]
    distributing = [port for port in ports if port["partner"][-1] & State.DISTRIBUTING]
    return {port["port_no"] for port in distributing if port["mux"] == Mux.DISTRIBUTING.value}


def _in_line(member: Controller, bridge: Bridge) -> bool:
    reply = member.api("GET", f"/v1/bridges/{bridge.dpid16}", timeout=2)
    return reply.status == 200 and bool(reply.body["in_line"])


@pytest.fixture(scope="module")
def members(etcd: EtcdNodes) -> Iterator[dict[str, Controller]]:
    """Those that are alive go from test to test."""
    made = {}
    for name in NAMES:
        options = (f"--cluster=etcd={','.join(etcd.endpoints)}", f"--member={name}")
        made[name] = Controller(f"cluster: {{name: {CLUSTER}}}\n{BOND}", options=options)
    yield made
    for member in made.values():
        member.close()


@pytest.fixture
def site(vswitchd: VSwitchd, etcd: EtcdNodes, members: dict[str, Controller]) -> Iterator[Site]:
    for member in members.values():
        if not member.alive:
            member.start()
    bridge = vswitchd.add_bridge(ports=3)
    site = Site(bridge, members, etcd)
    site.connect(bridge)
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


def test_one_that_comes_takes_its_share_and_nothing_is_forgotten(
    site: Site, vswitchd: VSwitchd
) -> None:
    gone = site.members["b"]
    gone.terminate()
    site.wait_owner("a")
    bridges = [site.bridge]
    try:
        while len({_first(one) for one in bridges}) < 2:  # some fall to a, and some to b
            bridges.append(vswitchd.add_bridge(ports=1))
            site.connect(bridges[-1])
        mine = [one for one in bridges if _first(one) == "b"]
        for one in bridges:
            wait_for(lambda one=one: site.serves("a", one), "a to have it", tick=vswitchd.step)
            learn(site.members["a"], one, 1, port=1)
        flows = {one.name: {flow.identity for flow in one.flows()} for one in bridges}
        gone.start()
        for one in mine:
            wait_for(
                lambda one=one: site.serves("b", one), one.name, tick=vswitchd.step, seconds=30
            )
            assert gone.where(one, A) == 1
        for one in set(bridges) - set(mine):
            assert site.serves("a", one)
        for one in bridges:
            assert flows[one.name] <= {flow.identity for flow in one.flows()}
    finally:
        for one in bridges[1:]:
            one.destroy()


def test_a_switch_of_a_controller_in_no_cluster_is_left_alone(
    site: Site, vswitchd: VSwitchd, controller_factory: Callable[[], Controller]
) -> None:
    alone = controller_factory()
    bridge = vswitchd.add_bridge(ports=1)
    try:
        alone.connect(bridge)
        site.connect(bridge, alone.target)

        def reported() -> bool:
            return any(
                event["datapath_id"] == bridge.dpid16
                for member in site.members.values()
                for event in member.events("bridge.standby")
            )

        # The switch's clock must not outrun the reservation, which the controller renews.
        pace = vswitchd.in_pace()
        wait_for(reported, "a member to say that it waits", tick=pace, seconds=30)
        assert _in_line(alone, bridge)
        assert not any(site.serves(name, bridge) for name in NAMES)
        alone.terminate()
        wait_for(
            lambda: any(site.serves(name, bridge) for name in NAMES),
            "a member to own it",
            tick=vswitchd.step,
            seconds=30,
        )
    finally:
        bridge.destroy()


def test_without_etcd_all_hold_still_and_flows_stay(site: Site, etcd: EtcdNodes) -> None:
    bridge = site.bridge
    owner = site.owner()
    learn(site.members[owner], bridge, 1, port=1)
    flows = {flow.identity for flow in bridge.flows()}
    (node,) = etcd.nodes
    before = len(site.events(owner, "cluster.lost"))
    node.signal(signal.SIGSTOP)
    try:
        wait_for(
            lambda: len(site.events(owner, "cluster.lost")) > before, "it to be told", seconds=30
        )
        wait_for(lambda: not site.has(owner), "the owner to be on standby")
        assert {flow.identity for flow in bridge.flows()} == flows
        assert bridge.send(2, frames.ethernet(A, frames.host(2))) == {1}
    finally:
        node.signal(signal.SIGCONT)
    site.owner()
    assert {flow.identity for flow in bridge.flows()} >= flows


def test_an_aggregation_stands_while_its_bridge_has_another_owner(
    site: Site, vswitchd: VSwitchd
) -> None:
    bridge = vswitchd.add_bridge(dpid=test_lacp.DPID)
    try:
        bridge.add_port(test_lacp.X, "x")
        neighbour = test_lacp.Neighbour(vswitchd, bridge)
        site.connect(bridge)
        neighbour.bond()
        test_lacp.both_use(bridge, neighbour, {1, 2})
        wait_for(
            lambda: _in_use(site.stored(bridge, "lacp")) == {1, 2},
            "both members to be stored as in use",
            tick=vswitchd.in_pace(),
        )
        changes = [*map(neighbour.changes, test_lacp.MEMBERS)]
        flows = test_lacp.flows_of_lags(bridge)
        owner = next(name for name in NAMES if site.serves(name, bridge))
        other = site.other(owner)
        site.members[owner].kill9()
        wait_for(lambda: site.serves(other, bridge), other, tick=vswitchd.in_pace(), seconds=30)
        vswitchd.warp(3)
        assert neighbour.bonded() == {1, 2}
        assert [*map(neighbour.changes, test_lacp.MEMBERS)] == changes
        assert test_lacp.flows_of_lags(bridge) == flows
    finally:
        vswitchd.vsctl("--if-exists", "del-br", "nb")
        bridge.destroy()


def test_groups_are_where_they_were_when_the_switch_has_another_owner(site: Site) -> None:
    """A group that a host has joined, and one that a user has set."""
    bridge = site.bridge
    owner = site.owner()
    other = site.other(owner)
    mdb, name = f"/v1/bridges/{bridge.dpid16}/mdb", bridge.port_name(2)
    assert site.members[owner].api("PUT", f"{mdb}/0/{SET}/{name}").status == 201
    hear_querier(bridge, 3)
    bridge.inject(1, mcframes.join(1, JOINED))
    wait_entry(bridge, JOINED, {1, 3})
    wait_entry(bridge, SET, {2, 3})
    held = entries(bridge)
    site.members[owner].kill9()
    site.wait_owner(other)
    assert entries(bridge) == held
    types = {entry["group"]: entry["type"] for entry in site.members[other].get(mdb)["entries"]}
    assert types == {JOINED: "temp", SET: "permanent"}


def test_what_was_set_and_who_is_held_go_with_the_switch_to_its_next_owner(site: Site) -> None:
    bridge = site.bridge
    owner = site.owner()
    other = site.other(owner)
    own = f"/v1/bridges/{bridge.dpid16}"
    assert site.members[owner].api("PATCH", f"{own}/ports/3", {"sticky": True}).status == 200
    learn(site.members[owner], bridge, 1, port=3)
    bridge.inject(1, frames.ethernet(frames.BROADCAST, A))
    wait_for(lambda: site.members[owner].get(f"{own}/fdb/held")["held"], "it to be held")
    change = site.members[owner].api("PATCH", f"{own}/multicast", {"mcast_query_interval": 77})
    assert change.status == 200
    site.members[owner].kill9()
    site.wait_owner(other)
    member = site.members[other]
    assert member.get(f"{own}/multicast")["parameters"]["mcast_query_interval"] == 77
    assert member.get(f"{own}/ports/3")["settings"] == {"sticky": True}
    (held,) = member.get(f"{own}/fdb/held")["held"]
    assert (held["mac"], held["port"]["number"], held["reason"]) == (A, 3, "sticky")
    assert bridge.send(1, frames.ethernet(frames.BROADCAST, A)) == set()
    assert bridge.send(3, frames.ethernet(frames.BROADCAST, A)) == {1, 2, LOCAL}
    restored = [one["data"]["settings"] for one in site.events(other, "config.restored")]
    assert "multicast.mcast_query_interval: default -> 77.0" in restored[-1]


def test_bindings_hold_while_the_switch_gets_another_owner(site: Site) -> None:
    """One that a host has got by DHCP, and one that a user has set."""
    bridge, guest, uplink = site.bridge, 1, 3
    owner = site.owner()
    other = site.other(owner)
    own, mac, second = f"/v1/bridges/{bridge.dpid16}", learned.MAC, learned.MAC + 1
    trusted = site.members[owner].api("PATCH", f"{own}/ports/{guest}", {"trust": "guest"})
    assert trusted.status == 200
    learned.lease(bridge, guest, uplink)
    bridge.switch.warp(2)
    by_user = {"port": bridge.port_name(guest), "mac": mac_text(second), "address": "10.0.0.10"}
    assert site.members[owner].api("POST", f"{own}/bindings", by_user).status == 201
    leased = dhcp.ip(learned.FOUR).hex()
    wait_for(lambda: leased in json.dumps(site.stored(bridge, "bindings")), "the stored lease")
    assert "10.0.0.10" in json.dumps(site.stored(bridge, "entries"))
    bridge.switch.warp(2)

    def check() -> None:
        for source, sender in ((learned.FOUR, mac), ("10.0.0.10", second)):
            sent = learned.packet(source, sender)
            assert sent in bridge.deliver(guest, sent).get(uplink, []), source
        for source, sender in ((learned.FOUR, second), ("10.0.0.10", mac), ("10.0.0.11", mac)):
            assert not bridge.deliver(guest, learned.packet(source, sender)), source

    def tick() -> None:
        check()
        bridge.switch.step()

    check()
    before = _ages(bridge)
    site.members[owner].kill9()
    wait_for(lambda: site.has(other), f"{other} to be owner", tick=tick, seconds=30)
    check()
    after = _ages(bridge)
    assert after.keys() == before.keys()
    # All have become older by the same time: none was written again.
    growth = [after[match] - before[match] for match in before]
    assert max(growth) - min(growth) < 0.5, (before, after)
    entries = site.members[other].get(f"{own}/bindings")["entries"]
    assert {(one["address"], one["mac"], one["origin"]) for one in entries} == {
        (learned.FOUR, mac_text(mac), "dhcp"),
        ("10.0.0.10", mac_text(second), "api"),
    }


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
