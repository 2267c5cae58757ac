"""Problems of a cluster, as one member sees them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ofapp.bridge.problem import Problem
from ofapp.controller import member_problems as kinds
from ofapp.controller.cluster.etcd.health import EtcdHealth, why_unusable
from ofapp.controller.cluster.peers.members import ClusterMember

CLOCKS = 5.0
"""Seconds by which the clocks of a member and of etcd may differ."""


def of_etcd(health: EtcdHealth, invalid: Iterable[tuple[str, str]]) -> Iterator[Problem]:
    """Nodes of etcd that do not work or have another time, slow answers, alarms and invalid keys.

    invalid: keys that are set aside, and why.
    """
    for node in health.nodes:
        if why := why_unusable(node):
            text = f"etcd's node {node.endpoint} {why}"
            data = {"node": node.endpoint}
            yield kinds.ETCD_NODE.at(text, subject=node.endpoint, data=data)
        if abs(node.ahead) > CLOCKS:
            way = "ahead of" if node.ahead > 0 else "behind"
            text = f"the clock of etcd's node {node.endpoint} is {abs(node.ahead):.0f} s {way} ours"
            differs = {"node": node.endpoint, "seconds": round(node.ahead)}
            yield kinds.CLOCKS.at(text, subject=node.endpoint, data=differs)
    if slow := health.too_slow:
        yield kinds.ETCD_SLOW.at(slow, data={"seconds": health.seconds})
    for alarm in sorted({alarm for node in health.nodes for alarm in node.alarms}):
        text = f"etcd has the alarm {alarm}: nothing that changes is saved"
        yield kinds.ETCD_ALARM.at(text, subject=alarm, data={"alarm": alarm})
    for key, why in invalid:
        yield kinds.INVALID_KEYS.at(f"{key} is set aside: {why}", subject=key, data={"key": key})


def of_members(members: Iterable[ClusterMember]) -> Iterator[Problem]:
    """Members that have gone or are drained."""
    for member in members:
        data = {"member": member.name}
        if member.state == "gone":
            text = f"member {member.name} has gone: its lease ended, or it was stopped"
            yield kinds.MEMBER_GONE.at(text, subject=member.name, data=data)
        elif member.state == "drained":
            text = f"member {member.name} is drained: it takes no switches"
            yield kinds.MEMBER_DRAINED.at(text, subject=member.name, data=data)
