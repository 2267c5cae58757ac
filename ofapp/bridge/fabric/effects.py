"""Effects of a fabric on one of its members."""

from __future__ import annotations

from dataclasses import dataclass

from ofapp.bridge.fabric.desired import DesiredFabric


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
