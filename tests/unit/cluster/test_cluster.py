"""A member as a whole, as far as it needs no switch."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ofapp.api.metrics.cluster import DECLARED
from ofapp.api.metrics.declaration import families
from ofapp.bridge.event import Event
from ofapp.common import hub
from ofapp.controller.cluster import cluster as module
from ofapp.controller.cluster import takeover
from ofapp.controller.cluster.cluster import Cluster, Membership
from ofapp.controller.cluster.election.election import Election
from ofapp.controller.cluster.election.ownership import Claim, Claims
from ofapp.controller.cluster.election.placement import Line
from ofapp.controller.cluster.etcd.etcd import EtcdError
from ofapp.controller.cluster.etcd.guard import GuardedEtcd
from ofapp.controller.cluster.etcd.history import History
from ofapp.controller.cluster.etcd.keys import Keys
from ofapp.controller.cluster.peers.members import Members
from ofapp.controller.cluster.peers.surface import PeerListener, Surface
from ofapp.controller.cluster.sharing.state import SharedState
from ofapp.controller.cluster.takeover import Takeovers
from ofapp.openflow.wire.requests import RequestError
from tests.support.etcd import FakeEtcd
from tests.support.waiting import wait_for

SWITCH = 1
FABRIC = 11, 12, 13
"""Switches that are members of one."""


class Channel:
    """A connection.  dead: it has ended."""

    dead = False
    hung_up = False

    def __init__(self, switch: int = SWITCH) -> None:
        self.id = switch

    def hang_up(self) -> None:
        self.hung_up = self.dead = True


class Service:
    """Records its notices."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def bridge_of(self, switch: int) -> int:
        return FABRIC[0] if switch in FABRIC else switch

    def switches(self, bridge: int) -> tuple[int, ...]:
        return FABRIC if bridge in FABRIC else (bridge,)

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
        self.cluster.switches.service = self.service
        self.cluster.claims.on_change(self.cluster._handle)
        self.cluster.claims.start()
        self.cluster.lease_keeper.turn()
        self.during: Any = lambda: None
        monkeypatch.setattr(module, "read_mark", lambda _channel: None)
        monkeypatch.setattr(Election, "begin", lambda _own: None)
        monkeypatch.setattr(Election, "win", Election._claim)
        monkeypatch.setattr(Election, "become_master", lambda _own, _claim: self.during())

    def _emit(self, _bridge: int | None, event: Event) -> None:
        self.events.append(event)


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


def test_the_switches_of_a_fabric_have_one_owner(world: World) -> None:
    """Claims of the others are of no bridge, and are of a connection's time."""
    cluster, claims = world.cluster, world.cluster.claims
    channels = [Channel(switch) for switch in reversed(FABRIC)]
    for channel in channels:
        assert obtain(world, channel) is not None
    assert [claim.datapath_id for claim in claims.all()] == [FABRIC[0]]
    assert {claim.datapath_id for claim in claims.switches()} == {*FABRIC}
    assert {claim.bridge for claim in claims.switches()} == {FABRIC[0]}
    assert cluster.serves(FABRIC[0]) == claims.of(FABRIC[0])
    assert cluster.expected() == {FABRIC[0]}
    for channel in reversed(channels):  # of the first member first
        assert claims.of(FABRIC[0]) is not None
        assert claims.of(channel.id) is not None
        connection: Any = channel
        cluster.ended(connection)
        hub.sleep(0)
        assert channel.id == FABRIC[0] or claims.of(channel.id) is None
    assert not [*claims.switches()]


def another(world: World) -> tuple[Claims, int]:
    """Another member's claims, and its lease."""
    client = world.etcd.client()
    claims = Claims(client, Keys("test"))
    claims.start()
    return claims, client.grant(5).number


def test_a_fabric_that_is_anothers_now_is_given_up_as_a_whole(world: World) -> None:
    channels = [Channel(switch) for switch in FABRIC]
    for channel in channels:
        obtain(world, channel)
    claim = world.cluster.claims.of(FABRIC[0])
    assert claim is not None
    others, lease = another(world)
    assert others.hand_over(claim, lease, "b", "on request")
    assert all(channel.hung_up for channel in channels)
    assert world.service.calls == ["let go"]


def test_a_switch_that_a_member_without_the_fabric_owns_is_not_taken(world: World) -> None:
    """Members may have different configurations for a while."""
    first, second = Channel(FABRIC[0]), Channel(FABRIC[1])
    assert obtain(world, first) is not None
    others, lease = another(world)
    assert others.claim(FABRIC[1], lease, "b", "it is a separate bridge there") is not None
    assert obtain(world, second) is None
    taken = others.of(FABRIC[1])
    assert taken is not None
    others.release(taken)
    assert obtain(world, second) is not None


def test_a_fabric_of_which_another_member_owns_a_switch_is_not_claimed(world: World) -> None:
    """As a separate bridge, or as the first of a fabric with the same switches."""
    others, lease = another(world)
    assert others.claim(FABRIC[1], lease, "b", "another order", None, FABRIC) is not None
    first = Channel(FABRIC[0])
    assert obtain(world, first) is None
    assert world.cluster.claims.of(FABRIC[0]) is None
    taken = others.of(FABRIC[1])
    assert taken is not None
    others.release(taken)
    assert obtain(world, first) is not None
    assert others.claim(FABRIC[1], lease, "b", "another order", None, FABRIC) is None
    assert obtain(world, Channel(FABRIC[1])) is not None


def test_a_claim_from_before_the_fabrics_changed_is_released(world: World) -> None:
    """Also while the switch waits here for another owner."""
    cluster = world.cluster
    claim = cluster.claims.claim(FABRIC[1], cluster.lease_keeper.held.number, "a", "as a bridge")
    assert claim is not None
    ready: Any = SimpleNamespace(ready=True, foreign=False, changed=hub.Event())
    cluster.switches.waiting[FABRIC[1]] = ready
    cluster._release(claim)
    assert cluster.claims.of(FABRIC[1]) is None


def test_a_switch_that_has_become_a_member_is_claimed_again(world: World) -> None:
    cluster = world.cluster
    lease = cluster.lease_keeper.held.number
    assert cluster.claims.claim(FABRIC[1], lease, "a", "as a bridge") is not None
    assert obtain(world, Channel(FABRIC[1])) is None
    assert obtain(world, Channel(FABRIC[1])) is not None
    claim = cluster.claims.of(FABRIC[1])
    assert claim is not None
    assert claim.of_member


def test_a_switch_whose_place_changes_meanwhile_is_not_served(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.during = lambda: monkeypatch.setattr(world.service, "bridge_of", lambda switch: switch)
    with pytest.raises(RequestError, match="place in the fabrics"):
        obtain(world, Channel(FABRIC[1]))


def test_a_fabric_is_handed_over_as_a_whole(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = world.cluster
    channels = [Channel(switch) for switch in FABRIC]
    for channel in channels:
        obtain(world, channel)
    slaves: list[int] = []

    def become_slave() -> None:
        slaves.append(1)
        with pytest.raises(RequestError, match="handed over"):
            obtain(world, Channel(99))  # a switch that comes back meanwhile
        hub.sleep(0)
        assert cluster.claims.of(99) is None
        assert cluster.claims.of(FABRIC[0]) == claim

    monkeypatch.setattr(world.service, "bridge_of", lambda _switch: FABRIC[0])
    roles = SimpleNamespace(become_slave=become_slave)
    monkeypatch.setattr(module, "Mastership", lambda _channel: roles)
    others, lease = another(world)
    monkeypatch.setattr(cluster.members, "get", lambda _name: SimpleNamespace(lease=lease))
    claim = cluster.serves(FABRIC[0])
    assert claim is not None
    cluster.give(claim, "b")
    assert len(slaves) == len(FABRIC)
    assert world.service.calls == [*["give up"] * 3, "let go"]
    assert {own.lease for own in others.switches()} == {lease}
    assert len({own.term for own in others.switches()}) == 1, "not all at once"
    assert {own.bridge for own in others.switches()} == {FABRIC[0]}
    assert all(channel.hung_up for channel in channels)


def test_an_owner_without_all_switches_gives_way_to_who_has_them(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = world.cluster
    monkeypatch.setattr(
        type(cluster._campaign), "line", lambda _own, _at: Line(("a", "b"), frozenset())
    )
    for switch in FABRIC[:2]:
        obtain(world, Channel(switch))
    claim = cluster.claims.of(FABRIC[0])
    assert claim is not None
    assert cluster.before("b", claim) == 1 + module.INCOMPLETE
    obtain(world, Channel(FABRIC[2]))
    assert cluster.before("b", claim) is None


def test_only_who_reaches_all_switches_asks_for_a_fabric(world: World) -> None:
    cluster = world.cluster
    others, lease = another(world)
    claim = others.claim(FABRIC[0], lease, "b", "")
    ready: Any = SimpleNamespace(ready=True, foreign=False, changed=hub.Event())
    for switch in FABRIC:
        assert cluster.could_serve() == []
        cluster.switches.waiting[switch] = ready
    assert cluster.could_serve() == [claim]


class Documents:
    """Records with which mark documents are taken over."""

    def __init__(self) -> None:
        self.taken: list[int | None] = []

    def has_taken_over(self, _bridge: int, _term: int) -> bool:
        return bool(self.taken)

    def take_over(self, _bridge: int, _term: int, mark: int | None) -> bool:
        self.taken.append(mark)
        return True


@pytest.mark.parametrize(("marks", "counts"), [((5, 5, 5), 5), ((5, None, 5), None)])
def test_a_snapshot_counts_if_all_switches_have_its_mark(
    marks: tuple[int | None, ...], counts: int | None
) -> None:
    documents: Any = Documents()
    takeovers = Takeovers(documents)
    claim = Claim(FABRIC[0], "a", 7, 1, 0.0, "", FABRIC[0])
    won: list[bool] = []

    def win(switch: int, mark: int | None) -> None:
        won.append(takeovers.take_over(claim, switch, mark, lambda: FABRIC))

    for switch, mark in zip(FABRIC, marks, strict=True):
        hub.spawn(win, switch, mark)
    wait_for(lambda: len(won) == len(FABRIC), "all three", sleep=hub.sleep)
    assert documents.taken == [counts]
    win(FABRIC[0], 9)  # it has connected again
    assert documents.taken == [counts]


def test_a_switch_that_is_away_is_not_waited_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(takeover, "GATHER", 0.02)
    documents: Any = Documents()
    claim = Claim(FABRIC[0], "a", 7, 1, 0.0, "", FABRIC[0])
    assert Takeovers(documents).take_over(claim, FABRIC[0], 5, lambda: FABRIC)
    assert documents.taken == [5]


def test_a_takeover_takes_the_lease_and_a_turn(world: World) -> None:
    """Of a member that dies; without another member there is none."""
    members = world.cluster.members
    members.start()
    assert world.cluster.takeover is None
    client = world.etcd.client()
    other = Members(client, Keys("test").root, "b", lambda _, event: None)
    other.start()
    other.register(client.grant(60).number, "1.0")
    wait_for(lambda: members.get("b") is not None, "the other member", sleep=hub.sleep)
    assert world.cluster.takeover == 2.5
    members.drain("b")
    wait_for(lambda: members.is_drained("b"), "it to be drained", sleep=hub.sleep)
    assert world.cluster.takeover is None


def test_each_metric_of_a_cluster_has_a_value(world: World) -> None:
    """Attributes are declared by name: one that is renamed makes /metrics fail."""
    assert obtain(world, Channel()) is not None
    surface = Surface(world.cluster, PeerListener("127.0.0.1"))
    found = {family.name: family for family in families(DECLARED[0][0], (), [((), surface)])}
    (taken,) = found["ofapp_cluster_claims"].samples
    assert (taken.labels, taken.value) == ({"former": "nobody"}, 1)
