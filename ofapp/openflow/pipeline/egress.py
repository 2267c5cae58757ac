"""How frames leave a bridge: what a flow or a group's bucket does to send one out of a port.

Most frames go straight out.  Those that leave without their tag, and all for a port of which more
is asked (see `Reach.guarded`), go through the port's own group: it takes the tag off, which a flow
may not do that matches untagged frames too, or it leads through the egress table.  So a change of
what is asked of a port is one group-mod for any number of addresses behind it, and these can still
be deleted by where they lead to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.policy import PortPolicy
from ofapp.bridge.ports import LOCAL_PORT
from ofapp.bridge.reach import Reach
from ofapp.bridge.vlan import NO_VLAN, blocks
from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.flow import (
    Action,
    BackOut,
    Bucket,
    Flow,
    Group,
    Match,
    Output,
    PopTag,
    Resubmit,
    SetRegister,
    ToGroup,
    register,
    tagged,
    vlan,
)
from ofapp.openflow.model.rule import Register
from ofapp.openflow.pipeline.chain import chained
from ofapp.openflow.pipeline.pipeline import FLOOD_GROUP, PORT_GROUPS, VLAN_GROUPS, TableId, check

BROADCAST = (1 << 48) - 1
GROUP_BIT = 0x010000000000
_TABLE = TableId.EGRESS


def port_group(port: int) -> int:
    """A port's own group."""
    return PORT_GROUPS | (0xFFFF if port == LOCAL_PORT else port)


def port_of_group(group: int) -> int | None:
    """The port that a group leads to; None for a group that is none of these."""
    port = group - PORT_GROUPS
    if not 0 < port <= 0xFFFF:
        return None
    return LOCAL_PORT if port == 0xFFFF else port


def way_out(reach: Reach, port: int, vid: int) -> tuple[Action, ...]:
    """A flow's actions for a frame of this VLAN that is for this port alone."""
    return (Output(port),) if reach.straight(port, vid) else (ToGroup(port_group(port)),)


def bucket(reach: Reach, port: int, vid: int, floods: bool = False) -> Bucket:
    """A group's bucket for a port; floods: it gets the frame because everybody does."""
    if not reach.guarded(port):
        return _plain(port, reach.vlans(port).pops(vid))
    marks: list[Action] = [SetRegister(Register.EGRESS, port)]
    if floods and _selective(reach.policy(port)):
        marks.append(SetRegister(Register.FLOODED, 1))
    return (*marks, Resubmit(_TABLE))


def entry_groups(reach: Reach, number: int, vid: int, ports: Iterable[int]) -> Iterator[Group]:
    """The group of a multicast entry, and before it its parts if it has such (see `chain`)."""
    return chained(Group(number, frozenset(bucket(reach, port, vid) for port in ports)))


def flood_groups(
    reach: Reach, forwarding: frozenset[int], touched: frozenset[int] | None = None
) -> Iterator[Group]:
    """Everything that floods, by class of VLANs; ports that are not `forwarding` get nothing.

    touched: only those that one of these ports is a member of.
    """

    def group(number: int, vid: int, members: frozenset[int]) -> Iterator[Group]:
        if touched is None or members & touched:
            buckets = (bucket(reach, port, vid, floods=True) for port in members & forwarding)
            yield from chained(Group(number, frozenset(buckets)))

    yield from group(FLOOD_GROUP, NO_VLAN, reach.others())
    for name in reach.classes:
        yield from group(VLAN_GROUPS | name, name, reach.members(name))


def flood_flows(reach: Reach) -> tuple[Flow, ...]:
    """Which class a frame's VLAN is in."""
    table = TableId.FLOOD
    flows = [Flow(table, 0, (), Feature.VLAN, (ToGroup(FLOOD_GROUP),))]
    for name, vids in reach.classes.items():
        to = (ToGroup(VLAN_GROUPS | name),)
        flows += [
            Flow(table, 100, (tagged(value, mask),), Feature.VLAN, to)
            for value, mask in blocks(vids - {NO_VLAN})
        ]
        if NO_VLAN in vids:
            flows.append(Flow(table, 100, (vlan(NO_VLAN),), Feature.VLAN, to))
    return _checked(flows)


def port_groups(bridge: Bridge) -> Iterator[Group]:
    """The groups of the ports that have one."""
    reach = bridge.reach
    for port in (port.number for port in bridge.ports):
        if not reach.takes_part(port):
            continue
        if reach.guarded(port):
            to: Bucket = (SetRegister(Register.EGRESS, port), Resubmit(_TABLE))
            yield Group(port_group(port), frozenset({to}))
        elif reach.vlans(port).untagged:
            yield Group(port_group(port), frozenset({_plain(port, pops=True)}))


def egress_flows(bridge: Bridge) -> tuple[Flow, ...]:
    """The egress table, for all guarded ports; nothing where there is none."""
    reach = bridge.reach
    flows = [
        flow
        for port in bridge.ports
        if reach.takes_part(port.number) and reach.guarded(port.number)
        for flow in _port_flows(reach, port.number)
    ]
    return _checked([*flows, Flow(_TABLE, 0, (), Feature.EGRESS)] if flows else [])


def _port_flows(reach: Reach, port: int) -> Iterator[Flow]:
    policy = reach.policy(port)
    here = register(Register.EGRESS, port)
    copies = tuple(map(Output, reach.egress_copies.get(port, ())))
    if policy.isolated:
        yield Flow(_TABLE, 400, (here, register(Register.ISOLATED, 1)), Feature.EGRESS)
    yield from _flood_controls(policy, here)
    ways: list[tuple[int, tuple[Match, ...], Action]] = [(100, (here,), Output(port))]
    returned = (Match("in_port", port), here)
    if policy.hairpin:
        ways.append((200, returned, BackOut()))
    elif copies:
        yield Flow(_TABLE, 200, returned, Feature.EGRESS)
    for priority, match, out in ways:
        yield Flow(_TABLE, priority, match, Feature.EGRESS, (out, *copies))
        for vid in reach.vlans(port).untagged:
            bare = (PopTag(), out, *copies)
            yield Flow(_TABLE, priority + 10, (*match, tagged(vid)), Feature.EGRESS, bare)


def _flood_controls(policy: PortPolicy, here: Match) -> Iterator[Flow]:
    if not _selective(policy):
        return
    flooded = (here, register(Register.FLOODED, 1))
    group, unicast = Match("eth_dst", GROUP_BIT, GROUP_BIT), Match("eth_dst", 0, GROUP_BIT)
    if not policy.bcast_flood or not policy.mcast_flood:
        everybody = (*flooded, Match("eth_dst", BROADCAST))
        again = (SetRegister(Register.FLOODED, 0), Resubmit(_TABLE)) if policy.bcast_flood else ()
        yield Flow(_TABLE, 330, everybody, Feature.EGRESS, again)
    if not policy.mcast_flood:
        yield Flow(_TABLE, 320, (*flooded, group), Feature.EGRESS)
    if not policy.flood:
        yield Flow(_TABLE, 310, (*flooded, unicast), Feature.EGRESS)


def _selective(policy: PortPolicy) -> bool:
    return not (policy.flood and policy.mcast_flood and policy.bcast_flood)


def _plain(port: int, pops: bool) -> tuple[Action, ...]:
    return (PopTag(), Output(port)) if pops else (Output(port),)


def _checked(flows: list[Flow]) -> tuple[Flow, ...]:
    for flow in flows:
        check(flow)
    return tuple(flows)
