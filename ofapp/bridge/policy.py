"""What a port may and may not, beside spanning tree, snooping and VLANs: values only.

Names are those of `bridge link set` where it has one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Storm:
    """Most frames a second that a port may send of each kind that floods; None for no limit."""

    broadcast: int | None = None
    multicast: int | None = None
    unknown_unicast: int | None = None


@dataclass(frozen=True, slots=True)
class PortPolicy:
    """isolated: reaches only ports that are not.

    learning: addresses behind it are learned.
    flood, mcast_flood, bcast_flood: gets frames to unknown hosts, to groups, to everybody.
    hairpin: frames may leave by the port they came from.
    locked: only frames of static addresses of this port pass.
    sticky: what is learned here stays, and cannot be taken over from another port.
    drop_over_limit: frames of hosts beyond `fdb_max_learned` are dropped instead of flooded.
    monitor: takes no part; only copies of a mirror leave by it.
    shutdown: closed by administration.
    acl: the access list for what comes in, by name.
    """

    isolated: bool = False
    learning: bool = True
    flood: bool = True
    mcast_flood: bool = True
    bcast_flood: bool = True
    hairpin: bool = False
    locked: bool = False
    sticky: bool = False
    drop_over_limit: bool = False
    monitor: bool = False
    shutdown: bool = False
    acl: str | None = None
    storm: Storm = field(default_factory=Storm)


@dataclass(frozen=True, slots=True)
class VlanPolicy:
    """Limits of one VLAN: most learned addresses, and what becomes of frames beyond them."""

    fdb_max_learned: int | None = None
    drop_over_limit: bool = False


@dataclass(frozen=True, slots=True)
class MoveLimit:
    """An address that moves more than `moves` times in `window` seconds is held down for `hold`.

    moves 0: addresses move as they like.
    """

    moves: int = 5
    window: float = 10.0
    hold: float = 60.0


@dataclass(frozen=True, slots=True)
class Mirror:
    """Copies of frames for a port that listens (SPAN).

    to: the name of that port, which takes no other part; ingress, egress: names of the ports whose
    frames are copied as they come in and as they go out, None for all.
    """

    to: str
    ingress: frozenset[str] | None = frozenset()
    egress: frozenset[str] | None = frozenset()


@dataclass(frozen=True, slots=True)
class AclMatch:
    """One field by its OpenFlow name; mask None for all bits."""

    field: str
    value: int
    mask: int | None = None


@dataclass(frozen=True, slots=True)
class AclRule:
    """The first rule of its list that matches decides.

    name: no other rule of the list has it; matches: alternatives, of which one has to fit whole,
    each with its OpenFlow prerequisites; allow: pass or drop; mirror: the port, by name, that gets
    a copy; rate: frames a second that pass, of all ports with the list together, the rest is
    dropped, None for no limit; about: what it matches, for people.
    """

    name: str
    matches: tuple[tuple[AclMatch, ...], ...] = ((),)
    allow: bool = True
    mirror: str | None = None
    rate: int | None = None
    about: str = "any"


@dataclass(frozen=True, slots=True)
class Policies:
    """What holds for a whole bridge.

    vlans: by VID; acls: rules in order, by the list's name.  What no rule of a list matches is
    dropped.
    """

    vlans: Mapping[int, VlanPolicy] = field(default_factory=dict)
    mirrors: tuple[Mirror, ...] = ()
    acls: Mapping[str, tuple[AclRule, ...]] = field(default_factory=dict)
    mac_move: MoveLimit = field(default_factory=MoveLimit)
