"""Common state of one family on one VLAN for its querier, routers, groups and members.

It is passed with each call: objects know their place (`Timed.place`) and not their owner.
"""

from ofapp.bridge.event import EventKind, Text, following
from ofapp.bridge.multicast.params import VlanParams
from ofapp.bridge.multicast.shared import Shared
from ofapp.bridge.multicast.timers import ScopeKey
from ofapp.bridge.packet.address import Family


class Scope:
    """Common state of one family on one VLAN, kept up to date by its `SnoopedVlan`.

    place: (VID, whether IPv6); newest: the protocol's newest version.
    enabled: it is snooped here; active: forwarding is restricted, otherwise everything floods.
    live: ports of the VLAN that forward. learned_routers: those of them behind which a router was
    heard; routers: those that get every group: router ports, and others that must as long as it is
    not known what is behind them.
    uncertain: routers and members may have moved.
    """

    __slots__ = (
        "active",
        "enabled",
        "family",
        "learned_routers",
        "live",
        "newest",
        "params",
        "place",
        "routers",
        "shared",
        "uncertain",
        "vid",
    )

    def __init__(self, shared: Shared, vid: int, family: Family, params: VlanParams) -> None:
        self.shared = shared
        self.vid = vid
        self.family = family
        self.place: ScopeKey = (vid, family is Family.IPV6)
        self.params = params
        self.newest = 3 if family is Family.IPV4 else 2
        self.enabled = False
        self.active = False
        self.live: frozenset[int] = frozenset()
        self.learned_routers: frozenset[int] = frozenset()
        self.routers: frozenset[int] = frozenset()
        self.uncertain = False

    @property
    def version(self) -> int:
        """Configured version of the protocol."""
        if self.family is Family.IPV4:
            return self.params.mcast_igmp_version
        return self.params.mcast_mld_version

    @property
    def old(self) -> bool:
        """Whether the configured version has no source lists."""
        return self.version < self.newest

    def emit(self, kind: EventKind, text: Text, port: int | None, **data: object) -> None:
        """Emit an event of this VLAN and family."""
        self.shared.event(
            kind,
            following(f"VLAN {self.vid} IPv{self.family.value}: ", text),
            port,
            vid=self.vid,
            family=self.family.value,
            **data,
        )
