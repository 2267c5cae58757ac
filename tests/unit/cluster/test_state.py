"""What outlives a controller, in files and in etcd: the same tests for both; and etcd's own."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ofapp.common import hub
from ofapp.controller.access import Tokens, UserRole
from ofapp.controller.access.tokens import TOKENS
from ofapp.controller.cluster.etcd.etcd import Etcd, Put, absent
from ofapp.controller.cluster.etcd.gateway import Access, Gateway
from ofapp.controller.cluster.etcd.keys import Keys
from ofapp.controller.cluster.sharing.state import SharedState
from ofapp.controller.state import MdbEntry, NotSavedError, RunTimeEntries, StaticEntry, saving
from ofapp.controller.state.settings import RunTimeSettings
from ofapp.controller.state.store import State
from tests.support.etcd import FakeClient, FakeEtcd
from tests.support.waiting import wait_for
from tests.unit.recorded_events import RecordedEvents

ENTRY = StaticEntry(7, "02:00:00:00:00:0a", "eth0")
OTHER = StaticEntry(0, "02:00:00:00:00:0b", "eth1")
GROUP = MdbEntry(7, "ff05::7", "eth0", "fe80::1", proto="zebra")
ASKED = RunTimeEntries((ENTRY, GROUP), requested=True)
SETTINGS = "settings-0000000000000001.json"
NUMBERS = b'{"version": 1, "filed": {}, "running": {}, "numbers": {"eth0": "one"}}'

_numbers = itertools.count()


class Switch:
    """What a switch keeps for its owners: the mark."""

    def __init__(self) -> None:
        self.marks: dict[int, int | None] = {}

    def set_mark(self, datapath_id: int, mark: int | None) -> None:
        self.marks[datapath_id] = mark


class FilesStore:
    """One controller after the other, on one directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.events = RecordedEvents()

    def open(self, *bridges: int) -> State:
        """The next controller, which owns these."""
        del bridges
        return State(self.directory, self.events)

    def end(self, state: State) -> None:
        """As a crash does, but for what is being written."""
        state.finish(5)


class EtcdStore:
    """One member after the other: each claims what it owns, once the last one's claim is
    gone."""

    def __init__(self, client: Callable[[], Etcd]) -> None:
        self.keys = Keys(f"test-{os.getpid()}-{next(_numbers)}")
        self.client = client
        self.switch = Switch()
        self.events = RecordedEvents()

    def open(self, *bridges: int) -> SharedState:
        state = SharedState(None, self.events, self.client(), self.keys)
        state.write_marks(self.switch.set_mark)
        for bridge in bridges:
            self.claim(state, bridge)
        return state

    def claim(self, state: SharedState, bridge: int) -> None:
        etcd, key = self.client(), self.keys.owner(bridge)
        etcd.delete(key)
        term = etcd.transact([absent(key)], [Put(key, b"")]).revision
        state.take_over(bridge, term, self.switch.marks.get(bridge))

    def end(self, state: State) -> None:
        state.finish(5)


Store = FilesStore | EtcdStore


@pytest.fixture(params=["files", "fake", "real"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param == "files":
        yield FilesStore(tmp_path)
    elif request.param == "fake":
        yield EtcdStore(FakeEtcd().client)
    else:
        gateway = Gateway(Access(request.getfixturevalue("real_etcd").endpoints))
        yield EtcdStore(lambda: gateway)
        gateway.close()


def kept(state: State, bridge: int = 1) -> RunTimeEntries | None:
    entries = state.entries.load(bridge)
    return None if entries is None else RunTimeEntries(entries.entries)


class TestEveryStore:
    def test_keeps_entries_for_the_next(self, store: Store) -> None:
        state = store.open(1, 2)
        state.entries.save(1, ASKED).wait()
        state.entries.save(1, ASKED).wait()
        again = store.open(1, 2)
        assert kept(again) == RunTimeEntries((ENTRY, GROUP))
        assert kept(again, 2) is None
        again.entries.save(1, RunTimeEntries(requested=True)).wait()
        assert kept(store.open(1)) == RunTimeEntries()
        last = store.open(1)
        last.entries.forget(1).wait()
        assert kept(store.open(1)) is None
        assert not store.events

    def test_keeps_settings_for_the_next(self, store: Store) -> None:
        settings = RunTimeSettings({}, {"ageing_time": 7, "ports": {"eth0": {}}}, {"eth0": 1})
        state = store.open(1, 2)
        state.settings.save(1, settings).wait()
        again = store.open(1, 2)
        assert again.settings.load(1) == settings
        assert again.settings.load(2) is None
        again.settings.forget(1).wait()
        assert store.open(1).settings.load(1) is None
        assert not store.events

    @pytest.mark.parametrize("data", [b"{", b"[]", b'{"version": 1}', b'{"version": 9}', NUMBERS])
    def test_sets_aside_what_are_no_settings(self, store: Store, data: bytes) -> None:
        state = store.open(1)
        state.storage.put(SETTINGS, data, sync=True).wait()
        store.end(state)
        again = store.open(1)
        assert again.settings.load(1) is None
        assert store.events.kinds == ["state.damaged"]
        assert "set at run time is lost, and the file holds" in store.events[0].message
        store.end(again)
        assert store.open(1).settings.load(1) is None
        assert store.events.kinds == ["state.damaged"]

    def test_of_what_changes_while_it_is_saved_the_last_is_kept(self, store: Store) -> None:
        state = store.open(1)
        entries = [StaticEntry(at, ENTRY.mac, "eth0") for at in range(30)]
        tickets = [
            state.entries.save(1, RunTimeEntries((entry,), requested=True)) for entry in entries
        ]
        for ticket in tickets:
            ticket.wait()
        assert kept(store.open(1)) == RunTimeEntries((entries[-1],))

    def test_keeps_what_protocols_know(self, store: Store) -> None:
        state = store.open(1, 2)
        state.snapshots["stp"].save(1, {"tree": 1})
        state.snapshots["stp"].save(1, {"tree": 2, "age": float("-inf")})
        state.snapshots["lacp"].save(1, {"lags": []})
        store.end(state)
        again = store.open(1, 2)
        assert again.snapshots["stp"].load(1) == {"tree": 2, "age": float("-inf")}
        assert again.snapshots["lacp"].load(1) == {"lags": []}
        assert again.snapshots["stp"].load(2) is None
        again.snapshots["stp"].forget(1)
        again.snapshots["lacp"].forget(1)
        store.end(again)
        last = store.open(1)
        assert (last.snapshots["stp"].load(1), last.snapshots["lacp"].load(1)) == (None, None)

    def test_large_ones_too(self, store: Store) -> None:
        state = store.open(1)
        tree = {"ports": [{"number": number, "role": "designated"} for number in range(40_000)]}
        state.snapshots["stp"].save(1, tree)
        store.end(state)
        assert store.open(1).snapshots["stp"].load(1) == tree

    def test_what_is_struck_out_counts_from_that_moment_on(self, store: Store) -> None:
        """Whether anything that follows can be written down or not."""
        state = store.open(1)
        state.snapshots["stp"].save(1, {"tree": "old"})
        store.end(state)
        assert store.open(1).snapshots["stp"].load(1) == {"tree": "old"}
        state = store.open(1)
        state.snapshots["stp"].invalidate(
            1, {"behind": {}}
        )  # and it dies, before anything else can run
        assert store.open(1).snapshots["stp"].load(1) in (None, {"behind": {}})

    def test_what_is_struck_out_leaves_what_is_known_then(self, store: Store) -> None:
        state = store.open(1)
        state.snapshots["stp"].save(1, {"tree": "old"})
        state.snapshots["stp"].invalidate(1, {"behind": {"3": 7}})
        store.end(state)
        again = store.open(1)
        assert again.snapshots["stp"].load(1) == {"behind": {"3": 7}}
        again.snapshots["stp"].save(1, {"tree": "new"})
        store.end(again)
        assert store.open(1).snapshots["stp"].load(1) == {"tree": "new"}

    def test_what_is_no_snapshot_is_set_aside_and_reported(self, store: Store) -> None:
        state = store.open(1)
        state.snapshots["stp"].save(1, {"tree": 1})
        store.end(state)
        again = store.open(1)
        again.snapshots["stp"].set_aside(1, "its ports are not a list")
        store.end(again)
        assert store.events.kinds == ["state.damaged"]
        message = store.events[0].message
        assert "its ports are not a list; its protocol starts again" in message
        assert "the file is bridge-0000000000000001" in message
        assert store.open(1).snapshots["stp"].load(1) is None

    def test_keeps_tokens(self, store: Store) -> None:
        state = store.open()
        tokens = Tokens(state.storage, store.events)
        secret, saved = tokens.create("grafana", UserRole.VIEWER, "root", 0)
        saved.wait()
        again = Tokens(store.open().storage, store.events)
        assert again.made
        found = again.find(secret)
        assert found is not None
        assert found.name == "grafana"
        again.revoke("grafana").wait()
        last = Tokens(store.open().storage, store.events)
        assert last.made
        assert last.find(secret) is None


@pytest.fixture
def etcd() -> FakeEtcd:
    return FakeEtcd()


@pytest.fixture
def members(etcd: FakeEtcd) -> EtcdStore:
    return EtcdStore(etcd.client)


def document(etcd: FakeEtcd, members: EtcdStore, name: str) -> Any:
    record = etcd.records.get(members.keys.of(name))
    return None if record is None else json.loads(record.value)


class TestWhoHasLostASwitch:
    def test_overwrites_nothing_of_its_next_owner(self, etcd: FakeEtcd, members: EtcdStore) -> None:
        former = members.open(1)
        former.entries.save(1, ASKED).wait()
        lost: list[int] = []
        former.on_lost = lost.append
        owner = members.open(1)  # former has been stopped, say, and knows of nothing
        owner.entries.save(1, RunTimeEntries((OTHER,), requested=True)).wait()
        owner.snapshots["stp"].save(1, {"tree": "the owner's"})
        owner.finish(5)
        before = dict(etcd.records)

        ticket = former.entries.save(1, RunTimeEntries(requested=True))
        former.snapshots["stp"].save(1, {"tree": "stale"})
        former.snapshots["lacp"].save(1, {})
        former.snapshots["stp"].forget(1)
        with pytest.raises(
            NotSavedError, match="does not hold: this member does not have the switch"
        ):
            ticket.wait()
        former.finish(5)
        assert etcd.records == before
        wait_for(lambda: lost, "that it has lost it", sleep=hub.sleep)
        assert members.events.kinds == []

    def test_writes_nothing_later_when_it_has_it_again(
        self, members: EtcdStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What could not be written of an earlier time is not written into a later one."""
        monkeypatch.setattr(saving, "RETRY", 0.05)
        client = members.client()
        assert isinstance(client, FakeClient)
        former = SharedState(None, members.events, client, members.keys)
        members.claim(former, 1)
        client.cut = True
        with pytest.raises(NotSavedError):
            former.entries.save(1, ASKED).wait()
        former.release(1)
        owner = members.open(1)
        owner.entries.save(1, RunTimeEntries((OTHER,), requested=True)).wait()
        client.cut = False
        members.claim(former, 1)
        assert kept(former) == RunTimeEntries((OTHER,))
        assert members.events.kinds == ["state.unsaved", "state.lost"]
        assert "could not be saved is lost" in members.events[-1].message
        assert former.unsaved is None
        assert kept(members.open(1)) == RunTimeEntries((OTHER,))

    def test_lets_go_once_what_it_was_writing_is_there(self, members: EtcdStore) -> None:
        former = members.open(1)
        former.entries.save(1, ASKED)
        former.snapshots["stp"].save(1, {"tree": 1})
        assert former.saved(1)
        former.release(1)
        assert kept(former) is None
        owner = members.open(1)
        assert kept(owner) == RunTimeEntries((ENTRY, GROUP))
        assert owner.snapshots["stp"].load(1) == {"tree": 1}


class TestEtcdThatIsAway:
    def test_is_reported_gone_on_without_and_written_again(
        self, etcd: FakeEtcd, members: EtcdStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(saving, "RETRY", 0.05)
        client = etcd.client()
        state = SharedState(None, members.events, client, members.keys)
        state.write_marks(members.switch.set_mark)
        members.claim(state, 1)
        state.snapshots["stp"].save(1, {"tree": "old"})
        state.finish(5)
        client.cut = True
        with pytest.raises(NotSavedError, match=r"not saved yet: etcd does not answer.*goes on"):
            state.entries.save(1, ASKED).wait()
        state.snapshots["stp"].invalidate(1, {"behind": {}})
        state.snapshots["stp"].save(1, {"tree": "new"})
        state.finish(0.2)
        assert members.events.kinds == ["state.unsaved"]
        assert kept(state) == RunTimeEntries((ENTRY, GROUP))
        # Another member takes over meanwhile: the old tree is there, but the switch says no.
        assert document(etcd, members, "bridge-0000000000000001.json")["snapshot"] == {
            "tree": "old"
        }
        other = SharedState(None, members.events, etcd.client(), members.keys)
        term = etcd.records[members.keys.owner(1)].modified
        other.take_over(1, term, members.switch.marks[1])
        assert other.snapshots["stp"].load(1) is None

        client.cut = False
        members.events.wait_for("state.saved")
        assert members.events.kinds == ["state.unsaved", "state.saved"]
        again = members.open(1)
        assert kept(again) == RunTimeEntries((ENTRY, GROUP))
        assert again.snapshots["stp"].load(1) == {"tree": "new"}

    def test_that_is_full_says_so(
        self, etcd: FakeEtcd, members: EtcdStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(saving, "RETRY", 0.05)
        state = members.open(1)
        etcd.full = True
        with pytest.raises(NotSavedError, match=r"etcd is full|space exceeded") as error:
            state.entries.save(1, ASKED).wait()
        assert error.value.full
        etcd.full = False
        members.events.wait_for("state.saved")
        assert kept(members.open(1)) == RunTimeEntries((ENTRY, GROUP))

    def test_that_has_done_what_it_did_not_say_is_not_taken_for_somebody_else(
        self, etcd: FakeEtcd, members: EtcdStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(saving, "RETRY", 0.05)
        client = etcd.client()
        state = SharedState(None, members.events, client, members.keys)
        members.claim(state, 1)
        client.deaf = True
        with pytest.raises(NotSavedError):
            state.entries.save(1, ASKED).wait()
        client.deaf = False
        state.entries.save(1, RunTimeEntries((OTHER,), requested=True)).wait()
        assert kept(members.open(1)) == RunTimeEntries((OTHER,))


def test_a_token_that_one_member_makes_or_revokes_is_known_to_all(members: EtcdStore) -> None:
    here, there = members.open(), members.open()
    own, other = (Tokens(state.storage, members.events) for state in (here, there))
    here.watch(TOKENS, own.reload)
    there.watch(TOKENS, other.reload)
    secret, saved = own.create("grafana", UserRole.VIEWER, "root", 0)
    saved.wait()
    assert other.made
    assert other.find(secret) is not None
    second, saved = other.create("backup", UserRole.ADMIN, "root", 0)
    saved.wait()
    assert own.find(second) is not None
    other.revoke("grafana").wait()
    assert own.find(secret) is None
    own.revoke("backup").wait()
    assert other.find(second) is None


def test_two_who_change_the_tokens_at_once_do_not_undo_each_other(
    etcd: FakeEtcd, members: EtcdStore
) -> None:
    etcd.delayed = True
    here, there = members.open(), members.open()
    own, other = (Tokens(state.storage, members.events) for state in (here, there))
    here.watch(TOKENS, own.reload)
    there.watch(TOKENS, other.reload)
    secret, saved = own.create("grafana", UserRole.VIEWER, "root", 0)
    saved.wait()
    _, unsaved = other.create("backup", UserRole.ADMIN, "root", 0)
    with pytest.raises(NotSavedError, match="another member has just changed it"):
        unsaved.wait()
    other.withdraw("backup")
    etcd.deliver()
    assert other.find(secret) is not None
    assert [token.name for token in other] == ["grafana"]
    other.create("backup", UserRole.ADMIN, "root", 0)[1].wait()
    etcd.deliver()
    assert [token.name for token in own] == ["backup", "grafana"]


def test_tokens_that_are_damaged_in_etcd_are_restored_by_who_knows_them(
    etcd: FakeEtcd, members: EtcdStore
) -> None:
    state = members.open()
    tokens = Tokens(state.storage, members.events)
    state.watch(TOKENS, tokens.reload)
    secret, ticket = tokens.create("ops", UserRole.ADMIN, "a test", 0.0)
    ticket.wait()
    key = members.keys.of(TOKENS.file())
    etcd.client().put(key, b"x")
    assert tokens.find(secret) is not None
    wait_for(lambda: b"ops" in etcd.records[key].value, "the tokens", sleep=hub.sleep)
    assert etcd.records[f"{key}.damaged"].value == b"x"
    assert tokens.find(secret) is not None
    assert Tokens(members.open().storage, members.events).find(secret) is not None
