"""One datapath's bridge: its ports, its addresses and the protocols that it runs.

Every method that changes something takes the time where it matters and returns the effects in
the order in which they must happen.  What the datapath should hold at any moment is `desired`, so
that a switch that reconnects can be synchronized.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from ofapp.bridge.desired import Asked, Desired, DesiredPort
from ofapp.bridge.effects import (
    Effect,
    PutStatic,
    RenewPort,
)
from ofapp.bridge.fdb.learned_addresses import LearnedAddresses
from ofapp.bridge.fdb.problems import problems as fdb_problems
from ofapp.bridge.fdb.rates import Load, Rates
from ofapp.bridge.fdb.static_entries import StaticEntries
from ofapp.bridge.first_hop.on_bridge import FirstHop
from ofapp.bridge.input_error import InputError
from ofapp.bridge.lag.on_bridge import Aggregations
from ofapp.bridge.lldp.on_bridge import LldpOnBridge
from ofapp.bridge.loop_protect.on_bridge import LoopProtection
from ofapp.bridge.multicast.on_bridge import SnoopingOnBridge
from ofapp.bridge.one_way.on_bridge import OneWayLinks
from ofapp.bridge.params.acl import first_zone, stateful
from ofapp.bridge.params.params import BridgeParams, used_lists
from ofapp.bridge.port_access.on_bridge import PortAccess
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.ports.problems import problems as port_problems
from ofapp.bridge.problem import Problem
from ofapp.bridge.protocol import Protocol
from ofapp.bridge.reactions import Reactions
from ofapp.bridge.relay.loops import problems as loop_problems
from ofapp.bridge.relay.own_address import OwnAddress
from ofapp.bridge.relay.policies import PortPolicies
from ofapp.bridge.state import BridgeState, SharedState
from ofapp.bridge.stp import PortState
from ofapp.bridge.stp.on_bridge import SpanningTreeOnBridge
from ofapp.common.portions import Portions

PROTOCOLS: tuple[type[Protocol[object]], ...] = (
    Aggregations,
    SnoopingOnBridge,
    SpanningTreeOnBridge,
    LldpOnBridge,
    OneWayLinks,
    FirstHop,
    PortAccess,
    LoopProtection,
)
"""All protocols of a bridge.

Each gets inputs in this order, and the removal of ports in the reverse order.  Aggregations come
first: they make the bridge's ports of the switch's.  Snooping knows a port before spanning tree
opens it.
"""

_WITH_ADDRESS = ("address", "snooped")
"""Kinds of frames that have their sender's IP address."""

NO_PORTS: Mapping[int, str] = {}

P = TypeVar("P", bound=Protocol[object])


class Bridge:
    """The bridge on one datapath.  Times are of the core, in seconds.

    lags, multicast, stp, lldp, first_hop, port_access, loop_protect, one_way: its protocols; others
    are found by `protocol`.
    addresses: its learned addresses, for the code that programs its switch.
    ip_addresses: the last IP addresses of its hosts.
    rates: how many sightings a second its ports may send.
    """

    def __init__(
        self,
        datapath_id: int,
        params: BridgeParams,
        shared: SharedState | None = None,
        name: str = "",
    ) -> None:
        """shared: with the other bridges of the same controller; name: if it is not LOCAL's."""
        self._state = state = BridgeState(datapath_id, params, shared or SharedState(), name)
        self.datapath_id = datapath_id
        self.ports = state.ports
        self.learning = state.learning
        self.relay = state.relay
        self.fdb = state.learning.fdb
        self.ip_addresses = state.ip_addresses
        self.addresses = LearnedAddresses(self.learning)
        self._own_address = OwnAddress(self.learning.counters)
        self.static_entries = StaticEntries(self.learning, self.ports)
        self.rates = Rates()
        self.protocols = tuple(protocol(state) for protocol in PROTOCOLS)
        self._hears = {kind: each for each in self.protocols for kind in each.hears}
        self.lags = self._the(Aggregations)
        self.multicast = self._the(SnoopingOnBridge)
        self.stp = self._the(SpanningTreeOnBridge)
        self.lldp = self._the(LldpOnBridge)
        self.first_hop = self._the(FirstHop)
        self.port_access = self._the(PortAccess)
        self.loop_protect = self._the(LoopProtection)
        self.one_way = self._the(OneWayLinks)
        self._reactions = Reactions(
            state, self.protocols, self.static_entries, self._own_address, self.stp.is_edge
        )
        self.flooding = self._reactions.flooding

    def _the(self, kind: type[P]) -> P:
        return next(each for each in self.protocols if isinstance(each, kind))

    def protocol(self, name: str) -> Protocol[object]:
        """The protocol with this name.  Raises KeyError."""
        return {each.name: each for each in self.protocols}[name]

    @property
    def params(self) -> BridgeParams:
        """Its parameters."""
        return self._state.params

    @property
    def port_policies(self) -> PortPolicies:
        """Which port may reach which, by the parameters and the present ports."""
        return self._state.port_policies

    @property
    def tracks_connections(self) -> bool:
        """Whether a port has an access list with states."""
        return any(map(stateful, used_lists(self.params).values()))

    @property
    def first_zone(self) -> int:
        """The connection tracking zone of VID 0; those of other VIDs follow."""
        return first_zone(self.params.ct_zone_block, self.datapath_id)

    @property
    def name(self) -> str:
        """The bridge's name as the switch's host knows it, that of its LOCAL port; else its id."""
        return self._state.name

    @property
    def address(self) -> int:
        """The bridge's own address."""
        return self._state.address

    @property
    def former_name(self) -> str | None:
        """Its name, while another bridge uses that name."""
        return self._state.former_name

    @former_name.setter
    def former_name(self, name: str | None) -> None:
        self._state.former_name = name

    def leave(self) -> None:
        """Free what the bridge shares with others: it is forgotten."""
        self.ports.leave()
        self.first_hop.leave()

    # Ports

    def set_ports(self, ports: Iterable[Port], now: float) -> list[Effect]:
        """Set the complete list of ports of a switch that has just connected."""
        new = {port.number: port for port in ports}
        local_first = sorted(new.values(), key=lambda port: port.number != LOCAL_PORT)
        gone = self.remove_ports(self.not_among(local_first), now)
        self.ports.complete = True
        return [*gone, *self.retain(local_first, now), *self.put_ports(local_first, now)]

    def retain(
        self, ports: Iterable[Port], now: float, others: Mapping[int, str] = NO_PORTS
    ) -> list[Effect]:
        """Remove restored ports that are not in this complete list of the switch's.

        others: the bridge's ports on other switches, by number.
        """
        names = {**others, **self.lags.names(ports)}
        return self._reactions.retain(names, now)

    def put_port(self, port: Port, now: float) -> list[Effect]:
        """Add a port, or update its name, address or link."""
        return self.put_ports([port], now)

    def put_ports(self, ports: Iterable[Port], now: float) -> list[Effect]:
        """The same for many at once, each with a different number."""
        return self._reactions.put_ports(list(ports), now)

    def remove_port(self, number: int, now: float) -> list[Effect]:
        """Remove a port; static entries on it wait for a port of the same name."""
        return self.remove_ports([number], now)

    def remove_ports(self, numbers: Iterable[int], now: float) -> list[Effect]:
        """The same for many at once."""
        return self._reactions.remove_ports(list(numbers), now)

    def carry_out(self, effects: Iterable[Effect], now: float) -> list[Effect]:
        """Carry out what protocols want of the bridge; returns all other effects."""
        return self._reactions.carry_out(effects, now)

    def set_params(self, params: BridgeParams, now: float) -> list[Effect]:
        """Apply the parameters that differ from before, and nothing else."""
        return self._reactions.set_params(params, now)

    # Addresses

    def add_static(self, vid: int, mac: int, port_name: str, now: float) -> list[Effect]:
        """Fix an address to a port.  Raises InputError."""
        return self.static_entries.add(vid, mac, port_name, now)

    def remove_static(self, vid: int, mac: int) -> list[Effect]:
        """Let an address be learned again.  Raises InputError."""
        return self.static_entries.remove(vid, mac)

    def teach(self, port: int, vid: int, mac: int, now: float) -> list[Effect]:
        """Learn an address as if it had been seen.  Raises InputError."""
        if port not in self.learning.open_ports:
            raise InputError("port", f"bridge {self.name} has no port {port} that is up")
        return self.learning.learn([(port, vid, mac)], now)

    def release(self, vid: int, mac: int) -> list[Effect]:
        """End the hold-down of an address before its time.  Raises InputError."""
        return self.learning.release_held(vid, mac)

    def flush(
        self, port: int | None = None, vid: int | None = None, mac: int | None = None
    ) -> list[Effect]:
        """Forget learned addresses that fit all that is given; without anything, all of them."""
        return self.relay.flush(port, vid, mac)

    def follow_load(self, load: Load, capacity: float | None, now: float) -> list[Effect]:
        """Adapt the ports' rates to the load by their sightings (see `Rates.observe`)."""
        changed = self.rates.observe(load, self.params.packet_in_rate, capacity, now)
        return [RenewPort(port) for port in changed]

    # Protocols

    def hear(self, kind: str, frames: Sequence[tuple[int, bytes]], now: float) -> list[Effect]:
        """Handle frames of one kind that arrived together, each with its port of the switch.

        kind: as a protocol `hears` it, "address" or "own".  Other kinds are ignored: a switch that
        was a member of a fabric sends such frames until its flows are replaced.
        """
        if kind == "own":
            return self._own_address.hear(frames, now)
        effects = self.ip_addresses.hear(frames) if kind in _WITH_ADDRESS else []
        protocol = self._hears.get(kind)
        if protocol is None:
            return effects
        return effects + self.carry_out(protocol.hear(kind, frames, now), now)

    def tick(self, now: float) -> list[Effect]:
        """Let time pass; due at `next_wakeup`."""
        effects = self.learning.tick(now)
        guard = self.learning.move_guard
        if guard.suspects:
            effects += guard.report_suspects([p for p in guard.suspects if self._lead_apart(*p)])
        return effects + self._reactions.all(lambda each: each.tick(now), now)

    def next_wakeup(self) -> float | None:
        """When `tick` is due, None when nothing is."""
        due = [self.learning.next_wakeup(), *(each.next_wakeup() for each in self.protocols)]
        return min((instant for instant in due if instant is not None), default=None)

    def pause(self, now: float) -> None:
        """Pause all protocols while the switch is disconnected."""
        for protocol in self.protocols:
            protocol.pause(now)

    def resume(self, now: float) -> None:
        """Resume after the switch has reconnected; its flows are not known yet."""
        for protocol in self.protocols:
            protocol.resume(now)

    def go_on(self, now: float) -> list[Effect]:
        """Run all protocols: the datapath has the flows that they assume."""
        return self._reactions.all(lambda each: each.go_on(now), now)

    def beat(self, now: float) -> None:
        """Note that the controller runs; after the first call several times a second."""
        for protocol in self.protocols:
            protocol.beat(now)

    def send_last(self, now: float) -> list[Effect]:
        """Send the last frames before the controller ends."""
        return self._reactions.all(lambda each: each.send_last(now), now)

    def restart_stp(self, lost: bool, clock: Callable[[], float]) -> Iterator[list[Effect]]:
        """Start a new tree for a switch without this one's port states, portion by portion.

        lost: the switch has no flows any more.
        """
        for effects in self.stp.restart(lost, clock):
            yield self.carry_out(effects, clock())

    def restart_ports(self, ports: Collection[int], lost: bool, now: float) -> list[Effect]:
        """The same for the ports on one of several switches that are this bridge."""
        return self.carry_out(self.stp.restart_ports(ports, lost, now), now)

    # Queries

    def problems(self, now: float) -> Iterator[Problem]:
        """What is wrong now."""
        yield from fdb_problems(self.learning)
        yield from port_problems(self.lags.physical(self.ports))
        logical = {each: lag for lag, members in self.lags.members().items() for each in members}
        own, returned = self._own_address.suspected(now), self.lldp.returned(now)
        yield from loop_problems(own, returned, self.relay.flood_ports, logical)
        for protocol in self.protocols:
            yield from protocol.problems(now)

    def _lead_apart(self, one: int, other: int) -> bool:
        """Whether two ports lead to different systems: by LLDP, or to bridges by spanning tree."""
        chassis = self.lldp.chassis(one), self.lldp.chassis(other)
        if None not in chassis:
            return chassis[0] != chassis[1]
        return not (self.stp.is_edge(one) or self.stp.is_edge(other))

    def not_among(self, ports: Iterable[Port]) -> list[int]:
        """The numbers of the ports that are not in such a list.

        A number with another name is another port: switches renumber ports when they restart.
        """
        names = {port.number: port.name for port in ports}
        there = self.lags.physical(self.ports)
        return [old.number for old in there if names.get(old.number) != old.name]

    def port_at(self, number: int) -> Port | None:
        """The port that has a number: one of the bridge's own, or a member of an aggregation."""
        return self.ports.get(number) or self.lags.member(number)

    def desired(self, params: BridgeParams | None = None) -> Desired:
        """The desired state; params: as if these were set, without the reactions of protocols."""
        return Asked(self, params).whole()

    def desired_as_of_now(
        self, params: BridgeParams | None = None
    ) -> Callable[[Portions], Desired]:
        """The same, computed later: see `Asked.as_of_now`."""
        return Asked(self, params).as_of_now()

    def desired_port(self, number: int, state: PortState | None = None) -> DesiredPort:
        """The part of one port, in its own state or in this one."""
        return Asked(self).port(number, state or self.relay.states.get(number))

    def trapping(self) -> Iterator[tuple[int, float]]:
        """The ports whose BPDUs go to the spanning tree, and its hello time in seconds."""
        return Asked(self).trapping()

    def static_on(self, port: int) -> list[PutStatic]:
        """The only addresses that may send on a locked port; none for other ports."""
        return self.static_entries.on(port) if self.port_policies.policy(port).locked else []

    def sighting_rate(self, port: int) -> int:
        """Frames of unknown sources a second that a port may send to the controller now."""
        return self.rates.of(port, self.params.packet_in_rate)

    @property
    def has_raised_rates(self) -> bool:
        """Whether some port has more than its guaranteed rate."""
        return bool(self.rates.raised)
