"""What a member of a fabric forwards: the input of its table builders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ofapp.bridge.fabric.update import Content

FABRIC_PORT = 0xFE00
"""Number of a member's logical port that leads to all other members.

It is an ordinary trunk port of the member's bridge.  Frames leave by it to one other member, or by
a tree to all.  All frames from other members enter by it, and none of them leaves by it again.
"""


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
    """

    fabric: int
    member: int
    links: tuple[int, ...]
    admitted: tuple[int, ...]
    content: Content = field(hash=False)
    shared: Mapping[int, tuple[int, ...]] = field(default_factory=dict, hash=False)
    tags_inside: bool = False
