"""A member as a whole, as far as it needs no switch."""

from __future__ import annotations

from typing import Any

import pytest

from ofapp.bridge.event import Event
from ofapp.common import hub
from ofapp.controller.cluster import cluster as module
from ofapp.controller.cluster.cluster import Cluster, Membership
from ofapp.controller.cluster.election.claims import Claim
from ofapp.controller.cluster.election.election import Election
from ofapp.controller.cluster.etcd.etcd import EtcdError
from ofapp.controller.cluster.etcd.guard import GuardedEtcd
from ofapp.controller.cluster.etcd.history import History
from ofapp.controller.cluster.etcd.keys import Keys
from ofapp.controller.cluster.sharing.state import SharedState
from ofapp.openflow.wire.requests import RequestError
from tests.support.etcd import FakeEtcd

SWITCH = 1


class Channel:
    """A connection.  dead: it has ended."""

    id = SWITCH
    dead = False
    hung_up = False

    def hang_up(self) -> None:
        self.hung_up = self.dead = True


class Service:
    """Records its notices."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def in_line(self, _datapath_id: int) -> bool:
        return True

    def give_up(self, _channel: object, _why: str) -> None:
        self.calls.append("give up")

    def expect(self, _datapath_id: int) -> None:
        self.calls.append("expect")

    def release(self, _datapath_id: int) -> None:
        self.calls.append("let go")


class World:
    """One member, with a lease; `during` is called while it becomes master."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.etcd = FakeEtcd()
        self.events: list[Event] = []
        emit, keys = self._emit, Keys("test")
        etcd = GuardedEtcd(self.etcd.client(), keys, emit)
        state = SharedState(None, emit, etcd, keys)
        history = History(etcd, keys, emit)
        self.cluster = Cluster(history, Membership(keys, "a", 2), state, emit)
        self.service = Service()
        self.cluster._service = self.service
        self.cluster.claims.on_change(self.cluster._handle)
        self.cluster.claims.start()
        self.cluster.lease_keeper.turn()
        self.during: Any = lambda: None
        monkeypatch.setattr(module, "read_mark", lambda _channel: None)
        monkeypatch.setattr(Election, "begin", lambda _own: None)
        monkeypatch.setattr(Election, "win", lambda _own: self.claim())
        monkeypatch.setattr(Election, "become_master", lambda _own, _claim: self.during())

    def _emit(self, _bridge: int | None, event: Event) -> None:
        self.events.append(event)

    def claim(self) -> Claim | None:
        return self.cluster.claims.claim(SWITCH, self.cluster.lease_keeper.held.number, "a", "")


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    return World(monkeypatch)


def obtain(world: World, channel: Channel) -> object:
    given: Any = channel
    return world.cluster.obtain(given)


def test_a_claim_lives_as_long_as_its_connection(world: World) -> None:
    channel = Channel()
    assert obtain(world, channel) is not None
    assert world.cluster.serves(SWITCH) == world.cluster.claims.of(SWITCH)
    connection: Any = channel
    world.cluster.ended(connection)
    hub.sleep(0)
    assert world.cluster.claims.of(SWITCH) is None


def test_a_connection_that_ends_meanwhile_leaves_no_claim(world: World) -> None:
    channel = Channel()
    channel.dead = True
    with pytest.raises(RequestError, match="connection ended"):
        obtain(world, channel)
    hub.sleep(0)
    assert world.cluster.claims.of(SWITCH) is None
    channel = Channel()
    world.during = channel.hang_up
    assert obtain(world, channel) is None
    hub.sleep(0)
    assert world.cluster.claims.of(SWITCH) is None
    assert not [event for event in world.events if event.kind == "cluster.owner"]


def test_a_switch_that_is_anothers_now_is_let_go_of(world: World) -> None:
    channel = Channel()
    obtain(world, channel)
    claim = world.cluster.claims.of(SWITCH)
    assert claim is not None
    other = world.etcd.client().grant(5).number
    assert world.cluster.claims.hand_over(claim, other, "b", "on request")
    assert channel.hung_up
    assert world.service.calls[-1] == "let go"
    assert [event.kind for event in world.events][-1] == "bridge.lost"


def test_without_a_lease_all_connections_end_and_it_is_reported(world: World) -> None:
    channel = Channel()
    obtain(world, channel)
    world.etcd.end_lease(world.cluster.lease_keeper.held.number)
    world.cluster.lease_keeper.turn()
    assert channel.hung_up
    assert "cluster.lost" in [event.kind for event in world.events]


def test_one_that_ends_tells_of_no_loss(world: World) -> None:
    obtain(world, Channel())
    world.cluster.close()
    assert world.cluster.claims.of(SWITCH) is None
    assert "bridge.lost" not in [event.kind for event in world.events]


def test_another_history_of_etcd_ends_all_and_begins_anew(world: World) -> None:
    channel = Channel()
    obtain(world, channel)
    cluster = world.cluster
    cluster.members.start()
    lease = cluster.lease_keeper.held.number
    cluster.history.begin()
    world.etcd.wipe()
    assert cluster.history.recovering == ""
    with pytest.raises(EtcdError):
        cluster.history.etcd.range("/")
    assert cluster.history.recovering
    cluster.lease_keeper.turn()
    assert cluster.forked("for a test") == lease
    assert channel.hung_up
    assert not cluster.lease_keeper.holds
    assert list(cluster.claims.all()) == []
    assert not cluster.claims.known
    assert [one.state for one in cluster.members.all()] == ["unknown"]
    assert cluster.members.candidates() == ()
    cluster.history.look(cluster)
    cluster.lease_keeper.turn()
    assert [one.state for one in cluster.members.all()] == ["ready"]
    assert not cluster.members.awaited
    channel = Channel()
    obtain(world, channel)
    claim = cluster.serves(SWITCH)
    assert claim is not None
    assert claim.lease == cluster.lease_keeper.held.number
    kinds = [event.kind for event in world.events]
    assert kinds.index("cluster.lost") < kinds.index("cluster.history.cleared")
