"""When a member claims a switch that has no owner."""

from __future__ import annotations

from typing import Any

import pytest

from ofapp.controller.cluster.election import election as module
from ofapp.controller.cluster.election import ownership as claims_module
from ofapp.controller.cluster.election.election import PATIENCE, TURN, Campaign, Election
from ofapp.controller.cluster.election.ownership import Claims
from ofapp.controller.cluster.election.placement import Candidate, line
from ofapp.controller.cluster.etcd.keys import Keys
from ofapp.openflow.switch.mastership.roles import StaleError
from tests.support.etcd import FakeEtcd

NAMES = ("a", "b", "c")
SWITCH = 1
FIRST, SECOND, THIRD = line(map(Candidate, NAMES), SWITCH).order


class Channel:
    """sent: messages, each with whether its sender was master."""

    id = SWITCH

    def __init__(self) -> None:
        self.roles = Roles(7)
        self.sent: list[tuple[bytes, bool]] = []

    def send(self, data: bytes) -> None:
        self.sent.append((data, self.roles.master))


class Members:
    """As one of them sees them."""

    def __init__(self, own: str) -> None:
        self.own = own

    def candidates(self) -> tuple[Candidate, ...]:
        return tuple(map(Candidate, NAMES))

    awaited = False


class World:
    def __init__(self) -> None:
        self.now = 100.0
        self.complete = True
        self.etcd = FakeEtcd()
        self.channel = Channel()
        self.generations: dict[int, int] = {}

    def election(self, own: str) -> Election:
        claims = Claims(self.etcd.client(), Keys("test"))
        claims.start()
        nothing: Any = None
        members: Any = Members(own)
        campaign = Campaign(
            *(nothing, claims, nothing, members, nothing, nothing, 1),
            *(lambda *_args: None, lambda _datapath_id: b"words", self.generations),
            *(lambda switch: switch, lambda bridge: (bridge,), lambda _bridge: self.complete),
        )
        channel: Any = self.channel
        return Election(channel, campaign)

    def claim(self, member: str, switch: int) -> None:
        """A member has another switch."""
        claims = Claims(self.etcd.client(), Keys("test"))
        lease = self.etcd.client().grant(60).number
        assert claims.claim(switch, lease, member, "") is not None


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    made = World()
    for each in (module, claims_module):
        monkeypatch.setattr(each, "clock", lambda: made.now)
    return made


def test_each_leaves_a_moment_to_those_before_it(world: World) -> None:
    waits = [world.election(name).left() for name in (FIRST, SECOND, THIRD)]
    assert waits == [0, TURN, 2 * TURN]


def test_who_reaches_not_all_switches_of_a_fabric_leaves_it_to_those_who_do(world: World) -> None:
    first = world.election(FIRST)
    world.complete = False
    assert first.left() == len(NAMES) * TURN
    world.complete = True
    assert first.left() == 0


def test_as_long_as_those_before_it_claim_others_it_waits(world: World) -> None:
    second = world.election(SECOND)
    assert second.left() == TURN
    for switch in range(2, 8):
        world.now += TURN / 2
        world.claim(FIRST, switch)
        assert second.left() == TURN
    world.claim(THIRD, 9)
    world.now += TURN
    assert second.left() <= 0, "who is behind it does not count"


def test_but_not_for_ever(world: World) -> None:
    second = world.election(SECOND)
    begun = world.now
    second.left()
    switch = 1
    while second.left() > 0:
        world.now += TURN / 4
        switch += 1
        world.claim(FIRST, switch)
    assert world.now - begun == pytest.approx(PATIENCE + TURN, abs=TURN / 2)


class Roles:
    """What is asked of a switch that has seen a generation."""

    def __init__(self, seen: int) -> None:
        self.seen = seen
        self.master = False

    def become_master(self, generation: int) -> None:
        if generation < self.seen:
            raise StaleError(self.seen)
        self.master = True

    def become_slave(self) -> None:
        self.master = False


def test_without_etcd_the_last_owner_speaks_to_partners_until_there_is_another(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    channel = world.channel
    monkeypatch.setattr(module, "Mastership", lambda _channel: channel.roles)
    election = world.election(FIRST)
    assert not election.repeat_last_lacpdus()  # it was not the owner
    world.generations[SWITCH] = 7
    assert election.repeat_last_lacpdus()
    assert channel.sent == [(b"words", True)]
    assert not channel.roles.master
    channel.roles.seen = 8
    assert not election.repeat_last_lacpdus()
    channel.roles.seen = 7
    assert not election.repeat_last_lacpdus()
    assert len(channel.sent) == 1
