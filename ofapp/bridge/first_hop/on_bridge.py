"""First-hop security on a bridge."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from math import inf
from typing import Any

from ofapp.bridge.effects import Effect, SetAccess
from ofapp.bridge.effects.content import BoundAddress, BoundHost
from ofapp.bridge.first_hop.binding import (
    Binding,
    DhcpRequest,
    FullLimit,
    GuardedPort,
    Origin,
    PortBindings,
    Refused,
    Status,
    UnboundHost,
)
from ofapp.bridge.first_hop.bindings.bindings import Bindings
from ofapp.bridge.first_hop.bindings.changes import Changes
from ofapp.bridge.first_hop.bindings.stored import restored, rows
from ofapp.bridge.first_hop.bindings.table import PortHost
from ofapp.bridge.first_hop.dhcp.host_names import HostNames
from ofapp.bridge.first_hop.guarded import GuardedPorts
from ofapp.bridge.first_hop.params import BridgeParams
from ofapp.bridge.first_hop.problems import problems as first_hop_problems
from ofapp.bridge.first_hop.receive import Receiver
from ofapp.bridge.first_hop.stranded import Stranded, StrandedHosts
from ofapp.bridge.params.params import BridgeParams as AllParams
from ofapp.bridge.pausable import PausableTime
from ofapp.bridge.ports.port import Port
from ofapp.bridge.problem import Problem
from ofapp.bridge.protocol import Protocol, Reconfigured
from ofapp.bridge.state import BridgeState
from ofapp.common.portions import AT_ONCE, Portions


class FirstHop(Protocol[BridgeParams]):
    """The bindings of a bridge, and what the switch is to check of them.

    counters: what was bound, moved, refused and so on, by name.
    """

    name = "first_hop"
    hears = ("dhcp", "dhcp_server", "nd", "nd_trusted", "router", "answer", "refused")

    def __init__(self, state: BridgeState) -> None:
        super().__init__(state)
        self._bindings = Bindings(state)
        self._table = self._bindings.table
        self._stranded = state.shared.of(StrandedHosts)
        self._guarded = GuardedPorts(state, self._table)
        self._receiver = Receiver(self._bindings, state, self._guarded.prober)
        self._seen = 0.0  # the protocol's time of the last input
        self._names: dict[int, str] = {}

    # Ports

    def put_ports(self, ports: Sequence[Port], now: float) -> list[Effect]:
        """Add ports, whose bindings may be known; bindings follow a port to its new name."""
        changes = self._changes(now)
        for port in ports:
            name = self._names.get(port.number)
            if self._state.usable(port):
                hosts = self._table.hosts(port.name)
                self._stranded.drop(self._state.datapath_id, hosts)
            elif name is not None:
                self._lose(name, port.number, changes)
            if name == port.name:
                continue
            self._names[port.number] = port.name
            if name is not None:
                self._bindings.rename(name, port.name, changes)
            if self._guarded.has(port.name, port.number):
                changes.hosts_of(port.name, self._table)
        return self._effects(changes)

    def remove_ports(self, numbers: Sequence[int], now: float) -> list[Effect]:
        """Remove ports; their bindings stay for ports of the same names."""
        changes, removed = self._changes(now), list[Effect]()
        for number in numbers:
            name = self._names.pop(number, None)
            if name is None:
                continue
            if self._guarded.has(name, number):
                for vid, mac in self._table.hosts(name):
                    removed.append(BoundHost(number, vid, mac, ()))
            self._lose(name, number, changes)
            self._receiver.refusals.forget(name)
        return removed + self._effects(changes)

    def _lose(self, name: str, number: int, changes: Changes) -> None:
        """A port is down or gone."""
        self._receiver.leases.dhcp.forget(number)
        self._receiver.migration.lose(name, changes)
        self._receiver.neighbours.lose(name, changes)
        self._strand(name)

    def set_access(self, access: SetAccess, now: float) -> list[Effect]:
        """Have the bindings of a host that may not use its port any more end after the grace.

        A host that is authorised again until then keeps them: it may not know of the interruption,
        and so not ask its DHCP server again.
        """
        port, changes = self._state.ports.get(access.port), self._changes(now)
        for binding in () if port is None else self._table.on(port.name):
            if binding.origin.dynamic and access.mac in (None, binding.mac):
                due = binding.expires
                if access.grace is not None:
                    due = min(inf if due is None else due, changes.at + access.grace)
                self._bindings.postpone(binding, due)
        return self._effects(changes)

    def set_params(self, change: Reconfigured, now: float) -> list[Effect]:
        """Apply other limits; the bridge has the switch programmed again in any case."""
        if self.params is not None:
            self._receiver.leases.dhcp.relay_options = self.params.relay_options
        changed = [port.name for port, _, _ in change.ports]
        vids = self._table.by_vlan
        return self._bindings.release([*changed, *vids, None])

    # Frames and time

    def hear(self, kind: str, frames: Sequence[tuple[int, bytes]], now: float) -> list[Effect]:
        """Handle frames of a trap; those that the switch holds are forwarded or dropped."""
        changes = self._changes(now)
        handle = self._receiver.handlers[kind]
        for number, frame in frames:
            port = self._state.ports.get(number)
            if port is not None:
                handle(port, frame, changes)
        return self._effects(changes)

    def tick(self, now: float) -> list[Effect]:
        """Let time pass; due at `next_wakeup`."""
        due = self.next_wakeup()
        if due is None or now < due:
            return []
        changes, neighbours = self._changes(now), self._receiver.neighbours
        neighbours.tick(changes)
        self._receiver.migration.tick(changes)
        self._receiver.leases.clients.tick(changes)
        for binding in self._bindings.due(changes.at):
            if binding.origin is Origin.ND:
                neighbours.end(binding, changes)
            else:
                self._bindings.expire(binding, changes)
        return self._effects(changes)

    def next_wakeup(self) -> float | None:
        """When `tick` is due; None while paused or when nothing is."""
        due = (
            self._bindings.next_end(),
            self._receiver.neighbours.next_wakeup(),
            self._receiver.migration.next_wakeup(),
            self._receiver.leases.clients.next_wakeup(),
        )
        if self._bindings.left:
            return self._clock.due(self._seen)
        first = min((instant for instant in due if instant is not None), default=None)
        return self._clock.due(first)

    def beat(self, now: float) -> None:
        """Note that the controller runs."""
        self._clock.beat(now)

    def pause(self, now: float) -> None:
        """Pause while the switch is disconnected: leases that are renewed meanwhile are not seen.

        So no binding ends because the controller was disconnected.
        """
        self._clock.pause(now)

    def resume(self, now: float) -> None:
        """Wait after the switch has reconnected, until its flows are known."""
        self._clock.pause(now)

    def go_on(self, now: float) -> list[Effect]:
        """Run again."""
        self._clock.resume(now)
        return []

    # Values

    def desired(self, params: AllParams) -> tuple[BoundHost, ...]:
        """The hosts with bindings that are on guarded ports."""
        return self._guarded.hosts(params)

    def desired_port(self, port: Port, params: AllParams) -> GuardedPort | None:
        """Return the checks of a port's frames; None for nothing."""
        return self._guarded.checks(port, params)

    def problems(self, now: float) -> Iterator[Problem]:
        """Limits that are reached, and claims that were refused lately."""
        return first_hop_problems(self._bindings.limits.full, self.refused(), now)

    def status(self, now: float) -> Status:
        """The number of bindings, the limits, and what has been counted."""
        ports = []
        limits, table = self._bindings.limits, self._table
        for port in sorted(self._state.ports, key=lambda port: port.number):
            params = self._state.params.port(port.name, port.number).first_hop
            if params.guards:
                count, refused = table.by_port[port.name], limits.refused[port.name]
                full = port.name in limits.full
                ports.append(PortBindings(port.name, count, params.max_bindings, full, refused))
        prefixes = tuple(self._receiver.prefixes)
        samples = dict(self._receiver.refusals.samples)
        return Status(dict(table.by_origin), tuple(ports), prefixes, dict(self.counters), samples)

    # The stored document

    def dump(self, portions: Portions = AT_ONCE) -> dict[str, Any]:
        """The dynamic bindings, with the seconds that are left of each."""
        bindings = [*rows(portions.of(list(self._table)), self._seen)]
        return {"bindings": bindings, "prefixes": self._receiver.prefixes.rows(self._seen)}

    def restore(self, data: Any, portions: Portions = AT_ONCE) -> list[str]:
        """Restore a dump before any port is present, and wait for `go_on`.

        passed: the seconds since the dump.
        """
        self._bindings.clock, self._seen = PausableTime(paused=0.0), 0.0
        faults = restored(data, self._bindings, portions)
        for name in self._table.ports():
            self._strand(name)
        self._receiver.prefixes.restore(data.get("prefixes"), float(data["passed"]))
        return faults

    # Queries

    @property
    def counters(self) -> Counter[str]:
        """Return the counters (bound, moved, refused, ...), by name."""
        return self._receiver.counters()

    def __len__(self) -> int:
        """Number of bindings."""
        return len(self._table)

    def bindings(self) -> Iterator[Binding]:
        """All bindings; changes meanwhile are safe."""
        return iter(self._table)

    def bindings_of(self, vid: int, address: BoundAddress) -> tuple[Binding, ...]:
        """The bindings of exactly this address or prefix; several if hosts share it."""
        return self._table.all_of(vid, address)

    def having(self, address: bytes) -> Iterable[Binding]:
        """The bindings with this address, or with a prefix that has it: the longest in each VLAN.

        Hosts that share an address have one each.
        """
        longest: dict[int, BoundAddress] = {}
        for binding in self._table.having(address):
            if longest.setdefault(binding.vid, binding.address) == binding.address:
                yield binding

    def of_host(self, vid: int, mac: int) -> Iterable[Binding]:
        """The bindings of a host."""
        return self._table.of_host(vid, mac)

    def seconds_left(self, binding: Binding, now: float) -> float | None:
        """Seconds until a binding ends; None for never."""
        return None if binding.expires is None else binding.expires - self._clock.at(now)

    def refused(self) -> Iterable[Refused]:
        """What was refused last, the latest first; times are the core's."""
        return iter(self._receiver.refusals)

    def unanswered(self, mac: int) -> Iterable[DhcpRequest]:
        """The DHCP requests of a host that no server has answered, one for each port and VLAN."""
        for each in self._receiver.leases.dhcp.unanswered(mac):
            port = self._state.ports.get(each.port)
            if port is not None:
                yield DhcpRequest(port.name, *each[1:])

    @property
    def host_names(self) -> HostNames:
        """The names that hosts gave themselves in DHCP requests."""
        return self._receiver.leases.dhcp.names

    def ended(self, mac: int) -> Iterable[Binding]:
        """Bindings of a host whose lease or lifetime ended, the latest first; the last few."""
        return self._bindings.ended.get(mac, ())

    def full(self, port: str, vid: int) -> Iterable[FullLimit]:
        """The limits of bindings that are reached on a port and in a VLAN."""
        return self._bindings.full(port, vid)

    def would_refuse(self, params: AllParams) -> list[UnboundHost]:
        """The present hosts that would be cut off by other parameters, which guard their port."""
        return self._guarded.would_refuse(params)

    # Changes

    def add(
        self,
        port: str,
        vid: int,
        mac: int,
        address: BoundAddress,
        origin: Origin,
        now: float,
        shared: bool = False,
    ) -> list[Effect]:
        """Add a binding of a user.  Raises InputError."""
        changes = self._changes(now)
        self._bindings.add(Binding(port, vid, mac, address, origin, shared=shared), changes)
        return self._effects(changes)

    def remove(
        self,
        vid: int,
        address: BoundAddress,
        now: float,
        hosts: Collection[PortHost] | None = None,
    ) -> list[Effect]:
        """Remove the bindings of an address, of any origin.  Raises InputError.

        hosts: ports and MAC addresses of the hosts that lose it; None for all hosts.
        """
        changes = self._changes(now)
        self._bindings.remove(vid, address, changes, hosts)
        return self._effects(changes)

    def appear(self, number: int, vid: int, mac: int, now: float) -> list[Effect]:
        """Act as if a host had sent a frame on a port: its bindings may move there."""
        changes, port = self._changes(now), self._state.ports.get(number)
        if port is not None and self._guarded.has(port.name, number):
            self._receiver.migration.admits(port, vid, mac, changes)
        return self._effects(changes)

    def refuses(self, number: int, vid: int, mac: int) -> bool:
        """Whether frames of a host on a port are dropped, as it has no binding there."""
        port = self._state.ports.get(number)
        return port is not None and self._guarded.refuses(port, vid, mac)

    def clear_refused(self) -> None:
        """Forget what was refused."""
        self._receiver.refusals.clear()

    def leave(self) -> None:
        """Forget what other bridges know of this one, which is forgotten."""
        self._stranded.leave(self._state.datapath_id)

    # Inside

    @property
    def _clock(self) -> PausableTime:
        return self._bindings.clock

    def _strand(self, name: str) -> None:
        """Let other bridges know the hosts of a port that is down or gone."""
        hosts, where = self._table.hosts(name), Stranded(self._bindings, self._state.name, name)
        self._stranded.put(self._state.datapath_id, hosts, where)

    def _changes(self, now: float) -> Changes:
        self._seen = self._clock.at(now)
        changes = Changes(now, self._seen)
        for host in self._bindings.left:
            changes.touch(*host)
        self._bindings.left.clear()
        return changes

    def _effects(self, changes: Changes) -> list[Effect]:
        return changes.effects(self._table, self._guarded.number)
