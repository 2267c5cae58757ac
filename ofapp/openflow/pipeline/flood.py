"""Flooding of broadcasts and of frames to unknown destinations, by classes of VLANs."""

from collections.abc import Iterator

from ofapp.bridge.desired import Desired
from ofapp.bridge.ports.vlan import NO_VLAN, blocks
from ofapp.bridge.relay.policies import PortPolicies
from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.flow import Flow, Group, ToGroup, tagged, vlan
from ofapp.openflow.model.rule import TableId, rule
from ofapp.openflow.pipeline.chain import chained
from ofapp.openflow.pipeline.egress import bucket
from ofapp.openflow.pipeline.group_numbers import FLOOD_GROUP, VLAN_GROUPS
from ofapp.openflow.pipeline.table import Table

_RULES = (
    rule(
        "vlan",
        100,
        "vlan_vid",
        Feature.VLAN,
        "A VLAN, or a block of VLANs with the same ports: those ports but the ingress.",
        actions="group",
    ),
    rule(
        "others",
        0,
        "",
        Feature.VLAN,
        "All other VLANs: transparent ports, and trunks of all VLANs.",
        actions="group",
    ),
)


def floods_by_table(desired: Desired, metered: bool) -> bool:
    """Whether frames flood by way of this table, and not straight through the one group.

    The state of a port does not matter: it may open without any other change.
    """
    return (
        desired.port_policies.aware
        or desired.protocols.get("fabric") is not None
        or (metered and desired.port_policies.limits_unknown)
    )


def flood_flows(desired: Desired, metered: bool) -> Iterator[Flow]:
    """The flows that lead a frame to the flood group of its VLAN's class."""
    if not floods_by_table(desired, metered):
        return
    table, policies = TableId.FLOOD, desired.port_policies
    yield Flow(table, 0, (), Feature.VLAN, (ToGroup(FLOOD_GROUP),))
    for name, vids in policies.classes.items():
        to = (ToGroup(VLAN_GROUPS | name),)
        for value, mask in blocks(vids - {NO_VLAN}):
            yield Flow(table, 100, (tagged(value, mask),), Feature.VLAN, to)
        if NO_VLAN in vids:
            yield Flow(table, 100, (vlan(NO_VLAN),), Feature.VLAN, to)


def flood_groups(
    policies: PortPolicies, forwarding: frozenset[int], touched: frozenset[int] | None = None
) -> Iterator[Group]:
    """Everything that floods, by class of VLANs; ports that are not `forwarding` get nothing.

    touched: only the groups that one of these ports is a member of, all if one was removed.
    """
    if touched is not None and not all(map(policies.has, touched)):
        touched = None

    def group(number: int, vid: int, members: frozenset[int]) -> Iterator[Group]:
        if touched is None or members & touched:
            buckets = (bucket(policies, port, vid, floods=True) for port in members & forwarding)
            yield from chained(Group(number, frozenset(buckets)))

    yield from group(FLOOD_GROUP, NO_VLAN, policies.others())
    for name in policies.classes:
        yield from group(VLAN_GROUPS | name, name, policies.members(name))


FLOOD = Table(
    TableId.FLOOD,
    "flood",
    "Flood ports of each VLAN. Used only if they differ between VLANs, if "
    "unknown unicast is metered, or in a fabric.",
    _RULES,
    flows=flood_flows,
)
