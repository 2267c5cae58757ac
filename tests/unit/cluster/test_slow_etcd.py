"""etcd is far away: what members make of it, and what they say."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from ofapp.bridge.event import Event
from ofapp.common import hub
from ofapp.controller.cluster.election.lease_keeper import LeaseKeeper
from ofapp.controller.cluster.etcd.gateway import Access, Gateway
from ofapp.controller.cluster.etcd.health import EtcdHealth
from ofapp.controller.cluster.etcd.keys import Keys
from ofapp.controller.cluster.peers.members import Members
from tests.support.delay import DelayingProxy
from tests.support.etcd_nodes import EtcdNodes
from tests.support.waiting import wait_for

SECONDS = 0.8
"""For each answer; a lease of four times that is enough."""


class Member:
    """One with a lease."""

    def __init__(self, etcd: Gateway, lease: float) -> None:
        self.events: list[Event] = []
        self.lost_why: list[str] = []
        self.members = Members(etcd, Keys("slow").root, "a", self._emit, "a place")
        self.lease_keeper = LeaseKeeper(etcd, lease, self)
        self.health = EtcdHealth(etcd, self._emit, lease)
        self.loop = hub.spawn(self.lease_keeper.run)

    def _emit(self, _bridge: int | None, event: Event) -> None:
        self.events.append(event)

    def leased(self, number: int) -> None:
        self.members.register(number, "1")

    def lost(self, why: str) -> None:
        self.lost_why.append(why)

    def regained(self) -> None: ...


@pytest.fixture
def slow(real_etcd: EtcdNodes) -> Iterator[Gateway]:
    proxies = [DelayingProxy(real_etcd.nodes[0].port, SECONDS) for _ in range(3)]
    gateway = Gateway(Access(tuple(proxy.endpoint for proxy in proxies)))
    yield gateway
    gateway.close()
    for proxy in proxies:
        proxy.close()


def test_with_a_lease_that_is_long_enough_it_is_kept(slow: Gateway) -> None:
    member = Member(slow, 8.0)
    wait_for(lambda: member.lease_keeper.holds, "a lease", seconds=30, sleep=hub.sleep)
    renewed = member.lease_keeper.renewed
    assert renewed is not None
    wait_for(
        lambda: (member.lease_keeper.renewed or 0) > renewed + 3,
        "renewals",
        seconds=30,
        sleep=hub.sleep,
    )
    assert member.lost_why == []
    member.health.look()
    assert member.health.too_slow == ""
    hub.kill(member.loop)


def test_with_one_that_is_too_short_it_is_said_why(slow: Gateway) -> None:
    member = Member(slow, 2.0)
    begun = time.monotonic()
    while not member.health.too_slow and time.monotonic() < begun + 30:
        member.health.look()
    assert "a lease of 2 s needs 0.4 s or less" in member.health.too_slow
    assert [event.kind for event in member.events] == ["cluster.etcd.slow"]
    hub.kill(member.loop)
