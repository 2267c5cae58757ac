"""Health of etcd's nodes: checked regularly, and reported as events when it changes.

An unreachable etcd is noticed by the lease (`lease_keeper`), failed writes by `state.saving`.  This
module reports faults while everything still works.  They are a node that is gone, so that the loss
of another may end the majority; a node without a leader; and a full database, which only reads,
deletes and renews leases: switches keep their owners, and run-time changes are not saved until
there is room.
"""

from __future__ import annotations

from collections.abc import Iterator

from ofapp.bridge.event import Event
from ofapp.common import hub
from ofapp.controller.cluster.etcd.etcd import Etcd, Node
from ofapp.controller.member_events import (
    CLUSTER_ETCD,
    CLUSTER_ETCD_ALARM,
    CLUSTER_ETCD_ALARM_CLEARED,
    CLUSTER_ETCD_CLEARED,
    CLUSTER_ETCD_SLOW,
    CLUSTER_ETCD_SLOW_CLEARED,
)
from ofapp.controller.state.saving import Emit

LOOK = 5.0
"""Seconds between checks."""

FULL = "NOSPACE"


SLOW = 0.2
"""The share of a lease that an answer of etcd may take [measured: with more than a quarter, leases
of 2 s ended, and switches had no owner]."""


class EtcdHealth:
    """nodes: their status at the last check; lease: lifetime of a member's lease in seconds."""

    def __init__(self, etcd: Etcd, emit: Emit, lease: float) -> None:
        self.nodes: tuple[Node, ...] = ()
        self._lease = lease
        self._slow = False
        self._alarms: set[str] = set()
        self._etcd = etcd
        self._emit = emit

    def run(self) -> None:
        """Check for ever."""
        while True:
            self.look()
            hub.sleep(LOOK)

    def look(self) -> None:
        """Emit events for changes since the last check."""
        before, self.nodes = self.nodes, self._etcd.nodes()
        was = {node.endpoint: node for node in before}
        for node in self.nodes:
            for event in _news(was.get(node.endpoint), node):
                self._emit(None, event)
        self._look_at_speed()
        if any(not node.error for node in self.nodes):  # else the alarms are unknown
            alarms, self._alarms = self._alarms, _alarms(self.nodes)
            for event in _full(alarms, self._alarms):
                self._emit(None, event)

    @property
    def seconds(self) -> float | None:
        """Response time of the quickest node; None if none answered."""
        return min((node.seconds for node in self.nodes if not node.error), default=None)

    @property
    def too_slow(self) -> str:
        """A sentence if etcd answers too slowly for the lease; otherwise empty."""
        seconds = self.seconds
        if seconds is None or seconds <= self._lease * SLOW:
            return ""
        return (
            f"etcd takes {seconds:.2f} s to answer, and a lease of {self._lease:g} s needs"
            f" {self._lease * SLOW:.2g} s or less"
        )

    def _look_at_speed(self) -> None:
        before, self._slow = self._slow, bool(self.too_slow)
        data = {"seconds": self.seconds}
        if self._slow and not before:
            message = f"{self.too_slow}: move it nearer, or set a longer lease (cluster.lease)"
            self._emit(None, CLUSTER_ETCD_SLOW.event(message, data=data))
        elif before and not self._slow and self.seconds is not None:
            message = "etcd answers quickly enough again"
            self._emit(None, CLUSTER_ETCD_SLOW_CLEARED.event(message, data=data))


def _alarms(nodes: tuple[Node, ...]) -> set[str]:
    return {alarm for node in nodes for alarm in node.alarms}


def why_unusable(node: Node | None) -> str:
    """Why a node of etcd does not work; empty if it does, or is not known."""
    if node is None:
        return ""
    if node.error:
        return f"does not answer: {node.error}"
    return "" if node.has_leader else "has no leader: it has lost the majority of etcd's nodes"


def _news(before: Node | None, now: Node) -> Iterator[Event]:
    why = why_unusable(now)
    data = {"node": now.endpoint, "why": why}
    if why and not why_unusable(before):
        message = f"etcd's node {now.endpoint} {why}"
        yield CLUSTER_ETCD.event(message, data=data)
    elif not why and why_unusable(before):
        message = f"etcd's node {now.endpoint} works again"
        yield CLUSTER_ETCD_CLEARED.event(message, data=data)


def _full(before: set[str], now: set[str]) -> Iterator[Event]:
    for alarm in sorted(now - before):
        what = "is full" if alarm == FULL else f"has the alarm {alarm}"
        message = (
            f"etcd {what}: switches keep their owners, but nothing that changes is saved; make"
            " room (etcdctl compact, etcdctl defrag), then etcdctl alarm disarm"
        )
        yield CLUSTER_ETCD_ALARM.event(message, data={"alarm": alarm})
    for alarm in sorted(before - now):
        message = f"etcd's alarm {alarm} is over"
        yield CLUSTER_ETCD_ALARM_CLEARED.event(message, data={"alarm": alarm})
