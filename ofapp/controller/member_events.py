"""Events of the cluster: members, owners of switches, etcd, the pushed configuration.

The catalogue always has them, and `controller.cluster` is loaded only in a cluster.
"""

from __future__ import annotations

from ofapp.bridge.event import BY_ITSELF, ERROR, INFO, WARNING, EventKind

CONFIG_BEHIND = EventKind(
    "config.behind",
    ERROR,
    "A member of the cluster cannot run the pushed configuration.",
    "Upgrade it, or push what all members can run.",
    "...",
)
CONFIG_DIFFERS = EventKind(
    "config.differs",
    WARNING,
    "A member's local file differs from the pushed configuration, which counts.",
    "Push that file, or remove it.",
    "...",
)
STATE_LOST = EventKind(
    "state.lost",
    ERROR,
    "A change that was not saved was lost when another member took the switch over.",
    "Make the change again.",
    "...",
)
CLUSTER_MEMBER = EventKind(
    "cluster.member", INFO, "A member joined the cluster.", fields="member", others=(WARNING,)
)
CLUSTER_MEMBER_GONE = EventKind(
    "cluster.member.gone",
    WARNING,
    "A member left the cluster, or its lease ended.",
    "See its host; its switches were taken over.",
    "member",
)
CLUSTER_OWNER = EventKind("cluster.owner", INFO, "A switch has another owner.", fields="...")
CLUSTER_DUPLICATE = EventKind(
    "cluster.duplicate",
    ERROR,
    "Another process runs under this member's name.",
    "Give one of them another name (--member).",
    "...",
)
CLUSTER_DUPLICATE_CLEARED = EventKind(
    "cluster.duplicate.cleared", INFO, "The member's name is used once again.", fields="..."
)
CLUSTER_INVALID = EventKind(
    "cluster.invalid",
    WARNING,
    "Keys in etcd are not valid and were set aside.",
    "Delete them with etcdctl, or see which program wrote them.",
    "...",
)
CLUSTER_INVALID_CLEARED = EventKind(
    "cluster.invalid.cleared", INFO, "Invalid keys are gone.", fields="..."
)
CLUSTER_ETCD_SLOW = EventKind(
    "cluster.etcd.slow",
    WARNING,
    "etcd answers so slowly that leases may end.",
    "See etcd's disks and the network between its nodes.",
    "...",
)
CLUSTER_ETCD_SLOW_CLEARED = EventKind(
    "cluster.etcd.slow.cleared", INFO, "etcd answers in time again.", fields="..."
)
CLUSTER_WAITING = EventKind(
    "cluster.waiting",
    WARNING,
    "A member that starts waits for etcd.",
    "See etcd's nodes, and cluster.etcd in the file.",
)
CLUSTER_DRAINED = EventKind(
    "cluster.drained", INFO, "A member gives its switches up.", fields="member"
)
CLUSTER_DRAINED_CLEARED = EventKind(
    "cluster.drained.cleared", INFO, "A member takes switches again.", fields="member"
)
CLUSTER_LOST = EventKind(
    "cluster.lost",
    ERROR,
    "This member's lease ended; it is on standby for all switches.",
    "See whether it reaches etcd: `ofapp cluster show`.",
    "...",
)
CLUSTER_LOST_CLEARED = EventKind(
    "cluster.lost.cleared", INFO, "This member has a lease again.", fields="..."
)
CLUSTER_ETCD = EventKind(
    "cluster.etcd",
    WARNING,
    "A node of etcd does not answer.",
    "See that node; a majority must run.",
    "...",
)
CLUSTER_ETCD_CLEARED = EventKind(
    "cluster.etcd.cleared", INFO, "A node of etcd answers again.", fields="..."
)
CLUSTER_ETCD_ALARM = EventKind(
    "cluster.etcd.alarm",
    ERROR,
    "etcd raised an alarm, mostly that its disk quota is reached.",
    "Compact and defragment etcd, then disarm the alarm (deploy/etcd).",
    "alarm",
)
CLUSTER_ETCD_ALARM_CLEARED = EventKind(
    "cluster.etcd.alarm.cleared", INFO, "etcd's alarm is disarmed.", fields="alarm"
)
CLUSTER_HISTORY = EventKind(
    "cluster.history",
    ERROR,
    "etcd was wiped or restored; members write back what they know.",
    BY_ITSELF,
    "...",
)
CLUSTER_HISTORY_CLEARED = EventKind(
    "cluster.history.cleared", INFO, "The cluster works on the new etcd.", fields="..."
)
CLUSTER_TERM = EventKind(
    "cluster.term", WARNING, "A switch refused this member's generation_id.", BY_ITSELF
)
