"""Which tables a port's frames go through: those that it has no use for are skipped."""

from __future__ import annotations

from collections.abc import Iterable

from ofapp.bridge.desired import DesiredPort
from ofapp.openflow.model.rule import TableId

ONWARDS = (TableId.VLAN, TableId.STORM, TableId.ACL, TableId.SOURCE)
"""From admission on, in this order."""


def stages(port: DesiredPort, metered: bool) -> tuple[TableId, ...]:
    """The tables until its frames' source is looked up, that included."""
    policy = port.policy
    storms = policy.storm.broadcast is not None or policy.storm.multicast is not None
    wanted = {
        TableId.VLAN: not port.vlans.transparent,
        TableId.STORM: metered and storms,
        TableId.ACL: policy.acl is not None,
        TableId.SOURCE: True,
    }
    return tuple(table for table in ONWARDS if wanted[table])


def stage_after(table: TableId, port: DesiredPort, metered: bool) -> TableId | None:
    """The table after this one for the port's frames; None when they do not pass this one."""
    ways = stages(port, metered)
    return ways[ways.index(table) + 1] if table in ways else None


def floods_by_table(ports: Iterable[DesiredPort], aware: bool, metered: bool) -> bool:
    """Whether frames flood by way of the flood table, and not straight through the one group.

    aware: VIDs mean something on the bridge.
    """
    return aware or (
        metered and any(port.policy.storm.unknown_unicast is not None for port in ports)
    )
