"""Snooping of one family on one VLAN: its ports, routers, querier and groups.

The Linux bridge keeps the same per VLAN (its multicast context). IGMP and MLD differ only in what
`decode` and `encode` do, so one class serves both. It passes `Scope` to the objects that it owns,
checks their results, and keeps `Scope` up to date.
"""

from collections.abc import Collection, Iterable
from math import inf

from ofapp.bridge.effects.content import SetUnregistered
from ofapp.bridge.event import PortNumber
from ofapp.bridge.multicast.effects import Effect, ForwardTo
from ofapp.bridge.multicast.events import MCAST_ROUTER
from ofapp.bridge.multicast.group import Group
from ofapp.bridge.multicast.member import GroupMember
from ofapp.bridge.multicast.message import Query, Record, Report
from ofapp.bridge.multicast.params import VlanParams
from ofapp.bridge.multicast.querier import Querier
from ofapp.bridge.multicast.routers import RouterPort
from ofapp.bridge.multicast.scope import Scope
from ofapp.bridge.multicast.shared import GROUPS, Shared, SnoopedPort
from ofapp.bridge.multicast.timers import Timed
from ofapp.bridge.packet.address import Family, text


class Doubt(Timed):
    """Time after a topology change in which routers may be elsewhere; minus infinity: none.

    Until one is heard, every port behind which a bridge may be counts as a router port.
    settled_at: when members have answered the query after a topology change.
    """

    __slots__ = ("settled_at", "until")

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope.place)
        self.until = -inf
        self.settled_at = -inf

    def deadline(self) -> float:
        """See Timed."""
        return inf if self.until == -inf else self.until


class SnoopedVlan:
    """See the module's docstring.

    ports: the VLAN's; routers: ports behind which one was heard; sent: ports set in the datapath
    for groups without members.
    """

    __slots__ = (
        "_askers",
        "_dirty",
        "_doubt",
        "_shared",
        "_unregistered_dirty",
        "groups",
        "ports",
        "querier",
        "routers",
        "scope",
        "sent",
    )

    def __init__(self, shared: Shared, vid: int, family: Family, params: VlanParams) -> None:
        self.scope = Scope(shared, vid, family, params)
        self.ports: frozenset[int] = frozenset()
        self.routers: dict[int, RouterPort] = {}
        self.groups: dict[bytes, Group] = {}
        self.sent: frozenset[int] | None = None
        self.querier = Querier(self.scope.place, family)
        self._shared = shared
        self._doubt = Doubt(self.scope)
        self._askers: frozenset[int] = frozenset()  # of the querier, as `refresh` has seen them
        self._dirty: dict[Group, None] = {}
        self._unregistered_dirty = False

    # Configuration and ports.

    def configure(self, params: VlanParams, now: float) -> None:
        """Set new parameters, the VLAN's or the bridge's."""
        self.scope.params = params
        if not (self._shared.params.mcast_snooping and params.mcast_snooping):
            self.close()
        else:
            if not self.scope.enabled:
                self.scope.enabled = True
                self._touch_groups()
            self.querier.configure(self.scope, now)
            self._follow_querier()
        self._touch_unregistered()

    def close(self) -> None:
        """Stop snooping, and forget all that was learned; permanent entries stay."""
        timers = self._shared.timers
        for timed in (self.querier, self._doubt, *self.routers.values()):
            timers.set(timed, None)
        self.querier.stop()
        self.routers.clear()
        self._set_doubt(-inf)
        for group in list(self.groups.values()):
            self._remove(group, list(group.members.values()))
        if self.scope.enabled:
            self.scope.enabled = False
            self._touch_groups()
        self._follow_querier()
        self.refresh()

    def set_ports(self, ports: frozenset[int]) -> None:
        """Set the VLAN's ports."""
        self.drop_ports(self.ports - ports)
        added = ports - self.ports
        self.ports = ports
        self.refresh()
        for port in added & self.scope.live:
            self.querier.ask_port(self.scope, port)

    def drop_ports(self, ports: frozenset[int]) -> None:
        """Forget all that was learned on ports, which are not in the VLAN any more."""
        for port in ports:
            self.forget_router(port)
        for group in list(self.groups.values()) if ports else ():
            self._remove(group, [one for port, one in group.members.items() if port in ports])

    def track_hosts(self, port: int, on: bool) -> None:
        """Start or stop tracking the hosts of the port's members."""
        for group in self.groups.values():
            if port in group.members:
                group.members[port].track(on)

    def forget_router(self, port: int) -> None:
        """Forget the port's routers and proxy querier; `refresh` follows."""
        self.querier.askers.pop(port, None)
        router = self.routers.pop(port, None)
        if router is not None:
            self._shared.timers.set(router, None)

    def forget_querier(self, port: int, now: float) -> None:
        """Forget another querier behind the port: the next timers find it silent."""
        if self.querier.other_port == port:
            self.querier.other_until = now
            self._follow_querier()

    def refresh(self) -> None:
        """Recompute the sets of ports; each group follows if they changed."""
        scope, ports = self.scope, self._shared.ports
        live = frozenset([p for p in self.ports if p in ports and ports[p].forwarding])
        allowed = {p: said for p in live if (said := ports[p].params.router(scope.vid))}
        learned = frozenset([p for p in allowed if p in self.routers])
        routers = set(learned)
        routers.update([p for p, said in allowed.items() if said == 2])
        if scope.uncertain:
            routers.update([p for p in allowed if not ports[p].edge])
        self._askers = frozenset(self.querier.askers)
        routers.update(live & self._askers)
        scope.learned_routers = learned
        if live != scope.live or routers != scope.routers:
            scope.live, scope.routers = live, frozenset(routers)
            self._touch_groups()
        self._touch_unregistered()

    def _follow_querier(self) -> None:
        """Follow a change of the querier: `active`, `askers` and its deadline may differ."""
        querier, scope = self.querier, self.scope
        if querier.active != scope.active:
            scope.active = querier.active
            self._touch_groups()
            self._touch_unregistered()
        if querier.askers.keys() != self._askers:
            self.refresh()
        self._shared.timers.update(querier)

    # Desired entries of the datapath.

    def unregistered(self) -> frozenset[int] | None:
        """Ports that get groups without members; None floods (RFC 4541 2.1.2(3))."""
        scope, ports = self.scope, self._shared.ports
        if not scope.active or scope.params.mcast_flood_unregistered:
            return None
        flood = [p for p in scope.live if ports[p].params.mcast_flood_unregistered]
        return scope.routers.union(flood) if flood else scope.routers

    def flush(self) -> list[Effect]:
        """Emit the differences to the last effects.

        Flooding begins before entries are removed, and ends once entries are set.
        """
        effects: list[Effect] = []
        looks, self._unregistered_dirty = self._unregistered_dirty, False
        rest = self.unregistered() if looks else self.sent
        if rest is None and self.sent is not None:
            effects.append(self._set_unregistered(None))
        for group in self._dirty:
            effects += group.flush(self.scope)
        self._dirty.clear()
        if rest != self.sent:
            effects.append(self._set_unregistered(rest))
        return effects

    def _set_unregistered(self, ports: frozenset[int] | None) -> Effect:
        self.sent = ports
        return SetUnregistered(self.scope.vid, self.scope.family, ports)

    def _touch(self) -> None:
        self._shared.dirty[self.scope.place] = None

    def _touch_unregistered(self) -> None:
        """Note that the ports for unregistered traffic may have changed."""
        self._unregistered_dirty = True
        self._touch()

    def _touch_groups(self) -> None:
        """Note that every group may have changed."""
        self._dirty.update(dict.fromkeys(self.groups.values()))
        self._touch()

    def touch_group(self, group: Group) -> None:
        """Note that a group, known or not, may differ from the datapath; forget it if empty."""
        self._dirty[group] = None
        if group.empty:
            self.groups.pop(group.address, None)
        self._touch()

    # Groups, and forwarding of messages.

    def forward(self, ports: frozenset[int], ingress: int) -> None:
        """Forward the message just received."""
        ports -= {ingress}
        if ports:
            self._shared.out.append(ForwardTo(self.scope.vid, ports))

    def join(self, address: bytes, port: SnoopedPort) -> tuple[Group, GroupMember] | None:
        """Add a member, unless a limit forbids it."""
        most = port.params.mcast_max_groups
        if most and port.groups >= most:
            self._shared.raise_alarm(port, GROUPS)
            return None
        group = self.groups.get(address) or Group(address)
        member = group.join(self.scope, port)
        if member is None:
            return None
        self.groups[address] = group
        return group, member

    def follow(
        self, group: Group, member: GroupMember, record: Record, report: Report, now: float
    ) -> None:
        """Apply a record of a report to a member."""
        if group.report(self.scope, self.querier, member, record, report, now):
            self.touch_group(group)

    def restore_member(
        self,
        group: Group,
        port: SnoopedPort,
        exclude: bool,
        sources: tuple[bytes, ...],
        until: float,
    ) -> None:
        """Restore a member that the datapath still forwards to; its host's reports are lost."""
        if (joined := self.join(group.address, port)) is not None:
            _, member = joined
            before = member.restore(self._shared, exclude, sources, until)
            self._settle(group, member, before)
            self._shared.timers.update(member)

    def forget_members(self, group: Group, ports: Iterable[int], source: bytes | None) -> None:
        """Forget members, or one source of theirs."""
        for member in [group.members[port] for port in ports]:
            if source is None:
                self._remove(group, [member])
            else:
                self._settle(group, member, member.forget_source(source))

    def asked(self, group: Group, sources: tuple[bytes, ...], until: float) -> None:
        """Lower timers: another querier asks for a group, or for sources of it."""
        for member in group.members.values():
            member.asked(sources, until)
            self._shared.timers.update(member)

    def _settle(
        self, group: Group, member: GroupMember, before: tuple[bool, frozenset[bytes]]
    ) -> None:
        if group.settle(self._shared, member, before):
            self.touch_group(group)

    def _remove(self, group: Group, members: Collection[GroupMember]) -> None:
        for member in members:
            group.remove(self._shared, member)
        if members:
            self.touch_group(group)

    def keep(
        self, address: bytes, port: int, source: bytes | None, exclude: frozenset[bytes]
    ) -> None:
        """Add or replace a permanent entry."""
        group = self.groups.setdefault(address, Group(address))
        group.keep(port, source, exclude)
        self.touch_group(group)

    def unkeep(self, address: bytes, port: int, source: bytes | None) -> None:
        """Remove a permanent entry."""
        group = self.groups[address]
        group.unkeep(port, source)
        self.touch_group(group)

    # Queriers and routers.

    def hear_query(self, query: Query, port: SnoopedPort, now: float) -> None:
        """Handle a general query; its sender may be a router."""
        if self.querier.heard(self.scope, query, port.number, now):
            hold = self.querier.hold(self.scope, query)
            self._follow_querier()
            self.hear_router("query", query.source, port, now + hold, now)
        else:
            self._follow_querier()

    def hear_router(
        self, kind: str, router: bytes, port: SnoopedPort, until: float, now: float
    ) -> None:
        """Note a router behind the port, unless configuration forbids it."""
        if port.params.router(self.scope.vid) == 0:
            return
        if port.number not in self.routers:
            self.routers[port.number] = RouterPort(self.scope.place, port.number)
            message = f"router {text(router)} heard at ", PortNumber(port.number)
            self.scope.emit(MCAST_ROUTER, message, port.number)
        self._hear_at(port.number, kind, router, until)
        doubt, timers = self._doubt, self._shared.timers
        if self.scope.uncertain:
            doubt.until = min(doubt.until, max(doubt.settled_at, now))
            timers.update(doubt)
        if self.routers.keys() != self.scope.learned_routers:
            self.refresh()

    def router_leaves(self, kind: str, router: bytes, port: SnoopedPort, until: float) -> None:
        """Handle a router's leave."""
        known = self.routers.get(port.number)
        if known is not None:
            known.leave(kind, router, until)
            self._shared.timers.update(known)

    def restore(self, ports: frozenset[int], now: float) -> None:
        """Restore: the datapath restricts, and these ports get groups without members.

        They are router ports, except those that get them by configuration.
        """
        until = now + self.scope.params.mcast_querier_interval
        for number in ports & self.ports:
            port = self._shared.ports.get(number)
            if port is None or port.params.router(self.scope.vid) != 1:
                continue
            if not port.params.mcast_flood_unregistered:
                self.routers.setdefault(number, RouterPort(self.scope.place, number))
                self._hear_at(number, "restored", b"", until)
        self.sent = ports
        self.refresh()
        self.querier.restored(self.scope, now)
        self._follow_querier()

    def _hear_at(self, port: int, kind: str, router: bytes, until: float) -> None:
        self.routers[port].hear(kind, router, until)
        self._shared.timers.update(self.routers[port])

    # Topology changes (RFC 4541 2.1.1(4)).

    def topology_change(self, now: float, settling: float) -> None:
        """Query members at once; routers are found by their next message.

        Meanwhile nothing learned is forgotten, and ports behind which a bridge may be get every
        group: a router that moved is behind one of them, and so are the members that moved.
        """
        if self.scope.enabled:
            self._begin_doubt(now, settling)
            self.querier.ask_again(self.scope, now)
            self._follow_querier()

    def ports_changed(self, ports: Iterable[SnoopedPort], now: float) -> None:
        """Follow changed spanning tree states of ports."""
        mine = [port for port in ports if port.number in self.ports] if self.scope.enabled else []
        learned = self.scope.learned_routers
        if any(not port.forwarding and port.number in learned for port in mine):
            self._begin_doubt(now)
        self.refresh()
        for port in mine:
            if port.forwarding:
                self.querier.ask_port(self.scope, port.number)

    def _begin_doubt(self, now: float, settling: float = 0.0) -> None:
        """Begin `Doubt`. It ends when a router is heard, or when a router would have expired."""
        params, doubt = self.scope.params, self._doubt
        settling = max(settling, params.last_member_time)
        doubt.settled_at = max(doubt.settled_at, now + settling)
        routers = self.routers or self.scope.learned_routers
        wait = max(params.mcast_querier_interval, settling) if routers else settling
        self._set_doubt(max(doubt.until, now + wait))
        self._shared.timers.update(doubt)
        self.refresh()

    def _set_doubt(self, until: float) -> None:
        self._doubt.until = until
        self.scope.uncertain = until != -inf

    # Time.

    def expire(self, timed: Timed, now: float) -> None:
        """Handle an object of this VLAN and family that is due."""
        match timed:
            case GroupMember():
                group = self.groups[timed.address]
                if group.expire(self.scope, self.querier, timed, now):
                    self.touch_group(group)
            case Querier():
                timed.expire(self.scope, now)
                self._follow_querier()
            case RouterPort():
                if timed.expire(now):
                    del self.routers[timed.port]
                    message = "no router at ", PortNumber(timed.port), " any more"
                    self.scope.emit(MCAST_ROUTER, message, timed.port)
                    self.refresh()
            case Doubt():
                self._set_doubt(-inf)
                self.refresh()
