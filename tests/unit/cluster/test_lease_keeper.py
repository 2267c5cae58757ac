"""A member's lease, in virtual time."""

from __future__ import annotations

import pytest

from ofapp.controller.cluster.election import lease_keeper as module
from ofapp.controller.cluster.election.lease_keeper import LeaseKeeper
from tests.support.etcd import FakeClient, FakeEtcd


class World:
    """etcd, one member's client, and what the member heard."""

    def __init__(self) -> None:
        self.etcd = FakeEtcd()
        self.client: FakeClient = self.etcd.client()
        self.heard: list[str] = []
        self.lease_keeper = LeaseKeeper(self.client, 2, self)

    def leased(self, number: int) -> None:
        assert number
        self.heard.append("leased")

    def lost(self, why: str) -> None:
        assert why
        self.heard.append("lost")

    def regained(self) -> None:
        self.heard.append("regained")

    def turns(self, count: int, seconds: float = 0.5) -> None:
        """Renewals, so many seconds apart."""
        for _ in range(count):
            self.etcd.advance(seconds)
            self.lease_keeper.turn()


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    world = World()
    monkeypatch.setattr(module, "clock", lambda: world.etcd.now)
    return world


def test_it_is_renewed(world: World) -> None:
    world.turns(20)
    assert world.heard == ["leased"]
    assert world.lease_keeper.holds
    assert len(world.etcd.leases) == 1


def test_it_is_lost_before_etcd_ends_it_and_had_again_when_it_lives_on(world: World) -> None:
    world.turns(1)
    world.client.cut = True
    world.turns(3)
    assert world.lease_keeper.holds
    world.turns(1, 0.4)
    assert not world.lease_keeper.holds
    assert world.etcd.leases, "etcd must not have ended it yet"
    assert world.heard == ["leased", "lost"]
    world.client.cut = False
    world.turns(1, 0.05)
    assert world.heard == ["leased", "lost", "regained"]
    assert world.lease_keeper.holds


def test_another_one_is_had_when_it_has_ended(world: World) -> None:
    world.turns(1)
    first = world.lease_keeper.held
    world.client.put("something", b"")
    world.etcd.advance(60)  # stopped, say
    assert not world.lease_keeper.holds
    world.lease_keeper.turn()
    world.lease_keeper.turn()
    assert world.heard == ["leased", "lost", "leased"]
    assert world.lease_keeper.held.number != first.number
    assert not first.deadline.holds(world.etcd.now)


def test_an_answer_that_does_not_come_counts_for_nothing(world: World) -> None:
    world.turns(1)
    world.client.deaf = True  # etcd does renew it
    world.turns(8)
    assert not world.lease_keeper.holds
    assert world.heard == ["leased", "lost"]


def test_one_that_is_given_up_is_over_at_once(world: World) -> None:
    world.turns(1)
    deadline = world.lease_keeper.held.deadline
    world.lease_keeper.give_up()
    assert not deadline.holds(world.etcd.now)
    assert not world.etcd.leases
