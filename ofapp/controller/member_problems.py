"""Kinds of problems of a cluster: members and etcd.

The catalogue always has them, and `controller.cluster` is loaded only in a cluster.
"""

from __future__ import annotations

from ofapp.bridge.event import ERROR, INFO, WARNING
from ofapp.bridge.problem import ProblemKind

_SHOW = "ofapp cluster show"

STANDBY = ProblemKind(
    "cluster.standby",
    ERROR,
    "This member of the cluster serves no switch: it has no lease, or knows too little of others.",
    "See whether it reaches etcd, and whether another process has its name.",
    "It renews its lease and knows the other members.",
    _SHOW,
    2.0,
)
MEMBER_GONE = ProblemKind(
    "cluster.member-gone",
    WARNING,
    "A member of the cluster has gone: fewer are left to take its switches over.",
    "See its host. A member that was removed for good is forgotten an hour after its end.",
    "The member joins again, or an hour has passed.",
    _SHOW,
    5.0,
)
MEMBER_DRAINED = ProblemKind(
    "cluster.member-drained",
    INFO,
    "A member of the cluster is drained: it takes no switches.",
    "If its work is done, the command ends that.",
    "The member takes switches.",
    "ofapp cluster undrain {member}",
)
ETCD_NODE = ProblemKind(
    "cluster.etcd-node",
    WARNING,
    "A node of etcd does not answer or has no leader: the loss of another may end the majority.",
    "See that node's host and its log.",
    "The node answers and has a leader.",
    _SHOW,
    5.0,
)
ETCD_SLOW = ProblemKind(
    "cluster.etcd-slow",
    WARNING,
    "Answers of etcd take so long that leases may end.",
    "See etcd's disks and the network between its nodes, or set a longer lease.",
    "An answer of etcd takes less than a fifth of the lease.",
    _SHOW,
    10.0,
)
CLOCKS = ProblemKind(
    "cluster.clocks",
    WARNING,
    "The clocks of this member and of a node of etcd differ: times of events are wrong at one of"
    " them, and certificates may be refused.",
    "Compare `date -u` on both hosts, and let both follow a time server (`timedatectl`).",
    "The clocks differ by less than five seconds.",
    _SHOW,
    10.0,
)
ETCD_ALARM = ProblemKind(
    "cluster.etcd-alarm",
    ERROR,
    "An alarm of etcd stands, mostly that its quota is reached: nothing that changes is saved.",
    "Make room by `etcdctl compact` and `etcdctl defrag`, then `etcdctl alarm disarm`.",
    "The alarm is disarmed.",
    _SHOW,
)
INVALID_KEYS = ProblemKind(
    "cluster.invalid-keys",
    WARNING,
    "Keys of the cluster in etcd are not valid and are set aside.",
    "Delete them with `etcdctl del`, or see which program wrote them.",
    "The keys are valid or deleted.",
    _SHOW,
)
