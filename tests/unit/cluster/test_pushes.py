"""Configurations that are pushed at the same time, on a real etcd: what one member refuses is never
what all are to do."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest

from ofapp.common import hub
from ofapp.config import ConfigError
from ofapp.config.document import Position
from ofapp.config.errors import Fault
from ofapp.controller.cluster.etcd.etcd import UnreachableError
from ofapp.controller.cluster.etcd.gateway import Access, Gateway
from ofapp.controller.cluster.etcd.keys import Keys
from ofapp.controller.cluster.sharing import configuration
from ofapp.controller.cluster.sharing.configuration import LocalConfiguration, SharedConfiguration
from ofapp.controller.configuration.pushed import Outcome, Pushed, PushError, UncertainError
from tests.support.etcd import FakeClient, FakeEtcd
from tests.support.etcd_nodes import EtcdNodes
from tests.support.waiting import wait_for

GOOD, BAD = "ageing_time: 60", "ageing_time: 90"
RACES = 12

_clusters = itertools.count()


class Member:
    """One that refuses BAD where it is of an earlier version."""

    def __init__(self, etcd: Gateway | FakeClient, keys: Keys, name: str, old: bool) -> None:
        self.etcd = etcd
        self.old = old
        self.took: list[str] = []
        self.lease = etcd.grant(60).number
        etcd.put(keys.members + name, b"{}", self.lease)
        self.shared = SharedConfiguration(etcd, keys, name, lambda _bridge, _event: None)
        self.shared.start(
            LocalConfiguration(self._take, self._check, lambda: None, lambda: self.lease)
        )

    def push(self, text: str, force: bool = False, dry_run: bool = False) -> Outcome:
        data = f"defaults: {{{text}}}  # {time.monotonic_ns()}".encode()
        return self.shared.push(Pushed(data, "all.yaml", "anna", time.time()), dry_run, force)

    def tried(self, text: str) -> str:
        """How a push ends, in a word."""
        try:
            self.push(text)
        except (PushError, UncertainError):
            return "refused"
        return text

    def _take(self, pushed: Pushed) -> None:
        self.took.append(pushed.data.decode())

    def _check(self, pushed: Pushed, _force: bool) -> None:
        hub.sleep(0 if self.old else 0.03)  # some have more bridges than others
        if self.old and BAD.encode() in pushed.data:
            raise ConfigError([Fault("all.yaml", Position(), "", "an unknown option")])


@pytest.fixture
def members(real_etcd: EtcdNodes) -> Iterator[list[Member]]:
    keys = Keys(f"pushes-{next(_clusters)}")
    with ExitStack() as stack:
        made = []
        for name in ("a", "b", "c"):
            etcd = stack.enter_context(closing(Gateway(Access(real_etcd.endpoints))))
            made.append(Member(etcd, keys, name, old=name == "c"))
        yield made


def test_what_one_member_refuses_is_never_accepted(members: list[Member]) -> None:
    a, b, old = members
    for _ in range(RACES):
        races = [hub.spawn(a.tried, BAD), hub.spawn(b.tried, GOOD)]
        outcomes = [race.wait() for race in races]
        assert BAD not in outcomes
    wait_for(lambda: b.tried(GOOD) == GOOD, "a push by itself", sleep=hub.sleep)
    wait_for(lambda: all(own.took for own in members), "all to have taken it", sleep=hub.sleep)
    assert not any(BAD in text for own in members for text in own.took)
    assert old.shared.members()


def test_one_of_two_pushes_at_the_same_time_is_refused(members: list[Member]) -> None:
    a, b, _ = members
    outcomes = [race.wait() for race in [hub.spawn(own.tried, GOOD) for own in (a, b, a)]]
    assert outcomes.count(GOOD) <= 1
    wait_for(lambda: a.tried(GOOD) == GOOD, "a push by itself", sleep=hub.sleep)
    wait_for(lambda: b.tried(GOOD) == GOOD, "a push by another", sleep=hub.sleep)


@pytest.fixture
def etcd(monkeypatch: pytest.MonkeyPatch) -> FakeEtcd:
    monkeypatch.setattr(configuration, "PATIENCE", 0.2)
    monkeypatch.setattr(configuration, "REPEAT", 0.02)
    return FakeEtcd()


def test_a_member_that_says_nothing_does_not_agree(etcd: FakeEtcd) -> None:
    keys = Keys("test")
    own = Member(etcd.client(), keys, "a", old=False)
    etcd.client().put(keys.members + "z", b"{}", etcd.client().grant(9).number)
    with pytest.raises(PushError, match="z is silent"):
        own.push(GOOD)
    assert own.push(GOOD, force=True).revision is not None


def test_an_offer_ends_with_who_has_made_it(etcd: FakeEtcd) -> None:
    keys = Keys("test")
    a, b = (Member(etcd.client(), keys, name, old=False) for name in ("a", "b"))
    a.etcd.put(keys.offered, b"{}", a.lease)  # and it is killed
    with pytest.raises(PushError, match="at the same time"):
        b.push(GOOD)
    etcd.end_lease(a.lease)
    assert b.push(GOOD, force=True).revision is not None


@pytest.mark.parametrize("arrives", [False, True])
def test_what_etcd_did_not_acknowledge_is_looked_up(
    etcd: FakeEtcd, monkeypatch: pytest.MonkeyPatch, arrives: bool
) -> None:
    own = Member(etcd.client(), Keys("test"), "a", old=False)
    client, transact = own.etcd, own.etcd.transact

    def unacknowledged(conditions: object, then: object) -> object:
        if len(then) < 2:  # type: ignore[arg-type]
            return transact(conditions, then)  # type: ignore[arg-type]
        if arrives:
            transact(conditions, then)  # type: ignore[arg-type]
        raise UnreachableError("etcd does not answer", maybe=True)

    monkeypatch.setattr(client, "transact", unacknowledged)
    if arrives:
        assert own.push(GOOD).revision == own.shared.members()[0].revision
    else:
        with pytest.raises(PushError, match="in time: try again"):
            own.push(GOOD)


def test_what_cannot_be_looked_up_is_not_said_to_have_changed_nothing(
    etcd: FakeEtcd, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = Keys("test")
    own = Member(etcd.client(), keys, "a", old=False)
    client, transact = own.etcd, own.etcd.transact
    assert isinstance(client, FakeClient)

    def cut_off(conditions: object, then: object) -> object:
        if len(then) == 2:  # type: ignore[arg-type]
            client.cut = True
            raise UnreachableError("etcd does not answer", maybe=True)
        return transact(conditions, then)  # type: ignore[arg-type]

    monkeypatch.setattr(client, "transact", cut_off)
    with pytest.raises(UncertainError):
        own.push(GOOD)
    monkeypatch.undo()
    client.cut = False
    wait_for(lambda: keys.offered not in etcd.records, "the offer to end", sleep=hub.sleep)
