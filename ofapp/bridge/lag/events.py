"""Events of aggregations."""

from ofapp.bridge.event import ERROR, INFO, SET, WARNING, EventKind

LAG_SET = EventKind("lag.set", INFO, SET, fields="...")
LAG_MEMBER_UP = EventKind(
    "lag.member.up", INFO, "A member of an aggregation carries traffic.", fields="..."
)
LAG_MEMBER_DOWN = EventKind(
    "lag.member.down",
    WARNING,
    "A member of an aggregation carries no traffic.",
    "`ofapp lag show` has the reason.",
    "...",
)
LAG_CONFLICT = EventKind(
    "lag.conflict",
    ERROR,
    "A member of an aggregation cannot be used as configured.",
    "Change `lags:` as the message describes.",
    "...",
)
LAG_ONE_SIDED = EventKind(
    "lag.one-sided",
    WARNING,
    "A static aggregation sends on members whose partner uses only one of them.",
    "Set the partner to a static aggregation, or use LACP at both ends.",
    "...",
)
LAG_ONE_SIDED_CLEARED = EventKind(
    "lag.one-sided.cleared", INFO, "The partner uses all members.", fields="..."
)
