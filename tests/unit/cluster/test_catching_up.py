"""After an outage of etcd a member knows what others have changed before it answers for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from ofapp.common import hub
from ofapp.controller.cluster.etcd.etcd import UnreachableError, WatchResponse
from ofapp.controller.cluster.etcd.gateway import Access, Gateway
from tests.support.etcd_nodes import EtcdNodes
from tests.support.waiting import wait_for


@pytest.fixture
def gateway(real_etcd: EtcdNodes) -> Iterator[Gateway]:
    with closing(Gateway(Access(real_etcd.endpoints))) as gateway:
        yield gateway


def test_all_is_reported_before_it_returns(gateway: Gateway) -> None:
    batches: list[WatchResponse] = []
    gateway.watch("/catch/", batches.append)
    gateway.put("/catch/a", b"1")
    wait_for(lambda: any(each.changes for each in batches), "the first change", sleep=hub.sleep)
    batches.clear()
    gateway.catch_up()
    assert [(each.whole, [one.key for one in each.changes]) for each in batches] == [
        (True, ["/catch/a"])
    ]
    gateway.put("/catch/b", b"2")
    wait_for(lambda: len(batches) > 1, "a later change", sleep=hub.sleep)
    assert [one.key for one in batches[1].changes] == ["/catch/b"]


def test_a_handler_is_not_stopped_half_way(gateway: Gateway) -> None:
    begun, go_on, ended = hub.Event(), hub.Event(), []

    def slow(changes: WatchResponse) -> None:
        begun.set()
        go_on.wait(10)
        ended.append(changes)

    gateway.watch("/slow/", slow)
    assert begun.wait(10)
    caught_up = hub.spawn(gateway.catch_up)
    for _ in range(20):
        hub.sleep(0)  # the handler could be stopped
    go_on.set()
    caught_up.wait()
    assert [each.whole for each in ended] == [True, True]


def test_it_fails_where_etcd_cannot_be_read() -> None:
    with closing(Gateway(Access(("127.0.0.1:1",), patience=0.2))) as gateway:
        gateway.watch("/never/", lambda _changes: None)
        with pytest.raises(UnreachableError, match="not all watched keys"):
            gateway.catch_up()
