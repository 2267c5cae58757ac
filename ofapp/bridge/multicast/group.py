"""One multicast group on one VLAN: its members, permanent entries, and the datapath's entries.

Methods that change members return whether the datapath's entries may differ now. A group without
members and permanent entries is to be forgotten then.
"""

from math import inf

from ofapp.bridge.effects.content import RemoveGroup, SetGroup
from ofapp.bridge.multicast.effects import Effect
from ofapp.bridge.multicast.member import GroupMember, View
from ofapp.bridge.multicast.message import Record, Report
from ofapp.bridge.multicast.querier import Querier
from ofapp.bridge.multicast.scope import Scope
from ofapp.bridge.multicast.shared import GROUPS, HOSTS, SOURCES, Shared, SnoopedPort
from ofapp.bridge.packet.address import is_mac_group


class Group:
    """State of (VLAN, group). `sent`: ports set in the datapath, by source, None for (*,G).

    static: permanent entries by port: the sources wanted, None for all but those in its value.
    """

    __slots__ = ("address", "members", "owner", "reported", "sent", "source_owner", "static")

    def __init__(self, address: bytes) -> None:
        self.address = address
        self.members: dict[int, GroupMember] = {}
        self.static: dict[int, dict[bytes | None, frozenset[bytes]]] = {}
        self.sent: dict[bytes | None, frozenset[int]] = {}
        self.owner: int | None = None  # the port its (*,G) is charged to; None: no members
        self.source_owner: dict[bytes, int] = {}
        self.reported = -inf  # when routers last got an old host's report, for suppression

    # Desired entries of the datapath.

    def wanted(self, scope: Scope) -> dict[bytes | None, frozenset[int]]:
        """Ports by source.

        A source has its own entry only where its ports are not those of (*,G). Ports that do not
        forward are in none. No query asks for MAC addresses, so they need no querier, as on the
        Linux bridge.
        """
        restricts = scope.enabled if is_mac_group(self.address) else scope.active
        if not (self.members or self.static) or not restricts:
            return {}
        live, routers = scope.live, scope.routers
        star = set(routers)
        sources: set[bytes] = set()
        filters = [(p, m.state) for p, m in self.members.items() if p in live]
        for port, state in filters:
            if state.exclude:
                star.add(port)
            if state.sources:
                sources.update(state.sources)
        static = [(p, kept) for p, kept in self.static.items() if p in live]
        for port, kept in static:
            if None in kept:
                star.add(port)
            sources.update(source for source in kept if source is not None)
            sources.update(kept.get(None, ()))
        result: dict[bytes | None, frozenset[int]] = {}
        for source in sorted(sources):
            ports = set(routers)
            ports.update([port for port, state in filters if state.forwards(source)])
            ports.update([port for port, kept in static if _keeps(kept, source)])
            if ports != star:
                result[source] = frozenset(ports)
        result[None] = frozenset(star)
        return result

    def flush(self, scope: Scope) -> list[Effect]:
        """The changed entries; sources first, so that a stream that becomes specific continues."""
        wanted, vid, address = self.wanted(scope), scope.vid, self.address
        effects: list[Effect] = [
            SetGroup(vid, address, source, ports)
            for source, ports in wanted.items()
            if self.sent.get(source) != ports
        ]
        effects += [
            RemoveGroup(vid, address, source) for source in self.sent if source not in wanted
        ]
        self.sent = wanted
        return effects

    # Members.

    @property
    def empty(self) -> bool:
        """Whether the group has no members and no permanent entries."""
        return not self.members and not self.static

    def join(self, scope: Scope, port: SnoopedPort) -> GroupMember | None:
        """Add a member; None if a limit forbids the group."""
        if self.owner is None:
            if not scope.shared.charge(port):
                return None
            self.owner = port.number
        member = self.members[port.number] = GroupMember(scope.place, self.address, port)
        port.groups += 1
        return member

    def report(
        self,
        scope: Scope,
        querier: Querier,
        member: GroupMember,
        record: Record,
        report: Report,
        now: float,
    ) -> bool:
        """Handle a record of a report from a member's port."""
        heard = member.report(scope, querier, record, report, now)
        if heard is None:
            return False
        before, ask = heard
        changed = self.settle(scope.shared, member, before)
        if member.alive and querier.is_querier:
            member.ask(scope, querier, ask, now)
        scope.shared.timers.update(member)
        return changed

    def expire(self, scope: Scope, querier: Querier, member: GroupMember, now: float) -> bool:
        """Handle a member's timers that are due."""
        changed = self.settle(scope.shared, member, member.expire(now))
        if member.alive:
            member.ask_again(scope, querier, now)
        return changed

    def settle(self, shared: Shared, member: GroupMember, before: View) -> bool:
        """Follow a member's filter: charge new sources, release old ones."""
        self._charge_sources(shared, member)
        if member.state.empty:
            self.remove(shared, member)
            return True
        return member.state.view() != before

    def remove(self, shared: Shared, member: GroupMember) -> None:
        """Remove a member."""
        port = member.port
        member.alive = False
        member.track(False)
        shared.timers.set(member, None)
        port.groups -= 1
        most = port.params.mcast_max_groups
        if not most or port.groups <= most * 7 // 8:
            shared.clear_alarm(port, GROUPS)
        if member.truncated:
            port.truncated -= 1
            if not port.truncated:
                shared.clear_alarm(port, SOURCES)
        if port.hosts <= shared.params.mcast_eht_hosts_limit * 7 // 8:
            shared.clear_alarm(port, HOSTS)
        del self.members[port.number]
        if self.owner == port.number:
            self.owner = next(iter(self.members), None)
            if self.owner is None:
                shared.release(port.number)
            else:
                shared.quota.move(port.number, self.owner)
        member.state.sources = {}
        self._charge_sources(shared, member)

    def _charge_sources(self, shared: Shared, member: GroupMember) -> None:
        """Update the charges for the member's sources; a source that is refused is left out."""
        mine, owner = member.state.sources, self.source_owner
        if not mine and not owner:
            return
        number = member.port.number
        for source in [s for s in mine if s not in owner]:
            if shared.charge(member.port):
                owner[source] = number
            else:
                del mine[source]
        for source in [s for s, port in owner.items() if port == number and s not in mine]:
            heir = next((p for p, m in self.members.items() if source in m.state.sources), None)
            if heir is None:
                del owner[source]
                shared.release(number)
            else:
                owner[source] = heir
                shared.quota.move(number, heir)

    # Permanent entries.

    def keep(self, port: int, source: bytes | None, exclude: frozenset[bytes]) -> None:
        """Add or replace a permanent entry."""
        self.static.setdefault(port, {})[source] = exclude

    def unkeep(self, port: int, source: bytes | None) -> None:
        """Remove a permanent entry."""
        del self.static[port][source]
        if not self.static[port]:
            del self.static[port]


def _keeps(kept: dict[bytes | None, frozenset[bytes]], source: bytes) -> bool:
    return source in kept or (None in kept and source not in kept[None])
