"""Snooping of one family on one VLAN: its ports, routers, querier and groups.

The Linux bridge keeps the same per VLAN (its multicast context). IGMP and MLD differ only in what
`decode` and `encode` do, so one class serves both.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import TYPE_CHECKING

from ofapp.bridge.event import Severity
from ofapp.bridge.multicast.address import Family, text
from ofapp.bridge.multicast.core import GROUPS, Core, Port
from ofapp.bridge.multicast.effects import Effect, ForwardTo, SetUnregistered
from ofapp.bridge.multicast.group import Group
from ofapp.bridge.multicast.member import Member
from ofapp.bridge.multicast.querier import Querier
from ofapp.bridge.multicast.routers import RouterPort
from ofapp.bridge.multicast.timers import Timed

if TYPE_CHECKING:
    from ofapp.bridge.multicast.params import VlanParams


class Context(Timed):
    """See the module's docstring.

    live: ports of the VLAN that forward. routers_live: those of them that get every group: router
    ports, and others that must as long as it is not known what is behind them.
    active: whether forwarding is restricted; otherwise everything floods and no group is sent.
    uncertain_until: the topology changed and routers may be elsewhere. Until one is heard, every
    port behind which a bridge may be counts as a router port.
    """

    __slots__ = (
        "active",
        "core",
        "enabled",
        "family",
        "groups",
        "learned_routers",
        "live",
        "newest",
        "params",
        "ports",
        "querier",
        "routers",
        "routers_live",
        "sent",
        "settled_at",
        "uncertain_until",
        "vid",
    )

    def __init__(self, core: Core, vid: int, family: Family, params: VlanParams) -> None:
        super().__init__()
        self.core = core
        self.vid = vid
        self.family = family
        self.params = params
        self.newest = 3 if family is Family.IPV4 else 2
        self.enabled = False
        self.active = False
        self.ports: frozenset[int] = frozenset()
        self.live: frozenset[int] = frozenset()
        self.routers: dict[int, RouterPort] = {}
        self.learned_routers: frozenset[int] = frozenset()
        self.routers_live: frozenset[int] = frozenset()
        self.groups: dict[bytes, Group] = {}
        self.sent: frozenset[int] | None = None
        self.uncertain_until = -inf
        self.settled_at = -inf  # when members have answered the query after a topology change
        self.querier = Querier(self)

    @property
    def version(self) -> int:
        """Configured version."""
        if self.family is Family.IPV4:
            return self.params.mcast_igmp_version
        return self.params.mcast_mld_version

    @property
    def old(self) -> bool:
        """Whether the configured version knows no source lists."""
        return self.version < self.newest

    @property
    def membership_interval(self) -> float:
        """Seconds a report is good for."""
        return self.querier.membership_interval

    @property
    def uncertain(self) -> bool:
        """Whether routers and members may have moved."""
        return self.uncertain_until != -inf

    # Configuration and ports.

    def configure(self, params: VlanParams, now: float) -> None:
        """New parameters, the VLAN's or the bridge's."""
        self.params = params
        enabled = self.core.params.mcast_snooping and params.mcast_snooping
        if enabled != self.enabled:
            self.enabled = enabled
            self.touch_groups()
        if enabled:
            self.querier.configure(params.mcast_querier, now)
        else:
            self.close()
        self.touch()

    def close(self) -> None:
        """Forget all that was learned; permanent entries stay."""
        self.querier.stop()
        self.core.timers.cancel(self.querier)
        for router in self.routers.values():
            self.core.timers.cancel(router)
        self.routers.clear()
        self.uncertain_until = -inf
        self.core.timers.cancel(self)
        for group in list(self.groups.values()):
            for member in list(group.members.values()):
                member.remove()
        self.set_active(False)
        self.refresh()

    def set_ports(self, ports: frozenset[int]) -> None:
        """The VLAN's ports changed."""
        for port in self.ports - ports:
            self.drop_port(port)
        added = ports - self.ports
        self.ports = ports
        self.refresh()
        for port in added & self.live:
            self.querier.ask_port(port)

    def drop_port(self, port: int) -> None:
        """The port is not in the VLAN any more: nothing learned there holds."""
        self.forget_router(port)
        known = self.core.ports.get(port)
        if known is not None:
            for member in [m for m in known.members if m.group.context is self]:
                member.remove()

    def forget_router(self, port: int) -> None:
        """Nobody who asks is at the port any more; `refresh` follows."""
        self.querier.askers.pop(port, None)
        router = self.routers.pop(port, None)
        if router is not None:
            self.core.timers.cancel(router)

    def refresh(self) -> None:
        """Work out the sets of ports anew; each group follows if they changed."""
        ports = self.core.ports
        live = frozenset([p for p in self.ports if p in ports and ports[p].forwarding])
        learned = frozenset([p for p in live if p in self.routers and ports[p].params.mcast_router])
        routers = set(learned)
        routers.update([p for p in live if ports[p].params.mcast_router == 2])
        if self.uncertain:
            routers.update([p for p in live if not ports[p].edge and ports[p].params.mcast_router])
        routers.update(live & self.querier.askers.keys())
        self.learned_routers = learned
        if live != self.live or routers != self.routers_live:
            self.live, self.routers_live = live, frozenset(routers)
            self.touch_groups()
        self.touch()

    def touch(self) -> None:
        """Where unregistered traffic goes may have changed."""
        self.core.dirty_contexts[self] = None

    def touch_groups(self) -> None:
        """Every group may have changed."""
        self.core.dirty.update(dict.fromkeys(self.groups.values()))

    def set_active(self, active: bool) -> None:
        """Begin or end restricting."""
        if active != self.active:
            self.active = active
            self.touch_groups()
            self.touch()

    # What the datapath shall have.

    def unregistered(self) -> frozenset[int] | None:
        """Where groups nobody joined go; None floods (RFC 4541 2.1.2(3))."""
        if not self.active or self.params.mcast_flood_unregistered:
            return None
        ports = self.core.ports
        flood = [p for p in self.live if ports[p].params.mcast_flood_unregistered]
        return self.routers_live.union(flood) if flood else self.routers_live

    def flush_opening(self, out: list[Effect]) -> None:
        """Before the groups: flooding begins before entries go."""
        if self.sent is not None and self.unregistered() is None:
            self.sent = None
            out.append(SetUnregistered(self.vid, self.family, None))

    def flush_closing(self, out: list[Effect]) -> None:
        """After the groups: flooding ends once entries are there."""
        ports = self.unregistered()
        if ports != self.sent:
            self.sent = ports
            out.append(SetUnregistered(self.vid, self.family, ports))

    # Groups, and passing messages on.

    def forward(self, ports: frozenset[int], ingress: int) -> None:
        """Pass on the message just received."""
        ports -= {ingress}
        if ports:
            self.core.out.append(ForwardTo(self.vid, ports))

    def join(self, address: bytes, port: Port) -> Member | None:
        """A new member, unless a limit forbids it."""
        most = port.params.mcast_max_groups
        if most and len(port.members) >= most:
            self.core.raise_alarm(port, GROUPS)
            return None
        group = self.groups.get(address)
        if group is None:
            group = self.groups[address] = Group(self, address)
        member = group.join(port)
        if member is None:
            self.forget_if_empty(group)
        return member

    def forget_if_empty(self, group: Group) -> None:
        """A group without members or permanent entries is no more."""
        if not group.members and not group.static:
            self.groups.pop(group.address, None)

    def keep(
        self, address: bytes, port: int, source: bytes | None, exclude: frozenset[bytes]
    ) -> None:
        """Add a permanent entry, or put it in the place of the one that there was."""
        group = self.groups.get(address)
        if group is None:
            group = self.groups[address] = Group(self, address)
        group.static.setdefault(port, {})[source] = exclude
        group.touch()

    def unkeep(self, address: bytes, port: int, source: bytes | None) -> None:
        """Remove a permanent entry."""
        group = self.groups[address]
        del group.static[port][source]
        if not group.static[port]:
            del group.static[port]
        group.touch()
        self.forget_if_empty(group)

    # Routers.

    def hear_router(self, kind: str, router: bytes, port: Port, until: float, now: float) -> None:
        """A router is behind the port; never where configuration forbids it."""
        if port.params.mcast_router == 0:
            return
        known = self.routers.get(port.number)
        if known is None:
            known = self.routers[port.number] = RouterPort(self, port.number)
            self._tell_router(port.number, f"router {text(router)} heard at port {port.number}")
        known.hear(kind, router, until)
        if self.uncertain:
            self.uncertain_until = min(self.uncertain_until, max(self.settled_at, now))
            self.core.timers.update(self)
        self.refresh_routers()

    def router_gone(self, router: RouterPort) -> None:
        """No router is heard at the port any more."""
        del self.routers[router.port]
        self._tell_router(router.port, f"no router at port {router.port} any more")
        self.refresh()

    def refresh_routers(self) -> None:
        """Refresh, if a router port is new."""
        if self.routers.keys() != self.learned_routers:
            self.refresh()

    def _tell_router(self, port: int, message: str) -> None:
        self.core.event(
            "router",
            f"VLAN {self.vid} IPv{self.family.value}: {message}",
            Severity.INFO,
            port,
            vid=self.vid,
            family=self.family.value,
        )

    # Topology changes (RFC 4541 2.1.1(4)).

    def topology_change(self, now: float, settling: float) -> None:
        """Members are asked at once; routers are found when they next speak.

        Meanwhile nothing learned is forgotten, and ports behind which a bridge may be get every
        group: a router that moved is behind one of them, and so are the members that moved.
        """
        if self.enabled:
            self.begin_uncertain(now, settling)
            self.querier.ask_again(now)

    def begin_uncertain(self, now: float, settling: float = 0.0) -> None:
        """See topology_change. Ends when a router is heard, or no later than it would age."""
        settling = max(settling, self.params.last_member_time)
        self.settled_at = max(self.settled_at, now + settling)
        routers = self.routers or self.learned_routers
        wait = max(self.params.mcast_querier_interval, settling) if routers else settling
        self.uncertain_until = max(self.uncertain_until, now + wait)
        self.core.timers.update(self)
        self.refresh()

    def ports_changed(self, ports: Iterable[Port], now: float) -> None:
        """The spanning tree states of ports changed."""
        mine = [port for port in ports if port.number in self.ports] if self.enabled else []
        if any(not port.forwarding and port.number in self.learned_routers for port in mine):
            self.begin_uncertain(now)
        self.refresh()
        for port in mine:
            if port.forwarding:
                self.querier.ask_port(port.number)

    def deadline(self) -> float:
        """See Timed."""
        return self.uncertain_until if self.uncertain else inf

    def expire(self, now: float) -> None:
        """See Timed."""
        self.uncertain_until = -inf
        self.refresh()
