"""How a member forwards frames that are between members: by their outer header alone.

Only frames from link ports come here, and those that enter at this member: these have the logical
port of the other members as their in_port, so that no link port can be taken for the root of a
tree.  A link port takes frames of any member: they pass through members, and a frame that entered
here may come back around a failed link.  So there is no outer source to refuse.  Addresses are
matched without their last octet, which has flags.

Trees go around failed links, too.  A member whose link to the next one is not live sends that one's
copy as a frame for one member, by its live next hops.  There it is a frame of the tree again.  Each
member still gets one copy, since a copy goes either by the link or around it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ofapp.bridge.effects.fabric import FABRIC_PORT, Colour, DesiredFabric, Part
from ofapp.bridge.fabric.address import ANY_WAY, DETOUR, LEAF, to_member, to_tree
from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.flow import (
    NO_PORT,
    Action,
    Bits,
    ChooseInto,
    Clone,
    Flow,
    Match,
    MoveBits,
    OutputRegister,
    Resubmit,
    SetBits,
    SetInPort,
    SetRegister,
    in_port,
    register,
)
from ofapp.openflow.model.rule import Register, TableId, rule
from ofapp.openflow.pipeline.admission import LINK, UNPROVEN
from ofapp.openflow.pipeline.fabric.crossing import (
    DESTINATION,
    KIND,
    TO,
    TO_MEMBER,
    crossing_flows,
    entry_flow,
)
from ofapp.openflow.pipeline.table import Table

EXACT = 0xFFFF_FFFF_FF00
"""Mask of outer destinations: all that says where a frame goes."""
_COLOUR = Bits("eth_dst", 24, 2)
_DETOUR, _LEAF = (Bits("eth_dst", flag.bit_length() - 1, 1) for flag in (DETOUR, LEAF))
_ROOT = Bits("eth_src", 8, 8)
"""Bits of the outer source: the member where the frame entered, and where its tree begins."""

_FABRIC_RULES = (
    rule(
        "leaf",
        320,
        "eth_dst",
        Feature.FABRIC,
        "A frame of a tree whose version this member does not hold, as the controller could not "
        "program it: a copy for this bridge alone. `reg14` has the member where it entered.",
        TableId.LEAVE,
        "address",
    ),
    rule(
        "detoured",
        310,
        "eth_dst",
        Feature.FABRIC,
        "A frame of a tree that came around a failed link of the tree: it goes on by the tree of "
        "the member where it entered, by the same version.",
        actions="address in-port resubmit",
    ),
    rule(
        "here",
        300,
        "eth_dst",
        Feature.FABRIC,
        "For this member, by any version and colour.",
        TableId.LEAVE,
    ),
    rule(
        "unicast",
        200,
        "eth_dst",
        Feature.VERSION,
        "For another member, by a version and a colour: the live next hops. Green frames take one "
        "by a hash of the outer source, red and blue ones the first.",
        TableId.HOP,
        "choose register",
    ),
    rule(
        "tree",
        200,
        "in_port eth_dst",
        Feature.VERSION,
        "By the tree of a member and a version, from the only port where its frames come in, or "
        "around a failed link: on to the next members, and a copy for this bridge. `reg14` has "
        "the next member. A member that does not hold the version gets a separate copy.",
        (None, TableId.LEAVE),
        "clone address",
    ),
    rule(
        "foreign",
        0,
        "",
        Feature.FABRIC,
        "Not a frame of this fabric, of a version that is not here, or by a link that its tree "
        "does not use: drop.",
    ),
)
_HOP_RULES = (
    rule(
        "detour",
        300,
        "eth_dst reg15",
        Feature.FABRIC,
        "The link to the next member of a tree is not live: the copy goes there as a frame for "
        "one member does.",
        actions="address resubmit",
    ),
    rule(
        "turn",
        200,
        "eth_dst reg15",
        Feature.FABRIC,
        "No green next hop is live: the frame is red from here on. No red one: blue. Never back.",
        actions="address resubmit",
    ),
    rule(
        "last-resort",
        100,
        "reg15",
        Feature.FABRIC,
        "No next hop is live: the nearest blue one all the same, whose port is in `reg14`. BFD "
        "alone may say so, as ovs-vswitchd is busy. No blue frame can loop, by any of its links.",
        actions="address in-port output",
    ),
    rule(
        "hop",
        0,
        "",
        Feature.FABRIC,
        "To the next member. A detour may begin at the port that the frame came in by.",
        actions="in-port output",
    ),
)


def fabric_flows(fabric: DesiredFabric) -> Iterator[Flow]:
    """All flows of a fabric but traps, those of aggregations and of versions (`Version`).

    Their order is one in which no frame goes half of its way.  The flow by which frames use a
    version is the last.
    """
    yield from crossing_flows(fabric)
    yield from _hop_flows()
    yield Flow(TableId.FABRIC, 0, (), Feature.FABRIC)
    here = Match("eth_dst", to_member(fabric.fabric, fabric.member), ANY_WAY & EXACT)
    yield Flow(TableId.FABRIC, 300, (here,), Feature.FABRIC, (), TableId.LEAVE)
    yield _detoured_flow(fabric)
    yield _leaf_flow(fabric)
    for link in fabric.links:
        yield Flow(TableId.ADMISSION, UNPROVEN, (in_port(link),), Feature.FABRIC)
    for link in fabric.admitted:
        yield Flow(TableId.ADMISSION, LINK, (in_port(link),), Feature.FABRIC, (), TableId.FABRIC)
    if fabric.content.use is not None:
        yield entry_flow(fabric, fabric.content.use)


@dataclass(frozen=True, slots=True)
class Version:
    """The flows of a version of the plan in a member, which are the same until it is removed.

    fabric, member, number: numbers in outer addresses.
    """

    fabric: int
    member: int
    number: int
    part: Part

    def flows(self) -> Iterator[tuple[Unicast | Tree, int]]:
        """What the flows do, which many have in common, and the destination that each matches."""
        fabric, number = self.fabric, self.number
        for member, hops in self.part.towards.items():
            if member != self.member:
                for colour in Colour:
                    ports = tuple(hop.port for hop in hops.of(colour))
                    to = to_member(fabric, member, number, colour)
                    yield Unicast(self.member, colour, ports), to
        for root, branch in self.part.trees.items():
            to, begins = to_tree(fabric, root, number), branch.entry is None
            branches = tuple((hop.port, hop.member) for hop in branch.hops)
            yield Tree(FABRIC_PORT, branches, branch.leaves, begins), to
            if branch.entry is not None:
                yield Tree(branch.entry, branches, branch.leaves, begins), to

    def __len__(self) -> int:
        others = len(self.part.towards.keys() - {self.member})
        trees = self.part.trees.values()
        return 3 * others + sum(1 if branch.entry is None else 2 for branch in trees)


def versions(fabric: DesiredFabric) -> dict[int, Version]:
    """The versions that a member should hold, by number."""
    return {
        number: Version(fabric.fabric, fabric.member, number, part)
        for number, part in fabric.content.parts.items()
    }


class Unicast(NamedTuple):
    """Next hops of one colour from a member to another one."""

    member: int
    colour: Colour
    ports: tuple[int, ...]

    def flow(self, to: int, version: int) -> Flow:
        """The flow for a destination."""
        actions = _choice(self.member, self.colour, self.ports)
        return _version_flow((), to, version, actions, TableId.HOP)


class Tree(NamedTuple):
    """Branches of a tree, for frames that come in by `entry`: (port, next member) of each.

    leaves: members that get their copies as frames for one member.
    begins: the tree begins here, and its frames need no copy for this bridge.
    """

    entry: int
    hops: tuple[tuple[int, int], ...]
    leaves: tuple[int, ...]
    begins: bool

    def flow(self, to: int, version: int) -> Flow:
        """The flow for a destination."""
        match = (in_port(self.entry),)
        branches = (*(_branch(*hop) for hop in self.hops), *map(_leaf, self.leaves))
        if self.begins:
            return _version_flow(match, to, version, branches, None)
        root = MoveBits(DESTINATION, TO_MEMBER)
        return _version_flow(match, to, version, (*branches, root), TableId.LEAVE)


def _version_flow(
    match: tuple[Match, ...], to: int, version: int, actions: tuple[Action, ...], goto: int | None
) -> Flow:
    match = (*match, Match("eth_dst", to, EXACT))
    return Flow(TableId.FABRIC, 200, match, Feature.VERSION, actions, goto, serial=version)


def _choice(member: int, colour: Colour, ports: tuple[int, ...]) -> tuple[Action, ...]:
    """Each member hashes in another way: otherwise all frames of a port would go on by one."""
    hashes = colour is Colour.GREEN and len(ports) > 1
    live: Action = ChooseInto(ports, member if hashes else None, Register.WAY)
    if not ports:
        live = SetRegister(Register.WAY, NO_PORT)
    if colour is not Colour.BLUE:
        return (live,)
    return live, SetRegister(Register.MEMBER, ports[0] if ports else NO_PORT)


def _branch(port: int, member: int) -> Action:
    """A copy for the next member of a tree."""
    way = ChooseInto((port,), None, Register.WAY)
    return Clone((SetBits(TO, member), way, Resubmit(TableId.HOP)))


def _leaf(member: int) -> Action:
    """A copy for a member that does not hold the tree."""
    to = SetBits(KIND, 0), SetBits(DESTINATION, member), SetBits(_LEAF, 1)
    return Clone((*to, Resubmit(TableId.FABRIC)))


def _leaf_flow(fabric: DesiredFabric) -> Flow:
    to = to_member(fabric.fabric, fabric.member) | LEAF
    here = Match("eth_dst", to, ANY_WAY & EXACT | LEAF)
    root = MoveBits(_ROOT, Bits(TO.field, 0, _ROOT.size))
    return Flow(TableId.FABRIC, 320, (here,), Feature.FABRIC, (root,), TableId.LEAVE)


def _detoured_flow(fabric: DesiredFabric) -> Flow:
    to = to_member(fabric.fabric, fabric.member) | DETOUR
    here = Match("eth_dst", to, ANY_WAY & EXACT | DETOUR)
    go_on = (
        SetBits(_COLOUR, 0),
        SetBits(DESTINATION, 0),
        MoveBits(_ROOT, Bits("eth_dst", DESTINATION.first, _ROOT.size)),
        SetBits(KIND, 1),
        SetBits(_DETOUR, 0),
        SetInPort(FABRIC_PORT),
        Resubmit(TableId.FABRIC),
    )
    return Flow(TableId.FABRIC, 310, (here,), Feature.FABRIC, go_on)


def _hop_flows() -> Iterator[Flow]:
    out = (SetInPort(FABRIC_PORT), OutputRegister(Register.WAY))
    none, again = register(Register.WAY, NO_PORT), Resubmit(TableId.FABRIC)
    yield Flow(TableId.HOP, 0, (), Feature.FABRIC, out)
    last_resort = MoveBits(TO_MEMBER, Bits(f"reg{Register.WAY}", 0, TO_MEMBER.size))
    yield Flow(TableId.HOP, 100, (none,), Feature.FABRIC, (last_resort, *out))
    for colour, then in ((Colour.GREEN, Colour.RED), (Colour.RED, Colour.BLUE)):
        now = Match("eth_dst", colour << _COLOUR.first, 3 << _COLOUR.first)
        yield Flow(TableId.HOP, 200, (now, none), Feature.FABRIC, (SetBits(_COLOUR, then), again))
    of_tree = Match("eth_dst", 1 << KIND.first, 1 << KIND.first)
    around = (SetBits(KIND, 0), MoveBits(TO_MEMBER, DESTINATION), SetBits(_DETOUR, 1), again)
    yield Flow(TableId.HOP, 300, (of_tree, none), Feature.FABRIC, around)


FABRIC = Table(
    TableId.FABRIC,
    "fabric",
    "Frames between the members of a fabric, by the outer destination. Its octets: 02 for one "
    "member or 03 for a tree, the fabric, the version (six bits) and the colour (two), the member "
    "or the root (two octets), and flags: 1 for a frame from an isolated port or one of a "
    "community, 2 for a frame of a tree on a detour, 4 for one to a member that does not hold the "
    "tree; the five bits above have the community.",
    _FABRIC_RULES,
)
HOP = Table(
    TableId.HOP,
    "hop",
    "The next hop of a frame: `reg15` is its port, or 0xffff if none is live.",
    _HOP_RULES,
)
