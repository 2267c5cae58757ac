"""Policies of ports, VLANs and bridges, beside spanning tree, snooping and VLANs: values only.

Names are those of `bridge link set` where it has one.  Each parameter is declared here and nowhere
else, see `bridge.parameter`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from annotated_types import Interval, Unit
from typing_extensions import Doc

from ofapp.bridge.params.parameter import Leaving

Rate = Interval(ge=1, le=1_000_000_000)
"""Frames a second."""
Limit = Interval(ge=0, le=10_000_000)
"""Entries."""
MOST_COMMUNITIES = 31
"""Communities of a bridge: an outer address of a fabric has five bits for them."""
_Seconds = Interval(gt=0, le=86400)
_OverLimit = Annotated[
    Literal["flood", "drop"],
    Doc("What happens to frames from hosts beyond fdb_max_learned: flood or drop."),
]


@dataclass(frozen=True, slots=True)
class Storm:
    """Most frames a second that may come in here, of each kind that floods; the rest is dropped."""

    broadcast: Annotated[
        int | None, Rate, Doc("Most broadcast frames a second; without it there is no limit.")
    ] = None
    multicast: Annotated[
        int | None,
        Rate,
        Doc("Most frames a second to groups that flood; without it there is no limit."),
    ] = None
    unknown_unicast: Annotated[
        int | None,
        Rate,
        Doc("Most frames a second to unknown hosts; without it there is no limit."),
    ] = None


@dataclass(frozen=True, slots=True)
class PortPolicy:
    """Policy of one port."""

    isolated: Annotated[bool, Leaving(), Doc("Reach only ports that are not isolated.")] = False
    community: Annotated[
        int | None,
        Interval(ge=1, le=MOST_COMMUNITIES),
        Leaving(),
        Doc(
            "Reach only ports of the same community, and ports that are neither isolated nor in a"
            " community. It excludes `isolated`."
        ),
    ] = None
    learning: Annotated[bool, Doc("Learn the addresses of hosts here.")] = True
    flood: Annotated[bool, Leaving(), Doc("Flood frames to unknown hosts here.")] = True
    mcast_flood: Annotated[bool, Leaving(), Doc("Send frames to flooded groups here.")] = True
    bcast_flood: Annotated[bool, Leaving(), Doc("Send broadcast frames here.")] = True
    hairpin: Annotated[bool, Leaving(), Doc("Frames may leave by the port they came from.")] = False
    locked: Annotated[bool, Doc("Only hosts with a static entry here may send.")] = False
    sticky: Annotated[
        bool, Doc("What is learned here stays, and does not move to another port.")
    ] = False
    over_limit: _OverLimit = "flood"
    monitor: Annotated[
        bool, Doc("The port gets the copies of a mirror and takes no other part.")
    ] = False
    shutdown: Annotated[bool, Doc("The port is closed by administration.")] = False
    acl: Annotated[str | None, Doc("The access list for what comes in, by its name in `acls`.")] = (
        None
    )
    rate_in: Annotated[
        int | None,
        Interval(ge=64, le=100_000_000),
        Unit("kbit/s"),
        Doc("Most kbit/s that may come in here; what exceeds it is dropped. Without it no limit."),
    ] = None
    rate_out: Annotated[
        int | None,
        Interval(ge=64, le=100_000_000),
        Unit("kbit/s"),
        Leaving(),
        Doc("Most kbit/s that may leave here; what exceeds it is dropped. Without it no limit."),
    ] = None
    qos_trust: Annotated[
        Literal["both", "dscp", "pcp", "none"],
        Doc(
            "Which priorities of frames that come in are kept: the DSCP of IP packets, the PCP of"
            " VLAN tags, both, or none. A PCP that is not kept follows from a DSCP that is, and a"
            " DSCP from a PCP; without one, both are those of `priority`."
        ),
    ] = "both"
    priority: Annotated[
        int,
        Interval(ge=0, le=7),
        Doc(
            "The PCP of frames that come in without a VLAN tag and get one; with `qos_trust` that"
            " of all frames without a priority that is kept, and the DSCP as its class selector."
        ),
    ] = 0
    storm: Storm = field(default_factory=Storm)

    @property
    def drops_over_limit(self) -> bool:
        """Whether frames from hosts beyond the limit are dropped and not flooded."""
        return self.over_limit == "drop"

    @property
    def restriction(self) -> int:
        """Which ports the port reaches (private VLANs, RFC 5517): 0 all, else bit 0 is set.

        The bits above have the community; none for an isolated port.
        """
        if self.isolated:
            return 1
        return 0 if self.community is None else 1 | self.community << 1


@dataclass(frozen=True, slots=True)
class VlanPolicy:
    """Limits of one VLAN."""

    fdb_max_learned: Annotated[
        int | None, Limit, Doc("Most addresses learned in it; without it no limit per VLAN.")
    ] = None
    over_limit: _OverLimit = "flood"
    arp_suppress: Annotated[
        bool,
        Doc(
            "The switch answers ARP requests for addresses that are bound to a host, instead of"
            " flooding them."
        ),
    ] = False
    nd_suppress: Annotated[
        bool,
        Doc(
            "The switch answers neighbour solicitations for addresses that are bound to a host,"
            " instead of flooding them. It takes Open vSwitch's userspace datapath."
        ),
    ] = False

    @property
    def drops_over_limit(self) -> bool:
        """Whether frames from hosts beyond the limit are dropped and not flooded."""
        return self.over_limit == "drop"


@dataclass(frozen=True, slots=True)
class MoveLimit:
    """An address that moves more often than `moves` times in `window` s is held for `hold` s."""

    moves: Annotated[
        int,
        Interval(ge=0, le=100),
        Doc("Most moves in that time; 0: addresses move without limit."),
    ] = 5
    window: Annotated[float, _Seconds, Unit("s"), Doc("Seconds in which moves are counted.")] = 10.0
    hold: Annotated[float, _Seconds, Unit("s"), Doc("Seconds that an address is held down.")] = 60.0


@dataclass(frozen=True, slots=True)
class Mirror:
    """Copies of frames for a monitor port (SPAN).

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
    """One rule; the first rule of its list that matches decides.

    name: unique in the list; matches: alternatives, of which one has to match completely, each with
    its OpenFlow prerequisites; allow: pass or drop; mirror: the port, by name, that gets a copy;
    rate: frames a second that pass, of all ports with the list together, the rest is dropped, None
    for no limit; about: its matches as text; dscp, pcp: what passes gets these, None: as it came.
    """

    name: str
    matches: tuple[tuple[AclMatch, ...], ...] = ((),)
    allow: bool = True
    mirror: str | None = None
    rate: int | None = None
    about: str = "any"
    dscp: int | None = None
    pcp: int | None = None


@dataclass(frozen=True, slots=True)
class Policies:
    """Policies of a whole bridge.

    vlans: by VID; acls: rules in order, by the list's name.  Frames that no rule of a list matches
    are dropped.
    """

    vlans: Mapping[int, VlanPolicy] = field(default_factory=dict)
    mirrors: tuple[Mirror, ...] = ()
    acls: Mapping[str, tuple[AclRule, ...]] = field(default_factory=dict)
    mac_move: MoveLimit = field(default_factory=MoveLimit)
