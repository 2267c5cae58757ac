"""Claims of switches, and how they go from member to member."""

from __future__ import annotations

import pytest

from ofapp.bridge.event import Event
from ofapp.controller.cluster.election.generation_base import GenerationBase, GenerationBases
from ofapp.controller.cluster.election.ownership import Claim, Claims
from ofapp.controller.cluster.etcd.etcd import UnreachableError
from ofapp.controller.cluster.etcd.keys import Keys
from ofapp.openflow.wire.requests import RequestError
from tests.support.etcd import FakeClient, FakeEtcd

KEYS = Keys("test")


class Member:
    """One that only claims."""

    def __init__(self, etcd: FakeEtcd, name: str) -> None:
        self.name = name
        self.client: FakeClient = etcd.client()
        self.claims = Claims(self.client, KEYS)
        self.heard: list[tuple[int, str | None]] = []
        self.claims.on_change(
            lambda switch, claim: self.heard.append((switch, claim and claim.member))
        )
        self.claims.start()
        self.lease = self.client.grant(2).number
        self.events: list[Event] = []
        self.generation_bases = GenerationBases(
            self.client, KEYS, self.claims, lambda _bridge, event: self.events.append(event)
        )

    def claim(self, switch: int = 1) -> Claim | None:
        return self.claims.claim(switch, self.lease, self.name, "as a test wants it")


@pytest.fixture
def etcd() -> FakeEtcd:
    return FakeEtcd()


@pytest.fixture
def pair(etcd: FakeEtcd) -> tuple[Member, Member]:
    return Member(etcd, "a"), Member(etcd, "b")


def test_a_switch_has_one_owner(pair: tuple[Member, Member]) -> None:
    a, b = pair
    claim = a.claim()
    assert claim is not None
    assert b.claim() is None
    assert a.claim() == claim, "it is the claim that is there"
    assert b.claims.of(1) == claim
    assert b.heard == [(1, "a")]


def test_terms_grow_from_owner_to_owner(etcd: FakeEtcd, pair: tuple[Member, Member]) -> None:
    a, b = pair
    first = a.claim()
    etcd.advance(3)  # both leases end
    assert b.heard == [(1, "a"), (1, None)]
    assert b.claims.former(1) == "a"
    b.lease = b.client.grant(2).number
    second = b.claim()
    assert first is not None
    assert second is not None
    assert second.term > first.term
    assert b.claims.hand_over(second, a.client.grant(2).number, "a", "back")
    third = a.claims.of(1)
    assert third is not None
    assert third.term > second.term
    assert b.heard[-2:] == [(1, "b"), (1, "a")], "at no time it has no owner"


def test_only_the_owner_hands_over_and_releases(pair: tuple[Member, Member]) -> None:
    a, b = pair
    first = a.claim()
    assert first is not None
    assert a.claims.hand_over(first, b.lease, "b", "")
    assert not a.claims.hand_over(first, a.lease, "a", "")
    a.claims.release(first)
    owner = b.claims.of(1)
    assert owner is not None
    assert owner.member == "b"
    b.claims.release(owner)
    assert a.claims.of(1) is None


def test_a_claim_that_was_made_without_an_answer_is_found(pair: tuple[Member, Member]) -> None:
    a, _b = pair
    a.client.deaf = True
    with pytest.raises(UnreachableError):
        a.claim()
    a.client.deaf = False
    claim = a.claim()
    assert claim is not None
    assert claim.lease == a.lease


def test_older_news_change_nothing(etcd: FakeEtcd, pair: tuple[Member, Member]) -> None:
    a, b = pair
    etcd.delayed = True
    claim = b.claim()
    assert claim is not None
    b.claims.release(claim)
    etcd.delayed = False
    again = b.claim()
    etcd.deliver()
    assert b.claims.of(1) == again
    assert a.claims.of(1) == again


def test_a_gap_in_the_news_is_made_up_for(etcd: FakeEtcd, pair: tuple[Member, Member]) -> None:
    a, b = pair
    a.claim(1)
    b.client.cut = True
    a.claim(2)
    gone = a.claims.of(1)
    assert gone is not None
    a.claims.release(gone)
    etcd.compact()
    b.client.cut = False
    etcd.deliver()
    assert b.claims.of(1) is None
    assert b.claims.of(2) is not None


def test_what_somebody_else_has_put_there_is_nobody_we_know(
    etcd: FakeEtcd, pair: tuple[Member, Member]
) -> None:
    a, b = pair
    a.client.put(KEYS.owner(7), b"not ours", a.lease)
    owner = b.claims.of(7)
    assert owner is not None
    assert owner.member == "?"
    assert b.claim(7) is None


def test_a_switch_that_was_reported_later_terms_gets_terms_above_them(
    pair: tuple[Member, Member],
) -> None:
    a, b = pair
    claim = a.claim()
    assert claim is not None
    base = a.generation_bases.above(claim, claim.term, seen=5000)
    assert base.generation(claim.term) > 5000
    assert [event.kind for event in a.events] == ["cluster.term"]
    assert a.generation_bases.above(claim, claim.term, seen=5000) == base, "it is written down"
    assert len(a.events) == 1
    assert a.claims.hand_over(claim, b.lease, "b", "")
    later = b.claims.of(1)
    assert later is not None
    seen = base.generation(claim.term)
    assert b.generation_bases.above(later, later.term, seen).generation(later.term) > seen
    with pytest.raises(RequestError, match="claimed by another"):
        a.generation_bases.above(claim, claim.term, seen=9000)


def test_generations_are_compared_as_a_sequence() -> None:
    last = (1 << 64) - 1
    assert GenerationBase(last).is_above(term=5, seen=last)
    assert not GenerationBase(0).is_above(term=5, seen=5000)
    assert GenerationBase(0).is_above(term=5, seen=5)


@pytest.mark.parametrize("name", ["zzz", "0000000000000001/x", "00", "000000000000000G"])
def test_keys_that_are_no_claims_stop_nothing(
    etcd: FakeEtcd, pair: tuple[Member, Member], name: str
) -> None:
    a, b = pair
    a.client.put(KEYS.owners + name, b"x")
    c = Member(etcd, "c")
    assert a.claim(2) is not None
    for member in (a, b, c):
        assert member.claims.known
        assert [claim.datapath_id for claim in member.claims.all()] == [2]


@pytest.mark.parametrize("value", [b"x", b"[" * 100_000, b'{"member": "b", "since": 1e999}'])
def test_what_no_member_has_put_is_no_claim_and_is_replaced(
    pair: tuple[Member, Member], value: bytes
) -> None:
    a, b = pair
    a.client.put(KEYS.owner(1), value)
    assert b.claims.of(1) is None
    claim = b.claim(1)
    assert claim is not None
    assert claim == a.claims.of(1)
    a.client.put(KEYS.owner(1), value)
    assert b.claims.of(1) is None, "the owner lets go"
    assert b.claim(1) is not None
    a.client.put(KEYS.owner(2), value, a.lease)
    assert b.claim(2) is None
    owner = b.claims.of(2)
    assert owner is not None
    assert owner.member == "?"
