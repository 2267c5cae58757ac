"""etcd is wiped, or restored from a snapshot, while members know more than it does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ofapp.bridge.event import Event
from ofapp.common import hub
from ofapp.controller.cluster.etcd import history as module
from ofapp.controller.cluster.etcd.etcd import EtcdError, Put, WatchResponse, absent, modified
from ofapp.controller.cluster.etcd.guard import AnotherHistoryError, GuardedEtcd
from ofapp.controller.cluster.etcd.history import History
from ofapp.controller.cluster.etcd.keys import Keys
from ofapp.controller.cluster.sharing.state import SharedState
from ofapp.controller.state import NotSavedError, RunTimeEntries, StaticEntry, saving
from ofapp.controller.state.settings import RunTimeSettings
from tests.support.etcd import FakeClient, FakeEtcd
from tests.support.waiting import wait_for

KEYS = Keys("test")
TOKENS = KEYS.of("tokens.json")
ENTRIES = KEYS.of("entries-0000000000000001.json")
OWNER = KEYS.owner(1)
SETTINGS = RunTimeSettings({}, {"ageing_time": 7}, {})


class Member:
    """One that keeps documents, and has a lease."""

    def __init__(self, etcd: FakeEtcd) -> None:
        self.client: FakeClient = etcd.client()
        self.events: list[Event] = []

        def emit(_bridge: int | None, event: Event) -> None:
            self.events.append(event)

        self.etcd = GuardedEtcd(self.client, KEYS, emit)
        self.history = History(self.etcd, KEYS, emit)
        self.history.begin()
        self.heard: list[WatchResponse] = []
        self.etcd.watch(KEYS.common, self.heard.append)
        self.etcd.watch(KEYS.drained, lambda _changes: None)
        self.lease = self.etcd.grant(10).number
        self.why: list[str] = []

    def forked(self, why: str) -> int:
        self.why.append(why)
        return self.lease

    def recovered(self, unchanged: object) -> None:
        """See `History`."""

    def look(self) -> None:
        self.history.look(self)

    def get(self, key: str) -> bytes | None:
        record = self.etcd.get(key)
        return None if record is None else record.value

    @property
    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]


@pytest.fixture
def etcd() -> FakeEtcd:
    return FakeEtcd()


@pytest.fixture
def pair(etcd: FakeEtcd) -> tuple[Member, Member]:
    return Member(etcd), Member(etcd)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RETRY", 0.01)


def test_as_long_as_it_goes_on_nothing_is_reported(pair: tuple[Member, Member]) -> None:
    for member in pair:
        member.look()
        assert member.events == []
        assert member.history.number == 0
    assert pair[0].history.generation(17) == 17


def test_after_it_was_wiped_what_members_know_is_there_again(
    etcd: FakeEtcd, pair: tuple[Member, Member]
) -> None:
    a, b = pair
    a.etcd.put(TOKENS, b"two")
    a.etcd.put(KEYS.drained + "c", b"{}")
    b.etcd.put(ENTRIES, b"of b's switch")
    etcd.wipe()
    for member in pair:
        member.look()
        assert member.kinds == ["cluster.history", "cluster.history.cleared"]
        assert member.history.number == 1
    assert a.get(TOKENS) == b"two"
    assert a.get(KEYS.drained + "c") == b"{}"
    assert a.get(ENTRIES) == b"of b's switch"
    assert a.history.generation(3) > 1 << 40
    a.look()
    b.look()
    assert len(a.events) == len(b.events) == 2


def test_nothing_is_reported_the_new_one_before_all_is_there_again(
    etcd: FakeEtcd, pair: tuple[Member, Member]
) -> None:
    a, _ = pair
    a.etcd.put(TOKENS, b"two")
    a.heard.clear()
    etcd.wipe()
    with pytest.raises(AnotherHistoryError):
        a.etcd.range(KEYS.common)
    for call in (
        lambda: a.etcd.get(TOKENS),
        lambda: a.etcd.grant(2),
        lambda: a.etcd.renew(a.lease),
        lambda: a.etcd.transact([absent(TOKENS)], [Put(TOKENS, b"")]),
    ):
        with pytest.raises(AnotherHistoryError, match="written back first"):
            call()
    etcd.apply([Put(KEYS.common + "x", b"")])
    assert a.heard == []
    a.look()
    assert a.heard[0].whole
    assert a.heard[0].anew
    assert TOKENS in {change.key for change in a.heard[0].changes}


def test_a_snapshot_that_is_restored_gets_what_was_changed_since(
    etcd: FakeEtcd, pair: tuple[Member, Member]
) -> None:
    a, b = pair
    a.etcd.put(TOKENS, b"with one that is revoked later")
    a.etcd.put(KEYS.drained + "c", b"{}")
    a.etcd.put(ENTRIES, b"old")
    snapshot = etcd.snapshot()
    a.etcd.put(TOKENS, b"without it")
    a.etcd.delete(KEYS.drained + "c")
    b.etcd.put(ENTRIES, b"new")
    etcd.restore(snapshot)
    for member in pair:
        member.look()
    assert a.get(TOKENS) == b"without it"
    assert a.get(KEYS.drained + "c") is None
    assert a.get(ENTRIES) == b"new", "of b, which wrote later than a"


def test_the_later_copy_counts_also_when_the_earlier_comes_first(
    etcd: FakeEtcd, pair: tuple[Member, Member]
) -> None:
    a, b = pair
    a.etcd.put(ENTRIES, b"a's")
    b.etcd.put(ENTRIES, b"b's")
    etcd.wipe()
    a.look()
    assert a.get(ENTRIES) == b"a's"
    b.look()
    assert a.get(ENTRIES) == b"b's"


@pytest.mark.parametrize("deleted", [False, True])
def test_what_was_set_in_the_new_one_is_left(
    etcd: FakeEtcd, pair: tuple[Member, Member], deleted: bool
) -> None:
    a, b = pair
    a.etcd.put(TOKENS, b"of before")
    etcd.wipe()
    a.look()
    if deleted:
        a.etcd.delete(TOKENS)
    else:
        a.etcd.put(TOKENS, b"set since")
    b.look()
    assert a.get(TOKENS) == (None if deleted else b"set since")


def test_documents_of_a_switch_that_was_claimed_are_left_to_its_owner(
    etcd: FakeEtcd, pair: tuple[Member, Member]
) -> None:
    a, b = pair
    b.etcd.put(ENTRIES, b"b's")
    etcd.wipe()
    a.look()
    assert a.etcd.transact([absent(OWNER)], [Put(OWNER, b"", a.etcd.grant(5).number)]).done
    b.look()
    assert a.get(ENTRIES) is None


def test_claims_that_a_snapshot_holds_under_a_lease_of_before_end_with_it(
    etcd: FakeEtcd, pair: tuple[Member, Member]
) -> None:
    a, b = pair
    a.etcd.put(OWNER, b"", a.lease)
    snapshot = etcd.snapshot()
    b.etcd.put(ENTRIES, b"x")
    a.look()
    etcd.restore(snapshot)
    a.look()
    assert b.client.get(OWNER) is None


def test_one_that_was_away_meanwhile_finds_out_although_the_revision_has_caught_up(
    etcd: FakeEtcd, pair: tuple[Member, Member]
) -> None:
    a, b = pair
    b.client.cut = True
    etcd.wipe()
    a.look()
    for _ in range(50):
        a.etcd.put(KEYS.root + "else", b"")
    with pytest.raises(EtcdError):
        b.look()
    b.client.cut = False
    b.look()
    assert b.kinds == ["cluster.history", "cluster.history.cleared"]
    assert b.history.number == a.history.number == 1


def test_one_that_missed_two_histories_writes_nothing_back(
    etcd: FakeEtcd, pair: tuple[Member, Member]
) -> None:
    a, b = pair
    b.etcd.put(ENTRIES, b"of long ago")
    b.client.cut = True
    for _ in range(2):
        etcd.wipe()
        a.look()
    b.client.cut = False
    b.look()
    assert b.history.number == 2
    assert a.get(ENTRIES) is None


def test_it_goes_on_trying_while_etcd_does_not_answer(
    etcd: FakeEtcd, pair: tuple[Member, Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, _ = pair
    a.etcd.put(TOKENS, b"two")
    etcd.wipe()
    tries: list[int] = []
    transact: Callable[..., Any] = a.client.transact

    def seldom(*asked: Any) -> Any:
        tries.append(1)
        if len(tries) < 4:
            raise EtcdError("etcd does not answer")
        return transact(*asked)

    monkeypatch.setattr(a.client, "transact", seldom)
    a.look()
    assert a.get(TOKENS) == b"two"
    assert a.kinds == ["cluster.history", "cluster.history.cleared"]


def test_a_history_key_that_is_nothing_is_replaced(
    etcd: FakeEtcd, pair: tuple[Member, Member]
) -> None:
    a, _ = pair
    for value in (b"x", b"[]", b'{"number": "x"}'):
        etcd.apply([Put(KEYS.history, value)])
        a.look()
        a.look()
        assert a.kinds[-2:] == ["cluster.invalid", "cluster.invalid.cleared"]
        record = etcd.records[KEYS.history]
        assert record.value != value
        assert modified(KEYS.history, record.modified)


def test_what_was_set_while_etcd_was_away_is_saved_in_the_new_one(
    etcd: FakeEtcd, pair: tuple[Member, Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The owner still has it to write, and has written other documents of the switch before."""
    monkeypatch.setattr(saving, "RETRY", 0.02)
    a, _ = pair
    state = SharedState(None, lambda _bridge, event: a.events.append(event), a.etcd, KEYS)
    a.recovered = state.rebase  # type: ignore[method-assign]

    def claim() -> bool:
        outcome = a.etcd.transact([absent(OWNER)], [Put(OWNER, b"", a.etcd.grant(9).number)])
        assert outcome.done
        return state.take_over(1, outcome.revision, None)

    claim()
    state.settings.save(1, SETTINGS).wait()
    state.entries.save(
        1, RunTimeEntries((StaticEntry(1, "02:00:00:00:00:0a", "eth0"),), requested=True)
    ).wait()
    a.client.cut = True
    later = RunTimeEntries((StaticEntry(2, "02:00:00:00:00:0a", "eth0"),), requested=True)
    with pytest.raises(NotSavedError):
        state.entries.save(1, later).wait()
    etcd.wipe()
    a.client.cut = False
    a.look()
    assert claim(), "no other member has written since"
    assert state.entries.load(1) == later
    assert state.settings.load(1) == SETTINGS
    wait_for(lambda: state.unsaved is None, "all to be saved", sleep=hub.sleep)
    assert b'"vlan": 2' in (a.get(ENTRIES) or b"")
    assert "state.lost" not in a.kinds
    state.finish(1)
