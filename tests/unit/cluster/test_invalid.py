"""Keys below the cluster's prefix that are invalid: reported, passed over, and forgotten."""

from __future__ import annotations

import pytest

from ofapp.bridge.event import Event
from ofapp.controller.cluster.election.ownership import Claims
from ofapp.controller.cluster.etcd.etcd import WatchResponse
from ofapp.controller.cluster.etcd.guard import GuardedEtcd
from ofapp.controller.cluster.etcd.invalid import MAX_EVENTS, MOST
from ofapp.controller.cluster.etcd.keys import Keys
from ofapp.controller.cluster.peers.members import SECRET_OCTETS, Members
from tests.support.etcd import FakeEtcd
from tests.support.waiting import wait_for

KEYS = Keys("test")
SWITCH = "00000000000000aa"


class Member:
    """One that watches all."""

    def __init__(self, etcd: FakeEtcd) -> None:
        self.events: list[Event] = []
        self.etcd = GuardedEtcd(etcd.client(), KEYS, self._emit)
        self.heard: list[WatchResponse] = []
        self.etcd.watch(KEYS.root, self.heard.append)
        self.members = Members(self.etcd, KEYS.root, "a", self._emit)
        self.members.start()

    def _emit(self, _bridge: int | None, event: Event) -> None:
        self.events.append(event)

    @property
    def invalid(self) -> list[str]:
        return [key.removeprefix(KEYS.root) for key, _ in self.etcd.invalid.all()]


@pytest.fixture
def etcd() -> FakeEtcd:
    return FakeEtcd()


@pytest.fixture
def member(etcd: FakeEtcd) -> Member:
    return Member(etcd)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("owners/zzz", b"x"),
        (f"owners/{SWITCH}", b"x"),
        ("members/-", b"{}"),
        ("members/b", b'{"address": "", "since": 1}'),
        ("drained/a b", b"{}"),
        ("running/b", b"x"),
        ("wanted/1/b", b""),
        (f"unheard/{SWITCH}/b", b""),
        (f"bases/{SWITCH}0", b"1"),
        ("state/bridges/1/entries.json", b"{}"),
        (f"state/bridges/{SWITCH}/else.json", b"{}"),
        ("state/common/x/tokens.json", b"{}"),
        ("state/common/configuration.json", b"{}"),
        ("configuration/current", b"[" * 100_000),
        ("configuration/next", b"{}"),
        ("history", b"[]"),
        ("secret", b"short"),
        ("else", b""),
    ],
)
def test_is_reported_until_it_is_gone(
    etcd: FakeEtcd, member: Member, name: str, value: bytes
) -> None:
    client = etcd.client()
    client.put(KEYS.root + name, value)
    assert member.invalid == [name]
    assert [event.kind for event in member.events] == ["cluster.invalid"]
    assert name in member.events[0].message
    assert Member(etcd).invalid == [name], "one that starts later finds it, too"
    client.delete(KEYS.root + name)
    assert member.invalid == []
    assert member.events[-1].kind == "cluster.invalid.cleared"


def test_a_look_at_all_keys_finds_those_that_are_not_watched(etcd: FakeEtcd) -> None:
    events: list[Event] = []
    guarded = GuardedEtcd(etcd.client(), KEYS, lambda _bridge, event: events.append(event))
    client = etcd.client()
    client.put(f"{KEYS.root}state/bridges/{SWITCH}/entries.json", b"{}")
    for _ in range(2):
        client.put(f"{KEYS.root}state/bridges/x", b"{}")
        guarded.invalid.judge_all(guarded.keys(KEYS.root))
    assert [event.kind for event in events] == ["cluster.invalid"]
    client.delete(f"{KEYS.root}state/bridges/x")
    guarded.invalid.judge_all(guarded.keys(KEYS.root))
    assert [event.kind for event in events] == ["cluster.invalid", "cluster.invalid.cleared"]


def test_many_are_counted_and_few_reported_one_by_one(etcd: FakeEtcd, member: Member) -> None:
    client = etcd.client()
    for number in range(MOST + 1):
        client.put(f"{KEYS.root}x{number}", b"")
    assert len(member.etcd.invalid) == MOST
    assert len(member.events) == MAX_EVENTS


def test_what_members_put_is_valid(etcd: FakeEtcd, member: Member) -> None:
    lease = etcd.client().grant(9).number
    claims = Claims(member.etcd, KEYS)
    claims.claim(1, lease, "a", "")
    member.members.register(lease, "1")
    member.members.drain("a")
    member.members.secret()
    assert member.invalid == []


@pytest.mark.parametrize("how", ["deleted", "changed"])
def test_the_secret_is_restored_by_who_knows_it(etcd: FakeEtcd, member: Member, how: str) -> None:
    from ofapp.common import hub

    secret = member.members.secret()
    client = etcd.client()
    client.delete(KEYS.secret) if how == "deleted" else client.put(KEYS.secret, b"x")
    wait_for(
        lambda: KEYS.secret in etcd.records and etcd.records[KEYS.secret].value == secret,
        "the secret to be restored",
        sleep=hub.sleep,
    )
    assert member.members.secret() == secret
    new = bytes(SECRET_OCTETS)
    client.put(KEYS.secret, new)
    assert member.members.secret() == new


def test_an_invalid_secret_is_replaced_by_one_that_starts(etcd: FakeEtcd) -> None:
    etcd.client().put(KEYS.secret, b"x")
    member = Member(etcd)
    assert len(member.members.secret()) == SECRET_OCTETS
    assert member.invalid == []
