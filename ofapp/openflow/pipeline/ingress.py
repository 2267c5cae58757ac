"""How frames enter a bridge: what goes with them from their port, their VLAN, storm control."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.reach import Reach
from ofapp.bridge.vlan import NO_VLAN, blocks
from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.flow import (
    PRIORITY_TAGGED,
    UNTAGGED,
    Action,
    Flow,
    Match,
    Output,
    PushTag,
    SetRegister,
    SetVid,
    tagged,
)
from ofapp.openflow.model.rule import Register, TableId
from ofapp.openflow.pipeline.acl_flows import acl_number
from ofapp.openflow.pipeline.egress import BROADCAST, GROUP_BIT
from ofapp.openflow.pipeline.meters import Copy, meter_id

TAGS = (0x8100, 0x88A8)
"""Types of the tags that the switch reads: 802.1Q's C-tag and S-tag."""


def marks(bridge: Bridge, port: int) -> tuple[Action, ...]:
    """What a frame takes along from its port: copies for mirrors first, then what is asked."""
    reach = bridge.reach
    actions: list[Action] = [Output(to) for to in reach.ingress_copies.get(port, ())]
    if reach.policy(port).isolated:
        actions.append(SetRegister(Register.ISOLATED, 1))
    acl = reach.policy(port).acl
    if acl is not None:
        actions.append(SetRegister(Register.ACL, acl_number(acl)))
    return tuple(actions)


def stages(reach: Reach, port: int, metered: bool) -> tuple[TableId, ...]:
    """The tables that a port's frames go through until their source is looked up, that included."""
    policy = reach.policy(port)
    storms = policy.storm.broadcast is not None or policy.storm.multicast is not None
    wanted = {
        TableId.VLAN: not reach.vlans(port).transparent,
        TableId.STORM: metered and storms,
        TableId.ACL: policy.acl is not None,
        TableId.SOURCE: True,
    }
    return tuple(table for table, has in wanted.items() if has)


def flows(reach: Reach, port: int, metered: bool) -> Iterator[Flow]:
    """What a port's frames meet between their admission and the look-up of their source."""
    ways = stages(reach, port, metered)
    for table, goto in pairwise(ways):
        if table is TableId.VLAN:
            yield from _vlan_flows(reach, port, goto)
        elif table is TableId.STORM:
            yield from _storm_flows(reach, port, goto)
    if metered and reach.policy(port).storm.unknown_unicast is not None:
        unicast = (Match("in_port", port), Match("eth_dst", 0, GROUP_BIT))
        meter = meter_id(port, Copy.UNKNOWN_UNICAST)
        table, goto = TableId.DESTINATION, TableId.FLOOD
        yield Flow(table, 10, unicast, Feature.STORM, (), goto, meter=meter)


def filter_flows() -> tuple[Flow, ...]:
    """What is let in by no port that has VLANs of its own."""
    twice = [(PRIORITY_TAGGED, Match("eth_type", kind)) for kind in TAGS]
    table = TableId.VLAN
    return (
        Flow(table, 0, (), Feature.VLAN),
        *(Flow(table, 120, match, Feature.VLAN) for match in twice),
    )


def _vlan_flows(reach: Reach, port: int, goto: TableId) -> Iterator[Flow]:
    vlans, table = reach.vlans(port), TableId.VLAN
    in_port = Match("in_port", port)
    if vlans.pvid != NO_VLAN:
        push, classify = (PushTag(vlans.pvid),), (SetVid(vlans.pvid),)
        yield Flow(table, 100, (in_port, UNTAGGED), Feature.VLAN, push, goto)
        yield Flow(table, 110, (in_port, PRIORITY_TAGGED), Feature.VLAN, classify, goto)
    if vlans.tagged:
        for vid, mask in blocks(vlans.vids or frozenset()):
            yield Flow(table, 90, (in_port, tagged(vid, mask)), Feature.VLAN, (), goto)


def _storm_flows(reach: Reach, port: int, goto: TableId) -> Iterator[Flow]:
    storm, table = reach.policy(port).storm, TableId.STORM
    in_port, broadcast = Match("in_port", port), Match("eth_dst", BROADCAST)
    group = Match("eth_dst", GROUP_BIT, GROUP_BIT)
    yield Flow(table, 100, (in_port,), Feature.STORM, (), goto)
    meter = None if storm.broadcast is None else meter_id(port, Copy.BROADCAST)
    yield Flow(table, 120, (in_port, broadcast), Feature.STORM, (), goto, meter=meter)
    if storm.multicast is not None:
        meter = meter_id(port, Copy.MULTICAST)
        yield Flow(table, 110, (in_port, group), Feature.STORM, (), goto, meter=meter)


def floods_by_table(reach: Reach, ports: Iterable[int], metered: bool) -> bool:
    """Whether frames flood by way of the flood table, and not straight through the one group."""
    return reach.aware or (
        metered and any(reach.policy(port).storm.unknown_unicast is not None for port in ports)
    )
