"""What people are reported etcd itself."""

from __future__ import annotations

from dataclasses import replace

from ofapp.bridge.event import Event
from ofapp.controller.cluster.etcd.etcd import Node
from ofapp.controller.cluster.etcd.health import EtcdHealth
from tests.support.etcd import FakeEtcd

GOOD = Node("a:2379", "", "3.4", True, True, 1000)


def test_each_change_is_reported_once() -> None:
    events: list[Event] = []
    client = FakeEtcd().client()
    health = EtcdHealth(client, lambda _bridge, event: events.append(event), 2.0)
    other = replace(GOOD, endpoint="b:2379", leader=False)

    def look(*nodes: Node) -> list[str]:
        events.clear()
        client.nodes = lambda: nodes  # type: ignore[method-assign]
        health.look()
        health.look()
        return [event.kind for event in events]

    assert look(GOOD, other) == []
    assert look(replace(GOOD, error="no route"), other) == ["cluster.etcd"]
    assert "a:2379 does not answer: no route" in events[0].message
    gone = replace(other, has_leader=False)
    assert look(replace(GOOD, error="no route"), gone) == ["cluster.etcd"]
    assert "b:2379 has no leader" in events[0].message
    assert look(GOOD, other) == ["cluster.etcd.cleared"] * 2
    full = replace(GOOD, alarms=("NOSPACE",))
    assert look(full, replace(other, alarms=("NOSPACE",))) == ["cluster.etcd.alarm"]
    assert "etcdctl alarm disarm" in events[0].message
    assert look(GOOD, other) == ["cluster.etcd.alarm.cleared"]


def test_one_that_is_down_from_the_start_is_reported_too() -> None:
    events: list[Event] = []
    client = FakeEtcd(full=True).client()
    health = EtcdHealth(client, lambda _bridge, event: events.append(event), 2.0)
    health.look()
    client.cut = True
    health.look()
    assert [event.kind for event in events] == ["cluster.etcd.alarm", "cluster.etcd"]
    client.cut = client.etcd.full = False
    health.look()
    kinds = [event.kind for event in events[2:]]
    assert kinds == ["cluster.etcd.cleared", "cluster.etcd.alarm.cleared"]


def test_one_that_is_too_slow_for_the_lease_is_not_taken_for_one_that_is_away() -> None:
    events: list[Event] = []
    client = FakeEtcd().client()
    health = EtcdHealth(client, lambda _bridge, event: events.append(event), 2.0)

    def look(*seconds: float) -> str:
        nodes = tuple(replace(GOOD, endpoint=f"{at}:2379", seconds=at) for at in seconds)
        client.nodes = lambda: nodes  # type: ignore[method-assign]
        health.look()
        return health.too_slow

    assert look(0.1, 1.0) == ""
    assert events == []
    assert "etcd takes 0.80 s to answer, and a lease of 2 s needs 0.4 s" in look(0.8, 1.0)
    look(0.8)
    assert [event.kind for event in events] == ["cluster.etcd.slow"]
    assert "cluster.lease" in events[0].message
    assert look(0.05) == ""
    assert events[-1].kind == "cluster.etcd.slow.cleared"
