"""IGMP and MLD snooping of one bridge (RFC 4541): the interface of this package.

Frames, port states and times in; effects out (see `effects`). Every method that takes `now` first
does what is due by then, so a late `tick` changes no outcome. `now` must not go backwards.

A restart must stop no running stream, so everything the switch forwards is kept with full timers,
and a query finds out which members are still there (`SnoopedVlan.restore`).
"""

from collections.abc import Iterable, Mapping

from ofapp.bridge.effects.content import SetGroup, SetUnregistered
from ofapp.bridge.multicast.decode import decode
from ofapp.bridge.multicast.effects import Effect
from ofapp.bridge.multicast.group import Group
from ofapp.bridge.multicast.message import Other, Query, Record, RecordType, Report
from ofapp.bridge.multicast.params import Params, PortParams, VlanParams
from ofapp.bridge.multicast.receive import follow, on_hello, on_query, on_report
from ofapp.bridge.multicast.shared import Shared, SnoopedPort
from ofapp.bridge.multicast.snapshot import Snapshot, members, querier, routers
from ofapp.bridge.multicast.snooped_vlan import SnoopedVlan
from ofapp.bridge.packet.address import Family, is_host, is_mac_group, is_snooped, why_no_entry
from ofapp.bridge.packet.malformed import Malformed


class Snooping:
    """Multicast snooping of one bridge.

    Set the ports, the VLANs and which ports forward; pass it every IGMP, MLD, PIM and MRD frame;
    call `tick` at `next_wakeup`. Unknown VLANs and ports are ignored.
    """

    def __init__(self, params: Params, mac: int) -> None:
        """mac: the bridge's own Ethernet address, the source of its queries."""
        self._shared = Shared(params, mac)
        self._vlans: dict[int, tuple[SnoopedVlan, SnoopedVlan]] = {}
        self._vlan_params: dict[int, VlanParams | None] = {}
        self._permanent: dict[tuple[int, bytes, int, bytes | None], frozenset[bytes]] = {}

    # Time.

    def next_wakeup(self) -> float | None:
        """When `tick` has something to do; None for never."""
        return self._shared.timers.next()

    def tick(self, now: float) -> list[Effect]:
        """Do what is due."""
        self._run(now)
        return self._flush()

    def _run(self, now: float) -> None:
        for timed in self._shared.timers.run(now):
            vid, six = timed.place
            self._vlans[vid][six].expire(timed, now)

    def _flush(self) -> list[Effect]:
        """The effects of the input just handled."""
        shared = self._shared
        effects, shared.out = shared.out, []
        if shared.dirty:
            for vid, six in shared.dirty:
                effects += self._vlans[vid][six].flush()
            shared.dirty.clear()
        return effects

    # Configuration.

    def _done(self, now: float) -> list[Effect]:
        """Do what an input made due at once, such as a first query."""
        self._run(now)
        return self._flush()

    def set_params(self, params: Params, now: float) -> list[Effect]:
        """Set the bridge's parameters. Learned state stays, unless snooping goes off."""
        self._run(now)
        self._shared.params = params
        self._shared.quota.set_limit(params.mcast_hash_max)
        for vid in self._vlans:
            self._configure(vid, now)
        return self._done(now)

    def set_vlan(
        self, vid: int, ports: Iterable[int], now: float, params: VlanParams | None = None
    ) -> list[Effect]:
        """Set a VLAN and its ports, new or changed; without `params` the bridge's apply."""
        shared = self._shared
        self._run(now)
        self._vlan_params[vid] = params
        if vid not in self._vlans:
            fallback = params or shared.params.vlan
            self._vlans[vid] = (
                SnoopedVlan(shared, vid, Family.IPV4, fallback),
                SnoopedVlan(shared, vid, Family.IPV6, fallback),
            )
            for key, exclude in self._permanent.items():
                if key[0] == vid:
                    self._apply_permanent(*key, exclude)
        there = frozenset(ports)
        for snooped in self._vlans[vid]:
            snooped.set_ports(there)
        self._configure(vid, now)
        return self._done(now)

    def _configure(self, vid: int, now: float) -> None:
        for snooped in self._vlans[vid]:
            snooped.configure(self._vlan_params[vid] or self._shared.params.vlan, now)

    def remove_vlan(self, vid: int, now: float) -> list[Effect]:
        """Remove a VLAN, with all learned on it; its entries are removed and it floods."""
        self._run(now)
        for snooped in self._vlans.get(vid, ()):
            snooped.close()
        effects = self._flush()
        self._vlans.pop(vid, None)
        self._vlan_params.pop(vid, None)
        return effects

    def add_port(self, port: int, now: float, params: PortParams | None = None) -> list[Effect]:
        """Add a port of the bridge; it does not forward until `set_port_states` sets that."""
        self._run(now)
        if port not in self._shared.ports:
            self._shared.add_port(port, params or PortParams())
        return self._done(now)

    def remove_port(self, port: int, now: float) -> list[Effect]:
        """Remove a port, with all learned on it. VLANs keep its number in case it comes back."""
        return self.remove_ports([port], now)

    def remove_ports(self, ports: Iterable[int], now: float) -> list[Effect]:
        """Remove several ports at once."""
        shared = self._shared
        self._run(now)
        gone = [shared.ports[port] for port in ports if port in shared.ports]
        numbers = frozenset(known.number for known in gone)
        for known in gone:
            known.forwarding = False
        for snooped in self._snooped_vlans():
            snooped.drop_ports(numbers)
            snooped.ports_changed(gone, now)
        for number in numbers:
            shared.remove_port(number)
        return self._done(now)

    def lose_links(self, ports: Iterable[int], now: float) -> list[Effect]:
        """Forget members and routers of ports whose links went down, as in Linux."""
        self._run(now)
        gone = frozenset(ports)
        for snooped in self._snooped_vlans():
            snooped.drop_ports(gone & snooped.ports)
            snooped.refresh()
        return self._done(now)

    def set_port_params(self, port: int, params: PortParams, now: float) -> list[Effect]:
        """Set a port's parameters. Raises KeyError if there is no such port."""
        shared = self._shared
        self._run(now)
        known = shared.ports[port]
        tracks = params.mcast_fast_leave is not known.params.mcast_fast_leave
        known.params = params
        for snooped in self._snooped_vlans():
            if tracks:
                snooped.track_hosts(port, params.mcast_fast_leave)
            if params.router(snooped.scope.vid) == 0:
                snooped.forget_router(port)
            if params.hosts_only:
                snooped.forget_querier(port, now)
            snooped.refresh()
        return self._done(now)

    def set_port_states(self, states: Mapping[int, tuple[bool, bool]], now: float) -> list[Effect]:
        """Set the spanning tree states of ports: (forwarding, edge) of each.  Raises KeyError.

        A port that does not forward is in no set, and its frames are ignored; its learned state is
        kept for when it forwards again, and ages. edge: no bridge is known to be behind it; a
        topology change can move routers only to ports that are not.
        """
        shared = self._shared
        self._run(now)
        ports = [(shared.ports[port], state) for port, state in states.items()]
        news = [(port, state) for port, state in ports if (port.forwarding, port.edge) != state]
        changed = [port for port, (forwarding, _) in news if port.forwarding != forwarding]
        for port, state in news:
            port.forwarding, port.edge = state
        for snooped in self._snooped_vlans() if news else ():
            snooped.ports_changed(changed, now)
        return self._done(now)

    def topology_change(self, now: float, settling: float = 0.0) -> list[Effect]:
        """Relearn quickly after a topology change of spanning tree.

        settling: seconds for which at least members and routers may move.
        """
        self._run(now)
        for snooped in self._snooped_vlans():
            snooped.topology_change(now, settling)
        return self._done(now)

    def _snooped_vlans(self) -> Iterable[SnoopedVlan]:
        for pair in self._vlans.values():
            yield from pair

    # Permanent entries.

    def add_permanent(
        self,
        vid: int,
        group: bytes,
        port: int,
        now: float,
        source: bytes | None = None,
        exclude: Iterable[bytes] = (),
    ) -> list[Effect]:
        """Add a permanent entry: one source, or all but those to exclude, go to the port.

        Raises ValueError if the group or a source cannot have an entry. The VLAN and the port may
        be added later.
        """
        without = frozenset(exclude)
        _check_addresses(group, source, without)
        self._run(now)
        self._permanent[vid, group, port, source] = without
        if vid in self._vlans:
            self._apply_permanent(vid, group, port, source, without)
        return self._done(now)

    def _apply_permanent(
        self, vid: int, group: bytes, port: int, source: bytes | None, exclude: frozenset[bytes]
    ) -> None:
        self._vlans[vid][len(group) == 16].keep(group, port, source, exclude)

    def remove_permanent(
        self, vid: int, group: bytes, port: int, now: float, source: bytes | None = None
    ) -> list[Effect]:
        """Undo `add_permanent`. Raises KeyError if there is no such entry."""
        del self._permanent[vid, group, port, source]
        self._run(now)
        if vid in self._vlans:
            self._vlans[vid][len(group) == 16].unkeep(group, port, source)
        return self._done(now)

    # Members, added and forgotten by hand.

    def join(
        self,
        vid: int,
        group: bytes,
        port: int,
        now: float,
        source: bytes | None = None,
        exclude: Iterable[bytes] = (),
    ) -> tuple[bool, list[Effect]]:
        """Act as if a host at the port had reported; gives whether the port is a member now.

        It ages like any member. Raises ValueError as `add_permanent`, and KeyError if there is no
        such port or VLAN.
        """
        shared, without = self._shared, tuple(exclude)
        _check_addresses(group, source, without)
        if is_mac_group(group):
            raise ValueError("group: hosts cannot join a MAC address")
        self._run(now)
        snooped, known = self._vlans[vid][len(group) == 16], shared.ports[port]
        kind, sources = (
            (RecordType.IS_EX, without) if source is None else (RecordType.ALLOW, (source,))
        )
        record = Record(kind, group, sources)
        host = shared.mac.to_bytes(6, "big")
        scope = snooped.scope
        report = Report("by_hand", scope.family, scope.newest, host, b"", (record,))
        follow(snooped, report, known, now)
        joined = group in snooped.groups and port in snooped.groups[group].members
        return joined, self._done(now)

    def forget(
        self,
        now: float,
        vid: int | None = None,
        group: bytes | None = None,
        port: int | None = None,
        source: bytes | None = None,
    ) -> tuple[int, list[Effect]]:
        """Forget the members that match all arguments, or their source; gives how many."""
        self._run(now)
        count = 0
        for snooped in self._snooped_vlans():
            for known in list(snooped.groups.values()):
                if vid not in (None, snooped.scope.vid) or group not in (None, known.address):
                    continue
                ports = [
                    number
                    for number, member in known.members.items()
                    if port in (None, number) and (source is None or source in member.state.sources)
                ]
                snooped.forget_members(known, ports, source)
                count += len(ports)
        return count, self._done(now)

    # Frames.

    def receive(self, port: int, vid: int, frame: bytes, now: float) -> list[Effect]:
        """Handle a frame that may be IGMP, MLD, PIM or MRD, as it came in, with its tags.

        The switch does not forward it: without an effect that does, it is dropped.
        """
        shared = self._shared
        self._run(now)
        known = shared.ports.get(port)
        pair = self._vlans.get(vid)
        if known is None or pair is None:
            return self._flush()
        if port not in pair[0].scope.live:
            known.count("drop_not_forwarding")
            return self._flush()
        scope, hosts_only = pair[0].scope, known.params.hosts_only
        if not (scope.enabled or hosts_only):
            pair[0].forward(scope.live, port)
            return self._flush()
        message = decode(frame, shared.params.strict)
        if isinstance(message, Malformed):
            known.count("drop_" + message.reason)
            return self._flush()
        known.count("rx_" + message.kind)
        if hosts_only and not isinstance(message, Report):
            shared.refuse_router(known, vid, message.kind, now)
            return self._flush()
        if isinstance(message, Other) or not scope.enabled:
            pair[0].forward(scope.live, port)
            return self._flush()
        snooped = pair[message.family is Family.IPV6]
        if isinstance(message, Report):
            on_report(snooped, message, known, now)
        elif isinstance(message, Query):
            on_query(snooped, message, known, now)
        else:
            on_hello(snooped, message, known, now)
        return self._flush()

    # Restart.

    def restore(
        self,
        groups: Iterable[SetGroup],
        unregistered: Iterable[SetUnregistered],
        now: float,
    ) -> list[Effect]:
        """Restore the state from the switch's entries after a restart of the controller.

        Call once VLANs, ports and port states are set. The ports of each restricted
        `SetUnregistered` are taken for router ports; the other ports of a group for members, with
        full timers; and a query is sent at once. Groups of a VLAN that was not restricted are left
        out. The effects are the differences to the switch's entries.
        """
        shared = self._shared
        self._run(now)
        routed: dict[tuple[int, Family], frozenset[int]] = {}
        for kept in unregistered:
            if kept.ports is not None and kept.vid in self._vlans:
                snooped = self._vlans[kept.vid][kept.family is Family.IPV6]
                if snooped.scope.enabled:
                    routed[kept.vid, kept.family] = kept.ports
                    snooped.restore(kept.ports, now)
        restored: dict[tuple[SnoopedVlan, bytes], dict[bytes | None, frozenset[int]]] = {}
        for entry in groups:
            if entry.vid in self._vlans:
                snooped = self._vlans[entry.vid][len(entry.group) == 16]
                restored.setdefault((snooped, entry.group), {})[entry.source] = entry.ports
        for (snooped, address), entries in restored.items():
            restricted = routed.get((snooped.scope.vid, snooped.scope.family))
            restore_group(snooped, address, entries, restricted, shared.ports, now)
        return self._done(now)

    # State.

    def is_idle(self, vid: int) -> bool:
        """Whether a VLAN has no group and no router."""
        return not any(snooped.groups or snooped.routers for snooped in self._vlans.get(vid, ()))

    def desired(self) -> list[SetGroup | SetUnregistered]:
        """All desired entries of the datapath, for a comparison with the switch's."""
        effects: list[SetGroup | SetUnregistered] = []
        for snooped in self._snooped_vlans():
            for group in snooped.groups.values():
                effects += [
                    SetGroup(snooped.scope.vid, group.address, source, ports)
                    for source, ports in group.sent.items()
                ]
            if snooped.sent is not None:
                scope = snooped.scope
                effects.append(SetUnregistered(scope.vid, scope.family, snooped.sent))
        return effects

    def snapshot(self, now: float) -> Snapshot:
        """The state for display; takes time in proportion to its size."""
        snooped_vlans = list(self._snooped_vlans())
        return Snapshot(
            tuple(info for snooped in snooped_vlans for info in members(snooped, now)),
            tuple(
                info
                for snooped in snooped_vlans
                for info in routers(snooped, self._shared.ports, now)
            ),
            tuple(querier(snooped, now) for snooped in snooped_vlans),
            {number: dict(port.counters) for number, port in self._shared.ports.items()},
            self._shared.quota.total,
            self._shared.params.mcast_hash_max,
        )


def _check_addresses(group: bytes, only: bytes | None, exclude: Iterable[bytes]) -> None:
    if len(group) not in (4, 6, 16) or why_no_entry(group):
        raise ValueError(f"group: {group.hex()} cannot have an entry")
    for source in exclude if only is None else (*exclude, only):
        if len(source) != len(group) or not is_host(source):
            raise ValueError(f"source: {source.hex()} is no host's address of the group's family")


def restore_group(
    snooped: SnoopedVlan,
    address: bytes,
    entries: Mapping[bytes | None, frozenset[int]],
    routers: frozenset[int] | None,
    ports: Mapping[int, SnoopedPort],
    now: float,
) -> None:
    """Restore one group's entries, by source. `routers` None: the VLAN floods; nothing is kept.

    ports: those of the bridge.
    """
    group = snooped.groups.get(address) or Group(address)
    group.sent = dict(entries)
    if routers is not None and not is_mac_group(address) and is_snooped(address):
        snooped.groups[address] = group
        until = now + snooped.querier.membership_interval(snooped.scope)
        star = entries.get(None, frozenset())
        everybody = frozenset[int]().union(*entries.values())
        for number in (everybody - routers) & snooped.ports & ports.keys():
            if number in group.static or number in group.members:
                continue
            exclude = number in star
            sources = tuple(
                source
                for source, to in sorted(entries.items(), key=lambda entry: entry[0] or b"")
                if source is not None and (number in to) != exclude
            )
            snooped.restore_member(group, ports[number], exclude, sources, until)
    snooped.touch_group(group)
