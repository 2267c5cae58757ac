"""Contents of a member's switch that a fabric wants, and the effects that change them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

FABRIC_PORT = 0xFE00
"""Number of a member's logical port that leads to all other members.

It is an ordinary trunk port of the member's bridge.  Frames leave by it to one other member, or by
a tree to all.  All frames from other members enter by it, and none of them leaves by it again.
"""


class Hop(NamedTuple):
    """Step of a frame: it leaves by `port` and enters `member` by that member's port `entry`."""

    port: int
    member: int
    entry: int
    cost: int


class Colour(IntEnum):
    """Path that a frame takes; the values are those in frames, and their order that of changes."""

    GREEN = 0
    RED = 1
    BLUE = 2


@dataclass(frozen=True, slots=True)
class NextHops:
    """Next hops of a member towards another one.

    green: hops of equal cost; each flow uses one of them.
    red, blue: the first live one is used.
    """

    green: tuple[Hop, ...]
    red: tuple[Hop, ...]
    blue: tuple[Hop, ...]

    def of(self, colour: Colour) -> tuple[Hop, ...]:
        """The hops of frames of a colour."""
        return (self.green, self.red, self.blue)[colour]

    def choices(self, colour: Colour, live: Callable[[Hop], bool]) -> Iterator[tuple[Colour, Hop]]:
        """The hops that a frame of this colour may take, each with its colour from then on."""
        for now in Colour:
            if now < colour:
                continue
            hops = [hop for hop in self.of(now) if live(hop)]
            if hops:
                yield from ((now, hop) for hop in (hops if now is Colour.GREEN else hops[:1]))
                return


@dataclass(frozen=True, slots=True)
class Branch:
    """Part of a tree at a member.

    entry: the only port by which frames of the tree enter; None where the tree begins.
    hops: hops to the next members.
    leaves: members that do not hold the tree, and get their copy here as frames for one member do.
    """

    entry: int | None
    hops: tuple[Hop, ...]
    leaves: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """What one member forwards.

    towards: next hops by the member that a frame is for; trees: branches by the member where the
    frame entered the fabric.
    ports: ports of the links that the plan uses.
    """

    towards: Mapping[int, NextHops]
    trees: Mapping[int, Branch]
    ports: frozenset[int]

    def __deepcopy__(self, _memo: object) -> Part:
        return self  # a large value, which never changes


@dataclass(frozen=True, slots=True)
class Content:
    """What a member should hold.

    parts: what to forward, by version, and no other version.
    kept: versions of an earlier controller, which stay as they are.
    use: version for frames that enter at this member; None: as it is, if that version is held.
    silent: frames that enter are dropped, so that the version becomes free; then `use` is None.
    """

    parts: Mapping[int, Part]
    kept: frozenset[int]
    use: int | None
    silent: bool = False


@dataclass(frozen=True, slots=True)
class DesiredFabric:
    """Part of a fabric in one member.

    fabric, member: numbers in outer addresses.
    links: the switch's ports that lead to other members, whether they are up or not.
    admitted: those of `links` by which frames of the fabric may come in.
    content: versions of the plan, and the version that entering frames use.
    shared: aggregations here with ports at other members, too, each with the members whose flooded
    frames do not leave by it here: they, or a third one, send such frames there.
    tags_inside: VLAN tags of frames that enter stay where they are.
    communities: outer addresses have the community of the port where a frame entered.
    """

    fabric: int
    member: int
    links: tuple[int, ...]
    admitted: tuple[int, ...]
    content: Content = field(hash=False)
    shared: Mapping[int, tuple[int, ...]] = field(default_factory=dict, hash=False)
    tags_inside: bool = False
    communities: bool = False


@dataclass(frozen=True, slots=True)
class SetFabric:
    """Set the flows by which a member forwards for its fabric."""

    desired: DesiredFabric


@dataclass(frozen=True, slots=True)
class SetShared:
    """Set which flooded frames do not leave by an aggregation that has ports at other members, too.

    members: those where such frames entered; None: it has no ports at others, or none here.
    """

    lag: int
    members: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class PutRemote:
    """Send frames to an address to the member where its host is.

    The flow expires when no frame has used it for the ageing time.
    moved: change the flow if the switch has it, and add none.
    """

    vid: int
    mac: int
    member: int
    moved: bool = False


@dataclass(frozen=True, slots=True)
class RemoveRemote:
    """Remove such an address, if the switch has it."""

    vid: int
    mac: int


@dataclass(frozen=True, slots=True)
class FlushRemote:
    """Remove all such addresses that fit: those at a member, those in a VLAN, or all."""

    member: int | None = None
    vid: int | None = None


ForMember = SetFabric | SetShared | PutRemote | RemoveRemote | FlushRemote
"""Effects that only the datapath of a member gets."""
