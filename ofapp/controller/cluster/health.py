"""How etcd's nodes are: looked at now and then, and told as events when that changes.

A member hears of an etcd that it cannot ask by its lease (`lessee`), and of what cannot be written
by `state.keeper`.  Here is what people have to know while everything still works: a node that is
gone, of which the next one takes the majority along; one without a leader; a database that is full,
which only reads, deletes and renews leases: switches keep their owners, and what is set at run time
is not saved until there is room.
"""

from __future__ import annotations

from collections.abc import Iterator

from ofapp.bridge.event import Event, Severity
from ofapp.common import hub
from ofapp.controller.cluster.etcd import Etcd, Node
from ofapp.controller.state.keeper import Tell

LOOK = 5.0
"""Seconds between two looks."""

FULL = "NOSPACE"


class EtcdHealth:
    """nodes: as they were at the last look."""

    def __init__(self, etcd: Etcd, tell: Tell) -> None:
        self.nodes: tuple[Node, ...] = ()
        self._alarms: set[str] = set()
        self._etcd = etcd
        self._tell = tell

    def run(self) -> None:
        """Look for ever."""
        while True:
            self.look()
            hub.sleep(LOOK)

    def look(self) -> None:
        """Tell what is otherwise than at the last look."""
        before, self.nodes = self.nodes, self._etcd.nodes()
        was = {node.endpoint: node for node in before}
        for node in self.nodes:
            for event in _news(was.get(node.endpoint), node):
                self._tell(None, event)
        if any(not node.error for node in self.nodes):  # else nobody knows
            alarms, self._alarms = self._alarms, _alarms(self.nodes)
            for event in _full(alarms, self._alarms):
                self._tell(None, event)


def _alarms(nodes: tuple[Node, ...]) -> set[str]:
    return {alarm for node in nodes for alarm in node.alarms}


def _trouble(node: Node | None) -> str:
    if node is None:
        return ""
    if node.error:
        return f"does not answer: {node.error}"
    return "" if node.has_leader else "has no leader: it has lost the majority of etcd's nodes"


def _news(before: Node | None, now: Node) -> Iterator[Event]:
    trouble = _trouble(now)
    data = {"node": now.endpoint, "why": trouble}
    if trouble and not _trouble(before):
        message = f"etcd's node {now.endpoint} {trouble}"
        yield Event("cluster.etcd", message, Severity.WARNING, data=data)
    elif not trouble and _trouble(before):
        message = f"etcd's node {now.endpoint} is as it should be again"
        yield Event("cluster.etcd.cleared", message, data=data)


def _full(before: set[str], now: set[str]) -> Iterator[Event]:
    for alarm in sorted(now - before):
        what = "is full" if alarm == FULL else f"has the alarm {alarm}"
        message = (
            f"etcd {what}: switches keep their owners, but nothing that changes is saved; make"
            " room (etcdctl compact, etcdctl defrag), then etcdctl alarm disarm"
        )
        yield Event("cluster.etcd.alarm", message, Severity.ERROR, data={"alarm": alarm})
    for alarm in sorted(before - now):
        message = f"etcd's alarm {alarm} is over"
        yield Event("cluster.etcd.alarm.cleared", message, data={"alarm": alarm})
