"""Members of a cluster, as each of them knows the others through etcd."""

from __future__ import annotations

import json

from ofapp.bridge.event import Event
from ofapp.controller.cluster.peers.members import Members
from tests.support.etcd import FakeEtcd

PREFIX = "/ofapp/lab/"
LEASE = 5.0


class Site:
    """Members that have heard of each other."""

    def __init__(self, *names: str) -> None:
        self.etcd = FakeEtcd()
        self.events: dict[str, list[Event]] = {name: [] for name in names}
        self.clients = {name: self.etcd.client() for name in names}
        self.members = {
            name: Members(
                self.clients[name], PREFIX, name, lambda _, event, own=name: self._emit(own, event)
            )
            for name in names
        }
        self.leases: dict[str, int] = {}
        for name, own in self.members.items():
            own.start()
            own.announce(f"http://192.0.2.1:{len(self.leases)}")
            self.come(name)

    def come(self, name: str) -> None:
        self.leases[name] = self.clients[name].grant(LEASE).number
        self.members[name].register(self.leases[name], "1.0")

    def _emit(self, own: str, event: Event) -> None:
        self.events[own].append(event)

    def kinds(self, name: str) -> list[str]:
        return [event.kind for event in self.events[name]]


def names(members: Members) -> list[str]:
    return [one.name for one in members.candidates()]


def test_members_know_each_other() -> None:
    site = Site("m1", "m2")
    for own in site.members.values():
        assert [(one.name, one.state) for one in own.all()] == [("m1", "ready"), ("m2", "ready")]
    assert [one.address for one in site.members["m1"].others()] == ["http://192.0.2.1:1"]
    found = site.members["m1"].get("m2")
    assert found is not None
    assert found.lease == site.leases["m2"]


def test_who_does_not_renew_has_gone_and_may_come_back() -> None:
    site = Site("m1", "m2")
    m1 = site.members["m1"]
    site.etcd.advance(LEASE / 2)
    site.clients["m1"].renew(site.leases["m1"])
    site.etcd.advance(LEASE / 2 + 0.1)
    assert names(m1) == ["m1"]
    assert m1.get("m2") is None
    assert [(one.name, one.state) for one in m1.all()] == [("m1", "ready"), ("m2", "gone")]
    assert site.kinds("m1")[-1] == "cluster.member.gone"
    site.come("m2")
    assert names(m1) == ["m1", "m2"]
    assert site.kinds("m1")[-1] == "cluster.member"


def test_a_drained_member_is_drained_for_all_until_it_is_not() -> None:
    site = Site("m1", "m2")
    heard = []
    site.members["m2"].on_change(lambda: heard.append(site.members["m2"].candidates()))
    site.members["m1"].drain("m2")
    assert [(one.name, one.drained) for one in heard[-1]] == [("m1", False), ("m2", True)]
    assert site.kinds("m2")[-1] == "cluster.drained"
    site.etcd.advance(LEASE + 1)  # it is not a lease that this hangs on
    site.come("m2")
    assert [one.drained for one in site.members["m1"].candidates()] == [True]
    site.members["m1"].undrain("m2")
    assert [one.drained for one in site.members["m1"].candidates()] == [False]
    assert site.kinds("m1")[-1] == "cluster.drained.cleared"


def test_members_know_each_others_certificates() -> None:
    site = Site("m1", "m2")
    for own in site.members.values():
        known = {one.name: one.certificate for one in own.all()}
        assert known == {name: one.identity.certificate for name, one in site.members.items()}
    record = json.dumps({"address": "", "since": 1, "certificate": "no base64!"}).encode()
    client = site.clients["m1"]
    client.put(f"{PREFIX}members/m3", record, client.grant(LEASE).number)
    found = site.members["m1"].get("m3")
    assert found is not None
    assert found.certificate == b""


def test_all_have_the_same_secret_whoever_made_it() -> None:
    site = Site("m1", "m2")
    secrets = {own.secret() for own in site.members.values()}
    assert len(secrets) == 1
    assert len(secrets.pop()) >= 32


def test_what_no_member_wrote_is_passed_over() -> None:
    site = Site("m1")
    for key, value in (("m2", b"no json"), ("m3", b"[]"), ("not a name", b"{}"), ("m4", b"{}")):
        site.clients["m1"].put(f"{PREFIX}members/{key}", value)
    assert names(site.members["m1"]) == ["m1"]
