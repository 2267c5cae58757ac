"""Who is in a cluster, as each member hears of it through etcd; and what members sign."""

from __future__ import annotations

import dataclasses

import pytest

from ofapp.bridge.event import Event
from ofapp.controller.cluster.peers.members import Members
from ofapp.controller.cluster.peers.signing import (
    SKEW,
    Asked,
    Caller,
    ForgedError,
    Verifier,
    new_secret,
    sign,
)
from tests.support.etcd import FakeEtcd

PREFIX = "/ofapp/lab/"
LEASE = 5.0
CALLER = Caller("token ops", "operator", "192.0.2.7")
ASKED = Asked("m2", "PUT", "/v1/bridges/0000000000000001/fdb/0/52:54:00:00:00:01", b'{"port":1}')
NOW = 1_800_000_000.0
SECRET = new_secret()


class Site:
    """Members that have heard of each other."""

    def __init__(self, *names: str) -> None:
        self.etcd = FakeEtcd()
        self.told: dict[str, list[Event]] = {name: [] for name in names}
        self.clients = {name: self.etcd.client() for name in names}
        self.members = {
            name: Members(
                self.clients[name], PREFIX, name, lambda _, event, own=name: self._tell(own, event)
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

    def _tell(self, own: str, event: Event) -> None:
        self.told[own].append(event)

    def kinds(self, name: str) -> list[str]:
        return [event.kind for event in self.told[name]]


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


def test_a_signed_request_is_taken_once() -> None:
    verifier, header = Verifier(), sign(SECRET, "m1", CALLER, ASKED, NOW)
    assert verifier.verify(SECRET, header, ASKED, NOW + 1) == ("m1", CALLER)
    with pytest.raises(ForgedError, match="used already"):
        verifier.verify(SECRET, header, ASKED, NOW + 2)


@pytest.mark.parametrize(
    "other",
    [
        dataclasses.replace(ASKED, to="m3"),
        dataclasses.replace(ASKED, method="DELETE"),
        dataclasses.replace(ASKED, target=ASKED.target[:-1] + "2"),
        dataclasses.replace(ASKED, body=b'{"port":2}'),
    ],
)
def test_it_is_worth_nothing_for_another_request(other: Asked) -> None:
    header = sign(SECRET, "m1", CALLER, ASKED, NOW)
    with pytest.raises(ForgedError, match="another request"):
        Verifier().verify(SECRET, header, other, NOW)


@pytest.mark.parametrize("late", [SKEW + 1, -SKEW - 1])
def test_nor_at_another_time(late: float) -> None:
    with pytest.raises(ForgedError, match="clocks"):
        Verifier().verify(SECRET, sign(SECRET, "m1", CALLER, ASKED, NOW), ASKED, NOW + late)


@pytest.mark.parametrize("header", ["", "Bearer x", "Ofapp-Member", "Ofapp-Member x.y", "é"])
def test_who_has_not_the_secret_gets_nothing(header: str) -> None:
    with pytest.raises(ForgedError):
        Verifier().verify(SECRET, header, ASKED, NOW)
    with pytest.raises(ForgedError):
        Verifier().verify(new_secret(), sign(SECRET, "m1", CALLER, ASKED, NOW), ASKED, NOW)
    changed = sign(SECRET, "m1", CALLER, ASKED, NOW)
    with pytest.raises(ForgedError):
        Verifier().verify(SECRET, changed[:20] + "x" + changed[21:], ASKED, NOW)


def test_what_was_used_is_forgotten_in_time() -> None:
    verifier = Verifier()
    for moment in range(0, 1000, 10):
        header = sign(SECRET, "m1", CALLER, ASKED, NOW + moment)
        verifier.verify(SECRET, header, ASKED, NOW + moment)
    assert len(verifier._used) <= 2 * SKEW / 10 + 1
