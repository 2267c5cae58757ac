"""Documents that etcd has not acknowledged: kept, written again, and reported as what they are."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ofapp.common import hub
from ofapp.controller.access import Tokens, UserRole
from ofapp.controller.access.tokens import TOKENS
from ofapp.controller.cluster.etcd.etcd import Delete, Put, absent
from ofapp.controller.cluster.etcd.keys import Keys
from ofapp.controller.cluster.sharing.state import SharedState
from ofapp.controller.state import NotSavedError, RunTimeEntries, StaticEntry, saving
from ofapp.controller.state.settings import RunTimeSettings
from tests.support.etcd import FakeClient, FakeEtcd
from tests.support.waiting import wait_for
from tests.unit.recorded_events import RecordedEvents

KEYS = Keys("test")
ENTRIES = RunTimeEntries((StaticEntry(7, "02:00:00:00:00:0a", "eth0"),), requested=True)
OTHERS = RunTimeEntries((StaticEntry(0, "02:00:00:00:00:0b", "eth1"),), requested=True)
SETTINGS = RunTimeSettings({}, {"ageing_time": 7}, {})


class Member:
    """One that has claimed bridge 1."""

    def __init__(self, etcd: FakeEtcd, marks: dict[int, int | None]) -> None:
        self.etcd = etcd
        self.marks = marks
        self.events = RecordedEvents()
        self.client = etcd.client()
        self.state = SharedState(None, self.events, self.client, KEYS)
        self.state.write_marks(marks.__setitem__)

    def claim(self) -> bool:
        """Claim again, after any former claim."""
        self.etcd.apply([Delete(KEYS.owner(1))])
        claim = self.client.transact([absent(KEYS.owner(1))], [Put(KEYS.owner(1), b"")])
        return self.state.take_over(1, claim.revision, self.marks.get(1))

    def change_all(self) -> None:
        """One document of each kind."""
        with pytest.raises(NotSavedError, match="not saved yet: etcd does not answer"):
            self.state.entries.save(1, ENTRIES).wait()
        with pytest.raises(NotSavedError, match="not saved yet"):
            self.state.settings.save(1, SETTINGS).wait()
        self.state.snapshots["stp"].invalidate(1, {"behind": {}})
        self.state.snapshots["stp"].save(1, {"tree": "new"})
        self.state.snapshots["lacp"].save(1, {"lags": ["new"]})
        hub.sleep(0.01)

    def knows_all(self) -> bool:
        """Whether it has what `change_all` has changed."""
        state = self.state
        return (
            state.entries.load(1) == ENTRIES
            and state.settings.load(1) == SETTINGS
            and state.snapshots["stp"].load(1) == {"tree": "new"}
            and state.snapshots["lacp"].load(1) == {"lags": ["new"]}
        )


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Member]:
    monkeypatch.setattr(saving, "RETRY", 0.05)
    etcd, marks = FakeEtcd(), dict[int, int | None]()
    return lambda: Member(etcd, marks)


@pytest.fixture
def owner(make: Callable[[], Member]) -> Member:
    owner = make()
    owner.claim()
    return owner


def cut(client: FakeClient) -> None:
    client.cut = True


def deafen(client: FakeClient) -> None:
    """What is written arrives, and is not acknowledged."""
    client.deaf = True


def heal(client: FakeClient) -> None:
    client.cut = client.deaf = False


def owner_is_superseded(make: Callable[[], Member], owner: Member) -> None:
    """It is cut off and has changed something when another member takes over."""
    cut(owner.client)
    owner.change_all()
    other = make()
    other.claim()
    other.state.entries.save(1, OTHERS).wait()
    assert other.state.saved(1)


@pytest.mark.parametrize("fault", [cut, deafen])
@pytest.mark.parametrize("again", [False, True], ids=["same-claim", "claimed-again"])
def test_all_kinds_are_written_when_etcd_is_back(
    make: Callable[[], Member], owner: Member, fault: Callable[[FakeClient], None], again: bool
) -> None:
    """Under the same claim, and where the lease has ended and this member claims again."""
    fault(owner.client)
    owner.change_all()
    assert "etcd does not answer" in str(owner.state.unsaved)
    assert owner.events.kinds == ["state.unsaved"]
    heal(owner.client)
    if again:
        assert owner.claim()
    owner.state.retry()
    owner.events.wait_for("state.saved")
    assert owner.state.unsaved is None
    assert owner.events.kinds == ["state.unsaved", "state.saved"]
    wait_for(lambda: owner.state.saved(1), "all to be saved", sleep=hub.sleep)
    other = make()
    other.claim()
    assert other.knows_all()
    assert not other.events


def test_they_are_written_while_no_member_has_the_switch(
    make: Callable[[], Member], owner: Member
) -> None:
    cut(owner.client)
    owner.change_all()
    owner.etcd.apply([Delete(KEYS.owner(1))])
    heal(owner.client)
    wait_for(lambda: owner.state.saved(1), "all to be saved", sleep=hub.sleep)
    other = make()
    other.claim()
    assert other.knows_all()


def test_they_are_lost_when_another_member_has_it_and_that_is_reported(
    make: Callable[[], Member], owner: Member
) -> None:
    owner_is_superseded(make, owner)
    before = dict(owner.etcd.records)
    heal(owner.client)
    owner.events.wait_for("state.lost")
    assert owner.events.kinds == ["state.unsaved", "state.lost"]
    assert "static entries, bindings and settings" in owner.events[-1].message
    wait_for(lambda: owner.state.unsaved is None, "nothing to be unsaved", sleep=hub.sleep)
    assert owner.events.kinds == ["state.unsaved", "state.lost"]
    assert owner.etcd.records == before


def test_what_another_member_wrote_meanwhile_counts(
    make: Callable[[], Member], owner: Member
) -> None:
    """Although this one has not heard that it had the switch."""
    owner_is_superseded(make, owner)
    heal(owner.client)
    assert not owner.claim()
    assert owner.state.entries.load(1) == OTHERS
    assert owner.events.kinds == ["state.unsaved", "state.lost"]


def test_another_change_of_tokens_is_reported_from_an_own_one_that_was_not_acknowledged(
    make: Callable[[], Member],
) -> None:
    here, there = make(), make()
    own = Tokens(here.state.storage, here.events)
    deafen(here.client)
    with pytest.raises(NotSavedError, match="not saved yet"):
        own.create("first", UserRole.VIEWER, "root", 0)[1].wait()
    heal(here.client)
    own.create("second", UserRole.VIEWER, "root", 0)[1].wait()
    other = Tokens(make().state.storage, there.events)
    assert [token.name for token in other] == ["first", "second"]


def test_tokens_whose_key_is_deleted_stay_valid(make: Callable[[], Member]) -> None:
    """A member would otherwise serve every process of its host as administrator at once."""
    member = make()
    tokens = Tokens(member.state.storage, member.events)
    member.state.watch(TOKENS, tokens.reload)
    secret, saved = tokens.create("first", UserRole.VIEWER, "root", 0)
    saved.wait()
    key = KEYS.of("tokens.json")
    member.etcd.apply([Delete(key)])
    wait_for(lambda: member.events.kinds, "the event", sleep=hub.sleep)
    assert member.events.kinds == ["state.damaged"]
    assert tokens.made
    assert tokens.find(secret)
    wait_for(lambda: member.client.get(key), "the tokens to be written again", sleep=hub.sleep)
