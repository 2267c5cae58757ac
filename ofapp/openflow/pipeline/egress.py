"""Egress actions: the actions of a flow or group bucket that send a frame out of a port.

Most frames go straight out.  Two kinds go through the port's own group: those that leave without
their tag, and all for a port that checks what leaves (`PortPolicies.guarded`).  The group takes the
tag off, which a flow may not do that matches untagged frames too, or it leads through the egress
table.  So a change of a port's options is one group-mod for any number of addresses behind it, and
these can still be deleted by where they lead to.
"""

from collections.abc import Iterable, Iterator

from ofapp.bridge.desired import Desired
from ofapp.bridge.params.policy import PortPolicy
from ofapp.bridge.relay.policies import PortPolicies
from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.flow import (
    TO_ALL,
    TO_GROUP,
    TO_HOST,
    Action,
    BackOut,
    Bucket,
    Flow,
    Forwarding,
    Group,
    Match,
    Output,
    PopTag,
    Resubmit,
    SetRegister,
    ToGroup,
    in_port,
    kept_out,
    register,
    tagged,
)
from ofapp.openflow.model.rule import Register, TableId, rule
from ofapp.openflow.pipeline.chain import chained
from ofapp.openflow.pipeline.group_numbers import port_group
from ofapp.openflow.pipeline.table import Table

_RULES = (
    rule(
        "split-horizon",
        420,
        "in_port reg0 reg14",
        Feature.FABRIC,
        "From another member, out of the aggregation that the frame came from there: drop.",
    ),
    rule(
        "shared",
        410,
        "reg0 reg14",
        Feature.FABRIC,
        "By a tree, out of an aggregation that has ports at the member where the frame entered, "
        "too: drop. That member has sent it there.",
    ),
    rule(
        "isolated",
        400,
        "reg0 reg1",
        Feature.EGRESS,
        "From one isolated port to another, or from another community: drop. `reg1` has bit 0 for "
        "an isolated port and for one of a community, whose number stands above it.",
    ),
    rule(
        "broadcast",
        330,
        "reg0 reg2 eth_dst",
        Feature.EGRESS,
        "A port that broadcasts do not flood to: drop. On one that gets them, but no other "
        "multicast: once more, as if the frame were for the port alone.",
        actions="register resubmit",
    ),
    rule(
        "multicast",
        320,
        "reg0 reg2 eth_dst",
        Feature.EGRESS,
        "A port that multicast does not flood to: drop.",
    ),
    rule(
        "unknown-unicast",
        310,
        "reg0 reg2 eth_dst",
        Feature.EGRESS,
        "A port that frames to unknown hosts do not flood to: drop.",
    ),
    rule(
        "rate-returned",
        260,
        "in_port reg0",
        Feature.EGRESS,
        "Back to the ingress port, which has a rate: the end, as without a rate, so that the rate "
        "is for frames that leave.",
        drops=False,
    ),
    rule(
        "rate",
        250,
        "reg0 reg2",
        Feature.EGRESS,
        "Out of a port with a rate: a separate copy passes the port's meter in table `rate`, and "
        "comes back with `reg2` = 2.",
        actions="clone",
    ),
    rule(
        "hairpin-vlan",
        210,
        "in_port reg0 vlan_vid",
        Feature.EGRESS,
        "Back to the ingress port, in a VLAN that leaves the port untagged.",
        actions="output vlan register resubmit",
    ),
    rule(
        "hairpin",
        200,
        "in_port reg0",
        Feature.EGRESS,
        "Back to the ingress port; without hairpin dropped: on a port with a "
        "mirror, so that the mirror gets no copy of frames that do not leave, and "
        "on an aggregation, so that no frame leaves by another member.",
        actions="output vlan register resubmit",
    ),
    rule(
        "out-vlan",
        110,
        "reg0 vlan_vid",
        Feature.EGRESS,
        "Out, in a VLAN that leaves the port untagged; and to a mirror.",
        actions="output vlan register resubmit",
    ),
    rule(
        "out",
        100,
        "reg0",
        Feature.EGRESS,
        "Out, of an aggregation through its own table; and to a mirror.",
        actions="output vlan register resubmit",
    ),
    rule("nowhere", 0, "", Feature.EGRESS, "No such port: drop."),
)

_TABLE = TableId.EGRESS


def out_by(policies: PortPolicies, port: int) -> tuple[Action, ...]:
    """The actions that send a frame out of a port, which may be an aggregation's."""
    return through(port) if port in policies.aggregated else (Output(port),)


def through(lag: int) -> tuple[Forwarding, ...]:
    """The actions that send a frame out of one of an aggregation's members."""
    return SetRegister(Register.EGRESS, lag), Resubmit(TableId.LAG)


def way_out(policies: PortPolicies, port: int, vid: int) -> tuple[Action, ...]:
    """A flow's actions for a frame of this VLAN that is for this port alone."""
    return (Output(port),) if policies.straight(port, vid) else (ToGroup(port_group(port)),)


def bucket(policies: PortPolicies, port: int, vid: int, floods: bool = False) -> Bucket:
    """A group's bucket for a port; floods: for a frame that floods."""
    if not policies.guarded(port):
        return _plain(port, policies.vlans(port).pops(vid))
    marks: list[Forwarding] = [SetRegister(Register.EGRESS, port)]
    if floods and _selective(policies.policy(port)):
        marks.append(SetRegister(Register.FLOODED, 1))
    return (*marks, Resubmit(_TABLE))


def entry_groups(
    policies: PortPolicies, number: int, vid: int, ports: Iterable[int]
) -> Iterator[Group]:
    """The group of a multicast entry, and before it its parts if it has such (see `chain`)."""
    return chained(Group(number, frozenset(bucket(policies, port, vid) for port in ports)))


def port_groups(policies: PortPolicies, ports: Iterable[int]) -> Iterator[Group]:
    """The groups of ports, as far as they have one.

    A port that is shut down has its group, too: a static address may lead there.
    """
    for port in ports:
        if policies.guarded(port):
            to: Bucket = (SetRegister(Register.EGRESS, port), Resubmit(_TABLE))
            yield Group(port_group(port), frozenset({to}))
        elif policies.vlans(port).untagged:
            yield Group(port_group(port), frozenset({_plain(port, pops=True)}))


def egress_flows(policies: PortPolicies, ports: Iterable[int]) -> Iterator[Flow]:
    """The flows for those of the ports that are guarded; none where there is no such port."""
    guarded = [port for port in filter(policies.takes_part, ports) if policies.guarded(port)]
    for port in guarded:
        yield from _port_flows(policies, port)
    if guarded:
        yield Flow(_TABLE, 0, (), Feature.EGRESS)


def _port_flows(policies: PortPolicies, port: int) -> Iterator[Flow]:
    policy = policies.policy(port)
    here = register(Register.EGRESS, port)
    copies = tuple(
        action for to in policies.egress_copies.get(port, ()) for action in out_by(policies, to)
    )
    out = out_by(policies, port)
    aggregated = port in policies.aggregated
    if policy.isolated and not policies.communities:
        yield Flow(_TABLE, 400, (here, register(Register.ISOLATED, 1)), Feature.EGRESS)
    else:
        for restricted in kept_out(policy.restriction):
            yield Flow(_TABLE, 400, (here, restricted), Feature.EGRESS)
    yield from _flood_controls(policy, here)
    ways: list[tuple[int, tuple[Match, ...], tuple[Action, ...]]] = [(100, (here,), out)]
    returned = (in_port(port), here)
    if policy.hairpin:
        ways.append((200, returned, out if aggregated else (BackOut(),)))
    elif copies or aggregated:
        yield Flow(_TABLE, 200, returned, Feature.EGRESS)
    for priority, match, way in ways:
        yield Flow(_TABLE, priority, match, Feature.EGRESS, (*way, *copies))
        for vid in policies.vlans(port).untagged:
            bare = (PopTag(), *way, *copies)
            yield Flow(_TABLE, priority + 10, (*match, tagged(vid)), Feature.EGRESS, bare)


def _flood_controls(policy: PortPolicy, here: Match) -> Iterator[Flow]:
    if not _selective(policy):
        return
    flooded = (here, register(Register.FLOODED, 1))
    if not policy.bcast_flood or not policy.mcast_flood:
        again = (SetRegister(Register.FLOODED, 0), Resubmit(_TABLE)) if policy.bcast_flood else ()
        yield Flow(_TABLE, 330, (*flooded, TO_ALL), Feature.EGRESS, again)
    if not policy.mcast_flood:
        yield Flow(_TABLE, 320, (*flooded, TO_GROUP), Feature.EGRESS)
    if not policy.flood:
        yield Flow(_TABLE, 310, (*flooded, TO_HOST), Feature.EGRESS)


def _selective(policy: PortPolicy) -> bool:
    return not (policy.flood and policy.mcast_flood and policy.bcast_flood)


def _plain(port: int, pops: bool) -> Bucket:
    return (PopTag(), Output(port)) if pops else (Output(port),)


def _bridge_flows(desired: Desired, _metered: bool) -> Iterator[Flow]:
    return egress_flows(desired.port_policies, desired.numbers)


EGRESS = Table(
    TableId.EGRESS,
    "egress",
    "Egress policies of ports. `reg0` is the egress port. `reg1` is 1 for a frame from an isolated "
    "port, and 1 with the number of the community above it for a frame from a community. `reg2` is "
    "1 for a flooded frame, and 2 once the frame has passed the port's rate. In a fabric, `reg14` "
    "has the member where a flooded frame entered, and the aggregation that a frame came from.",
    _RULES,
    flows=_bridge_flows,
)
