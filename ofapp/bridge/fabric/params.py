"""Parameters of a fabric."""

from dataclasses import dataclass, field

MOST_MEMBERS = 254
"""Most members of a fabric."""
LINK_OCTETS = 26
"""Octets that a link's MTU has to exceed the hosts' by: the outer header (18) and two tags."""


@dataclass(frozen=True, slots=True)
class MemberParams:
    """A switch of a fabric.

    name: before the names of its ports, as in `s1/eth0`; datapath_id: datapath id of its bridge.
    links: patterns of the names of its ports that lead to other members.
    left: it is a member no more, and its number stays reserved.
    """

    name: str
    datapath_id: int
    links: tuple[str, ...]
    left: bool = False


@dataclass(frozen=True, slots=True)
class FabricParams:
    """A fabric.

    name: name of the one bridge that its members are together.
    number: in the outer addresses of its frames, 0 to 255; different for fabrics with common links.
    members: the position in this tuple, from 1, is a member's number.
    cables: pairs of ports (`s1/eth1`, `s2/eth1`) that are to be linked; other cables are reported.
    costs: costs of links, by one of their ports; 1 for others.
    mtu: the largest IP packet of hosts, in octets.
    service_tags: VLAN tags stay in the frame inside, so that 802.1ad ones stay what they are.
    """

    name: str
    number: int
    members: tuple[MemberParams, ...]
    cables: tuple[tuple[str, str], ...] = ()
    costs: dict[str, int] = field(default_factory=dict)
    mtu: int = 1500
    service_tags: bool = False

    @property
    def link_mtu(self) -> int:
        """The MTU that links need."""
        return self.mtu + LINK_OCTETS

    @property
    def datapath_id(self) -> int:
        """The identity of its bridge: the first member's datapath id, also if that has left."""
        return self.members[0].datapath_id

    @property
    def present(self) -> dict[int, MemberParams]:
        """Members that have not left, by number."""
        return {at: member for at, member in enumerate(self.members, 1) if not member.left}

    def member(self, datapath_id: int) -> int | None:
        """The number of the member with this datapath id; None for another switch."""
        members = self.present.items()
        return next((at for at, member in members if member.datapath_id == datapath_id), None)
