"""One process goes by a member's name: another one reports it, and takes nothing."""

from __future__ import annotations

import pytest

from ofapp.bridge.event import Event
from ofapp.common import hub
from ofapp.controller.cluster.election.lease_keeper import LeaseKeeper
from ofapp.controller.cluster.etcd.keys import Keys
from ofapp.controller.cluster.peers.members import Members
from tests.support.etcd import FakeEtcd
from tests.support.waiting import wait_for

KEYS = Keys("test")


class Process:
    """One by the name of a."""

    def __init__(self, etcd: FakeEtcd, place: str) -> None:
        self.etcd = etcd
        self.events: list[Event] = []
        self.client = etcd.client()
        self.members = Members(
            self.client, KEYS.root, "a", lambda _bridge, event: self.events.append(event), place
        )
        self.members.start()
        self.lease_keeper = LeaseKeeper(self.client, 2.0, self)

    def leased(self, number: int) -> None:
        self.members.register(number, "1")

    def lost(self, why: str) -> None: ...

    def regained(self) -> None: ...

    @property
    def kinds(self) -> list[str]:
        return [event.kind for event in self.events if "duplicate" in event.kind]

    @property
    def states(self) -> list[str]:
        return [one.state for one in self.members.all()]


@pytest.fixture
def etcd() -> FakeEtcd:
    return FakeEtcd()


@pytest.fixture
def first(etcd: FakeEtcd) -> Process:
    process = Process(etcd, "one")
    process.lease_keeper.turn()
    return process


@pytest.mark.parametrize("place", ["two", ""])
def test_a_second_process_takes_nothing_until_the_first_has_ended(
    etcd: FakeEtcd, first: Process, place: str
) -> None:
    second = Process(etcd, place)
    for _ in range(5):
        second.lease_keeper.turn()
        etcd.advance(0.5)
        first.lease_keeper.turn()
    assert not second.lease_keeper.holds
    assert second.kinds == ["cluster.duplicate"]
    assert "another --member" in second.events[-1].message
    assert len(etcd.leases) == 1
    assert first.states == ["ready"]
    first.lease_keeper.give_up()
    second.lease_keeper.turn()
    assert second.lease_keeper.held.number
    assert second.kinds == ["cluster.duplicate", "cluster.duplicate.cleared"]


def test_a_member_that_is_started_again_need_not_wait(etcd: FakeEtcd, first: Process) -> None:
    lease = first.lease_keeper.held.number
    first.client.cut = True  # it was killed
    again = Process(etcd, "one")
    again.lease_keeper.turn()
    assert again.lease_keeper.held.number
    assert lease not in etcd.leases
    assert again.states == ["ready"]
    assert again.kinds == []


def test_two_that_take_each_other_for_their_former_selves_do_not_alternate(
    etcd: FakeEtcd, first: Process
) -> None:
    """Clones of one machine, say."""
    clone = Process(etcd, "one")
    clone.lease_keeper.turn()
    first.lease_keeper.turn()
    first.lease_keeper.turn()
    assert first.kinds == ["cluster.duplicate"]
    clone.lease_keeper.turn()
    assert clone.kinds == []
    assert clone.lease_keeper.held.number in etcd.leases


def _wait_registered(etcd: FakeEtcd, process: Process) -> None:
    """Wait until the record of the name is that of the process."""

    def registered() -> bool:
        record = etcd.records.get(KEYS.members + "a")
        return record is not None and record.lease == process.lease_keeper.held.number

    wait_for(registered, "the process to be registered", sleep=hub.sleep)


@pytest.mark.parametrize("value", [None, b"x"])
def test_a_record_that_was_deleted_or_replaced_by_hand_is_put_again(
    etcd: FakeEtcd, first: Process, value: bytes | None
) -> None:
    key = KEYS.members + "a"
    by_hand = etcd.client()
    by_hand.delete(key) if value is None else by_hand.put(key, value)
    _wait_registered(etcd, first)
    assert first.states == ["ready"]


def test_after_a_process_that_knows_no_better_has_taken_the_name_it_is_taken_back(
    etcd: FakeEtcd, first: Process
) -> None:
    """One of an earlier version, which just puts its record."""
    other = etcd.client()
    lease = other.grant(2).number
    other.put(KEYS.members + "a", b'{"address": "http://192.0.2.1:1", "since": 1}', lease)
    wait_for(lambda: first.kinds == ["cluster.duplicate"], "a duplicate", sleep=hub.sleep)
    other.revoke(lease)
    _wait_registered(etcd, first)
    assert first.kinds == ["cluster.duplicate", "cluster.duplicate.cleared"]
    assert first.states == ["ready"]
