"""Where frames enter a fabric from the bridge of a member, and leave it for the bridge.

A frame that enters gets a second Ethernet header (`ofapp.bridge.fabric.address`), and is one of the
fabric's from then on.  One flow fills the header in: it alone has the version of the plan, so that
a change of the version is one flow, however many hosts there are at other members.  A frame that
leaves is without the header, and comes in by the logical port that stands for all other members.
"""

from collections.abc import Iterable, Iterator

from ofapp.bridge.desired import Desired
from ofapp.bridge.effects.fabric import FABRIC_PORT, DesiredFabric
from ofapp.bridge.fabric.address import ENTROPY, source, to_member
from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.flow import (
    MPLS,
    MPLS_MULTICAST,
    NSH,
    TAGGED,
    Action,
    Bits,
    Clone,
    Decapsulate,
    Encapsulate,
    Flow,
    Hash,
    Match,
    MoveBits,
    Output,
    PopTag,
    PushEmptyTag,
    Resubmit,
    SetBits,
    SetInPort,
    SetRegister,
    in_port,
    register,
    vlan,
)
from ofapp.openflow.model.rule import Register, TableId, rule
from ofapp.openflow.model.traps import trap_rules
from ofapp.openflow.pipeline.table import Table

TREE = 1 << 16
"""Bit of the register MEMBER: a frame is for the tree that begins at that member."""
ORIGIN = Bits(f"reg{Register.MEMBER}", 17, 12)
"""Bits of the register MEMBER: the aggregation with ports at several members it came from, or 0."""
_MEMBER_PORTS = 0xFD00
"""Ports that no switch has.  Flows output to them so that deletes find those of one member."""
_REMOTE_SECONDS = 300
"""Idle timeout of remote hosts where learned addresses never age."""

_TAG = Bits(f"reg{Register.ADVERTISES}", 0, 16)
"""A VLAN tag on its way: the register is of no use to frames that enter or leave."""
_TCI, _LABEL = Bits("vlan_tci", 0, 16), Bits("mpls_label", 0, 16)
_LABEL_IS_TAG = 1
"""Traffic class of the MPLS header whose label is the VLAN tag of the frame inside."""
KIND, DESTINATION = Bits("eth_dst", 40, 1), Bits("eth_dst", 8, 16)
"""Bits of the outer destination: whether it is a tree's, and the member, or the tree's root."""
_ISOLATED, _ISOLATED_REGISTER = Bits("eth_dst", 0, 1), Bits(f"reg{Register.ISOLATED}", 0, 1)
_COMMUNITY = Bits("eth_dst", 3, 5)
_COMMUNITY_REGISTER = Bits(f"reg{Register.ISOLATED}", 1, 5)
_ENTROPY, _ORIGIN = Bits("eth_src", 0, 8), Bits("eth_src", 16, ORIGIN.size)
TO = Bits(f"reg{Register.MEMBER}", 0, ORIGIN.first)
TO_MEMBER = Bits(f"reg{Register.MEMBER}", 0, DESTINATION.size)
"""Bits of the register MEMBER: a member or a tree, and the member alone."""
_ENTERED = (1 << 16) - 1

_UNKNOWN_RULES = (
    *trap_rules(TableId.UNKNOWN),
    rule(
        "flood",
        0,
        "",
        Feature.FABRIC,
        "Frames to groups, and all that come from other members.",
        TableId.FLOOD,
    ),
)
_ENTER_RULES = (
    rule(
        "returned",
        200,
        "in_port",
        Feature.FABRIC,
        "From another member, for another member: drop. So no frame crosses a fabric twice.",
    ),
    rule(
        "labelled",
        100,
        "eth_type",
        Feature.FABRIC,
        "A frame with MPLS labels is inside NSH: inside MPLS it would end Open vSwitch.",
        TableId.OUTER,
        "encapsulate",
    ),
    rule(
        "tagged",
        50,
        "vlan_vid",
        Feature.FABRIC,
        "A frame with a VLAN tag: the tag becomes the label of the MPLS header. Linux drops a "
        "frame that gets a second Ethernet header while it has a tag (skb_eth_push).",
        TableId.OUTER,
        "address vlan encapsulate",
    ),
    rule("frame", 0, "", Feature.FABRIC, "Any other frame.", TableId.OUTER, "encapsulate"),
)
_OUTER_RULES = (
    rule(
        "outer",
        100,
        "",
        Feature.VERSION,
        "The destination has the version, the member or the root of the tree, and whether the "
        "ingress port is isolated, or its community; the source has this member, the aggregation "
        "that the frame came from, and the hash that spreads frames over links. The in_port is the "
        "one that stands for all other members.",
        TableId.FABRIC,
        "address in-port",
    ),
    rule("silent", 0, "", Feature.FABRIC, "This member has no plan that its frames may use: drop."),
)
_LEAVE_RULES = (
    rule(
        "tag",
        120,
        "in_port reg7",
        Feature.FABRIC,
        "The frame was inside, and `reg7` has its VLAN tag: it is put back.",
        actions="vlan address register resubmit",
    ),
    rule(
        "labelled",
        110,
        "eth_type mpls_tc",
        Feature.FABRIC,
        "The same as below for a frame whose VLAN tag is the label; a flow that decapsulates can "
        "set no field of the frame inside.",
        actions="address register decapsulate in-port resubmit",
    ),
    rule(
        "leave",
        100,
        "eth_type",
        Feature.FABRIC,
        "The frame inside enters the bridge by the port that stands for all other members. The "
        "controller has had its copy for the IP address where the frame entered.",
        actions="address register decapsulate in-port resubmit",
    ),
    rule("no-frame", 0, "", Feature.FABRIC, "There is no frame inside: drop."),
)


def entry_flow(fabric: DesiredFabric, version: int) -> Flow:
    """The flow that puts frames on their way by a version."""
    actions: tuple[Action, ...] = (
        SetBits(Bits("eth_dst", 0, 48), to_member(fabric.fabric, 0, version)),
        MoveBits(TO_MEMBER, DESTINATION),
        MoveBits(Bits(f"reg{Register.MEMBER}", 16, 1), KIND),
        MoveBits(_ISOLATED_REGISTER, _ISOLATED),
        *((MoveBits(_COMMUNITY_REGISTER, _COMMUNITY),) if fabric.communities else ()),
        SetBits(Bits("eth_src", 0, 48), source(fabric.fabric, fabric.member)),
        MoveBits(ORIGIN, _ORIGIN),
        MoveBits(Bits(f"reg{Register.WAY}", 0, _ENTROPY.size), _ENTROPY),
        SetInPort(FABRIC_PORT),
    )
    return Flow(TableId.OUTER, 100, (), Feature.VERSION, actions, TableId.FABRIC, serial=version)


def remote_flow(vid: int, mac: int, member: int, ageing_time: int) -> Flow:
    """The flow for a host at another member."""
    return Flow(
        TableId.DESTINATION,
        200,
        (vlan(vid), Match("eth_dst", mac)),
        Feature.REMOTE,
        (
            Output(member_port(member)),
            SetBits(TO, member),
            Hash(Register.WAY, ENTROPY),
        ),
        TableId.ENTER,
        idle_timeout=ageing_time or _REMOTE_SECONDS,
        notify_removal=False,
    )


def member_port(member: int) -> int:
    """The port by which deletes find the remote hosts of a member."""
    return _MEMBER_PORTS | member


def crossing_flows(fabric: DesiredFabric) -> Iterator[Flow]:
    """The flows that are the same for all versions, those for frames that leave first."""
    yield Flow(TableId.LEAVE, 0, (), Feature.FABRIC)
    leave = (
        MoveBits(_ISOLATED, _ISOLATED_REGISTER),
        *((MoveBits(_COMMUNITY, _COMMUNITY_REGISTER),) if fabric.communities else ()),
        MoveBits(_ORIGIN, ORIGIN),
        SetRegister(Register.SAMPLED, 1),
        Decapsulate(),
        SetInPort(FABRIC_PORT),
        Resubmit(TableId.ADMISSION),
    )
    for kind in (MPLS, NSH):
        yield Flow(TableId.LEAVE, 100, (Match("eth_type", kind),), Feature.FABRIC, leave)
    labelled = Match("eth_type", MPLS), Match("mpls_tc", _LABEL_IS_TAG)
    take_label = MoveBits(_LABEL, _TAG), *leave[:-1], Resubmit(TableId.LEAVE)
    yield Flow(TableId.LEAVE, 110, labelled, Feature.FABRIC, take_label)
    put_back = PushEmptyTag(), MoveBits(_TAG, _TCI), SetRegister(Register.ADVERTISES, 0)
    tagged = in_port(FABRIC_PORT), _bits(Bits(_TAG.field, 12, 1), 1)
    yield Flow(TableId.LEAVE, 120, tagged, Feature.FABRIC, (*put_back, leave[-1]))
    yield Flow(TableId.OUTER, 0, (), Feature.FABRIC)
    table, outer = TableId.ENTER, TableId.OUTER
    others = register(Register.EGRESS, FABRIC_PORT)
    into_tree = SetBits(TO, TREE | fabric.member)
    yield Flow(table, 200, (in_port(FABRIC_PORT),), Feature.FABRIC)
    for more, inside, encapsulate in _encapsulations(fabric):
        yield Flow(table, more, inside, Feature.FABRIC, encapsulate, outer)
        copy = Clone((into_tree, *encapsulate, Resubmit(outer)))
        yield Flow(TableId.LAG, 100 + more, (others, *inside), Feature.FABRIC, (copy,))


def _encapsulations(
    fabric: DesiredFabric,
) -> Iterator[tuple[int, tuple[Match, ...], tuple[Action, ...]]]:
    """Priority, match and actions by which frames get the second header: never the last alone."""
    for labels in (MPLS, MPLS_MULTICAST):
        yield 100, (Match("eth_type", labels),), (Encapsulate(labelled=True),)
    if not fabric.tags_inside:
        label = MoveBits(_TAG, _LABEL), SetBits(Bits("mpls_tc", 0, 3), _LABEL_IS_TAG)
        tag = MoveBits(_TCI, _TAG), PopTag(), Encapsulate(), *label
        yield 50, (Match("vlan_vid", TAGGED, TAGGED),), tag
    yield 0, (), (Encapsulate(),)


def shared_flows(lag: int, members: Iterable[int]) -> Iterator[Flow]:
    """The flows that keep frames out of an aggregation with ports at other members, too.

    members: those whose flooded frames do not leave by it here.
    """
    out = register(Register.EGRESS, lag)
    back = _bits(ORIGIN, lag)
    match = (in_port(FABRIC_PORT), out, back)
    yield Flow(TableId.EGRESS, 420, match, Feature.FABRIC, serial=lag)
    for member in members:
        entered = Match(f"reg{Register.MEMBER}", member, _ENTERED)
        yield Flow(TableId.EGRESS, 410, (out, entered), Feature.FABRIC, serial=lag)


def origin(lag: int) -> SetRegister:
    """The action that notes that a frame has come from such an aggregation."""
    return SetRegister(Register.MEMBER, lag << ORIGIN.first)


def _bits(bits: Bits, value: int) -> Match:
    return Match(bits.field, value << bits.first, (1 << bits.size) - 1 << bits.first)


def _unknown_flows(desired: Desired, _metered: bool) -> Iterator[Flow]:
    if desired.protocols.get("fabric") is not None:
        yield Flow(TableId.UNKNOWN, 0, (), Feature.FABRIC, (), TableId.FLOOD)


UNKNOWN = Table(
    TableId.UNKNOWN,
    "unknown",
    "Frames without a known destination, in a member of a fabric.",
    _UNKNOWN_RULES,
    flows=_unknown_flows,
)
ENTER = Table(
    TableId.ENTER,
    "enter",
    "Where frames for one host enter a fabric and become the content of another frame. `reg14` is "
    "the member where the host is. Like the tables below, it exists only in members of a fabric.",
    _ENTER_RULES,
)
OUTER = Table(
    TableId.OUTER,
    "outer",
    "The outer header. `reg14` is the member that a frame is for, or 0x10000 and this member for "
    "the tree that begins here. It alone has the version of the plan, and changes with it.",
    _OUTER_RULES,
)
LEAVE = Table(
    TableId.LEAVE,
    "leave",
    "Where frames leave a fabric. `reg14` is the member where a frame of a tree entered.",
    _LEAVE_RULES,
)
