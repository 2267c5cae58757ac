"""Desired state of a datapath for a bridge, as one frozen value.

The code that programs a datapath uses this value, or the part of it that has changed, and nothing
else of a bridge.  With other parameters the same query is a dry run.  A bridge of a thousand ports
changes one at a time, so each port is a separate value, computed without the others.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ofapp.bridge.effects import HoldDown, PutStatic
from ofapp.bridge.effects.content import DesiredLag
from ofapp.bridge.fdb.learning import Learning
from ofapp.bridge.fdb.rates import Rates
from ofapp.bridge.fdb.static_entries import StaticEntries
from ofapp.bridge.lag.on_bridge import Aggregations
from ofapp.bridge.multicast import SetGroup, SetUnregistered
from ofapp.bridge.multicast.on_bridge import SnoopingOnBridge
from ofapp.bridge.params.acl import first_zone
from ofapp.bridge.params.params import BridgeParams, used_lists
from ofapp.bridge.params.policy import AclRule, PortPolicy
from ofapp.bridge.ports.port import PortTable
from ofapp.bridge.ports.vlan import PortVlans
from ofapp.bridge.protocol import Protocol as BridgeProtocol
from ofapp.bridge.relay.policies import PortPolicies
from ofapp.bridge.relay.relay import Relay
from ofapp.bridge.stp import PortState
from ofapp.bridge.stp.on_bridge import SpanningTreeOnBridge
from ofapp.common.portions import AT_ONCE, Portions

AccessLists = Mapping[str, tuple[AclRule, ...]]


@dataclass(frozen=True, slots=True)
class DesiredPort:
    """One port; two that are equal have the same flows, on any bridge.

    state: None for one that is down or takes no part.
    policy: its policy; vlans: those it is a member of; copies: the ports that get a copy of what it
    receives; lag_copies: the aggregations that do.
    hello_time: that of the spanning tree which gets its BPDUs, in seconds; 0: they are forwarded.
    snoops: its IGMP and MLD go to the controller.
    learns: frames of unknown sources go to the controller, `rate` a second.
    full: its limit is reached, and frames of further hosts are dropped; full_vlans: the VLANs on
    the port for which the same is true.
    protocols: what protocols want of it, by their names: see `wanted`.
    """

    number: int
    state: PortState | None
    policy: PortPolicy
    vlans: PortVlans
    copies: tuple[int, ...]
    lag_copies: tuple[int, ...]
    hello_time: float
    snoops: bool
    learns: bool
    rate: int
    full: bool
    full_vlans: tuple[int, ...]
    protocols: tuple[tuple[str, object], ...] = ()

    def wanted(self, protocol: str) -> Any:
        """Return what a protocol wants of the port (`Protocol.desired_port`), or None."""
        for name, value in self.protocols:  # without a generator: it is asked 19 times for a port
            if name == protocol:
                return value
        return None

    @property
    def forwards(self) -> bool:
        """Whether its frames enter."""
        return self.state is PortState.FORWARDING


@dataclass(frozen=True, slots=True)
class Desired:
    """All that a datapath should hold.

    names: names of all ports, up or down, by number; ports: those that are up and enabled, by
    number.
    statics: the addresses that do not move; holds: those that are held down.
    first_zone: the connection tracking zone of VID 0.
    lists: the access lists that ports have; mirrors: the ports that their rules copy to, by name.
    protocols: what each protocol wants, by its name (`ofapp.bridge.protocol.Protocol.desired`).
    """

    port_policies: PortPolicies
    names: Mapping[int, str]
    ports: tuple[DesiredPort, ...]
    statics: tuple[PutStatic, ...]
    holds: tuple[HoldDown, ...]
    lists: AccessLists
    mirrors: Mapping[str, int]
    protocols: Mapping[str, Any]
    first_zone: int = 0

    @property
    def numbers(self) -> Iterable[int]:
        """The numbers of all ports."""
        return self.names.keys()

    @property
    def snoops(self) -> bool:
        """Whether multicast is snooped."""
        return self.protocols["multicast"] is not None

    @property
    def entries(self) -> tuple[SetGroup | SetUnregistered, ...]:
        """The ports for each group."""
        return self.protocols["multicast"] or ()

    @property
    def lags(self) -> tuple[DesiredLag, ...]:
        """The aggregations."""
        lags: tuple[DesiredLag, ...] = self.protocols["lags"]
        return lags

    @property
    def flooded(self) -> frozenset[int]:
        """The ports that frames to unknown destinations leave by."""
        return frozenset(port.number for port in self.ports if port.forwards)


class Parts(Protocol):
    """The parts of a bridge on which its datapath depends."""

    datapath_id: int
    ports: PortTable
    learning: Learning
    relay: Relay
    static_entries: StaticEntries
    rates: Rates
    protocols: tuple[BridgeProtocol[object], ...]
    lags: Aggregations
    multicast: SnoopingOnBridge
    stp: SpanningTreeOnBridge

    @property
    def params(self) -> BridgeParams: ...
    @property
    def port_policies(self) -> PortPolicies: ...


class Asked:
    """Compute the desired state of a bridge as it is, or as if it had other `params`.

    The reactions of protocols to these are not predicted.
    """

    def __init__(self, parts: Parts, params: BridgeParams | None = None) -> None:
        self._parts = parts
        self._supposed = params is not None
        self._params = parts.params if params is None else params
        self._ports = _ports(parts, self._params)
        self._port_policies = (
            parts.port_policies
            if params is None
            else PortPolicies(params, self._ports, granted=parts.port_policies.granted)
        )
        self._snoops = self._params.multicast is not None and parts.multicast.runs
        stp = self._params.stp
        plain = BridgeProtocol.desired_port
        self._asked = [one for one in parts.protocols if type(one).desired_port is not plain]
        self._hello_time = 0.0 if stp is None else stp.hello_time

    @property
    def ports(self) -> PortTable:
        """The bridge's ports as they are, or would be."""
        return self._ports

    def whole(self) -> Desired:
        """The complete value."""
        return self.as_of_now()(AT_ONCE)

    def as_of_now(self, among: Container[int] | None = None) -> Callable[[Portions], Desired]:
        """A function that computes the complete value later, in portions.

        among: the ports that are in it; None for all.

        The states, addresses and entries are those of now.  Other changes of a port until its value
        is computed may be in it or not, and follow in any case.
        """
        parts, policies = self._parts, self._port_policies
        lists = used_lists(self._params)
        states = sorted(self._states())
        names = {port.number: port.name for port in self._ports}
        if among is not None:
            states = [state for state in states if state[0] in among]
            names = {number: name for number, name in names.items() if number in among}
        statics = tuple(parts.static_entries)
        holds = tuple(held.effect for held in parts.learning.move_guard.held.values())
        mirrors = dict(_mirrors(lists, self._ports))
        zone = first_zone(self._params.ct_zone_block, parts.datapath_id)
        protocols = {each.name: each.desired(self._params) for each in parts.protocols}

        def made(portions: Portions) -> Desired:
            return Desired(
                policies,
                names,
                tuple(self.port(number, state) for number, state in portions.of(states)),
                statics,
                holds,
                lists,
                mirrors,
                protocols,
                zone,
            )

        return made

    def port(self, number: int, state: PortState | None) -> DesiredPort:
        """One port, in this state."""
        learning = self._parts.learning
        learns, full = learning.learns(number), False
        copies = self._port_policies.ingress_copies.get(number, ())
        aggregated = self._port_policies.aggregated
        full_vlans: tuple[int, ...] = ()
        if learns:
            limit = learning.limits.ports.get(number)
            full = limit is not None and limit.closed
            if learning.limits.vlans:
                full_vlans = tuple(self._full_vlans(number))
        return DesiredPort(
            number,
            state,
            self._port_policies.policy(number),
            self._port_policies.vlans(number),
            tuple(to for to in copies if to not in aggregated),
            tuple(to for to in copies if to in aggregated),
            self._hello_time if self._traps(number) else 0.0,
            self._snoops,
            learns,
            self._parts.rates.of(number, self._params.packet_in_rate),
            full,
            full_vlans,
            self._wanted_by_protocols(number),
        )

    def _wanted_by_protocols(self, number: int) -> tuple[tuple[str, object], ...]:
        port = self._ports.get(number) if self._asked else None
        if port is None:
            return ()
        wanted = ((each.name, each.desired_port(port, self._params)) for each in self._asked)
        return tuple((name, value) for name, value in wanted if value is not None)

    def trapping(self) -> Iterator[tuple[int, float]]:
        """The ports whose BPDUs are for the spanning tree, and its hello time in seconds."""
        states = self._parts.relay.states
        return ((port, self._hello_time) for port in states if self._traps(port))

    def _states(self) -> Iterable[tuple[int, PortState]]:
        states = dict(self._parts.relay.states)
        if not self._supposed:
            return states.items()
        if self._params.stp is None:  # else the state of a new port is not predicted
            carrying = (port.number for port in self._ports if port.carries)
            states = dict.fromkeys(carrying, PortState.FORWARDING) | states
        return [
            (number, state)
            for number, state in states.items()
            if self._ports.get(number) is not None and self._port_policies.takes_part(number)
        ]

    def _traps(self, port: int) -> bool:
        return self._params.stp is not None and self._parts.stp.traps(port)

    def _full_vlans(self, number: int) -> Iterator[int]:
        vlans = self._port_policies.vlans(number)
        for vid, limit in self._parts.learning.limits.vlans.items():
            if limit.closed and vlans.has(vid):
                yield vid


def _ports(parts: Parts, params: BridgeParams) -> PortTable:
    """The ports as they are, or as they would be with `params`."""
    if params.lags == parts.params.lags:
        return parts.ports
    table = PortTable()
    for port in parts.lags.supposed(params.lags)[1]:
        table.put(port)
    return table


def _mirrors(lists: AccessLists, ports: PortTable) -> Iterator[tuple[str, int]]:
    for rules in lists.values():
        for rule in rules:
            port = None if rule.mirror is None else ports.named(rule.mirror)
            if port is not None:
                yield port.name, port.number
