"""Protocols of a fabric's bridge as one member sees them, in its port numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Effect
from ofapp.bridge.fabric.view.addresses import for_fabric
from ofapp.bridge.fabric.view.entries import FoundEntries
from ofapp.bridge.fabric.view.places import Places
from ofapp.bridge.fabric.view.ports import MemberPorts
from ofapp.bridge.lag.desired import DesiredLag
from ofapp.bridge.multicast import SetGroup, SetUnregistered
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import Port
from ofapp.bridge.stp import PortState


class MemberIpAddresses:
    """IP addresses of hosts on the ports of a member."""

    def __init__(self, bridge: Bridge, places: Places, member: int) -> None:
        self._bridge = bridge
        self._places = places
        self._member = member

    def hear(self, frames: Iterable[tuple[int, bytes]]) -> list[Effect]:
        """Read the senders' addresses from frames, each with its port."""
        heard = self._places.frames(self._member, frames)
        return for_fabric(self._bridge.ip_addresses.hear(heard))


class MemberTree:
    """Spanning tree on the ports of a member."""

    def __init__(self, bridge: Bridge, places: Places, member: int) -> None:
        self._tree = bridge.stp
        self._places = places
        self._member = member

    def hear_of_leaving(self) -> None:
        """Expect a report when BPDUs have been sent (`bpdus_left`)."""
        self._tree.hear_of_leaving()

    def bpdus_left(self, left: Iterable[tuple[int, int]], now: float) -> None:
        """Note BPDUs that were sent: (port, `SendFrame.bpdu`).  The fabric's `tick` may be due
        sooner."""
        numbers = ((self._places.number(self._member, port), bpdu) for port, bpdu in left)
        known = [(number, bpdu) for number, bpdu in numbers if number is not None]
        self._tree.bpdus_left(known, now)

    def is_edge(self, port: int) -> bool:
        """Whether no other bridge is known behind the port."""
        number = self._places.number(self._member, port)
        return number is None or self._tree.is_edge(number)

    def states(self) -> dict[int, PortState] | None:
        """The states of the member's ports whose links are up; None without a tree."""
        states = self._tree.states()
        if states is None:
            return None
        numbers = ((self._places.on(self._member, port), state) for port, state in states.items())
        return {number: state for number, state in numbers if number is not None}

    def settled_on(
        self, believed: Mapping[int, PortState], actual: Mapping[int, PortState]
    ) -> bool:
        """Whether the member has the tree's port states.

        Ports of other members may have changed the tree meanwhile: that it is not stored says
        nothing about this member.
        """
        return self._tree.runs and believed == actual


class MemberLags:
    """Aggregations with ports at a member."""

    def __init__(self, bridge: Bridge, places: Places, ports: MemberPorts, member: int) -> None:
        self._lags = bridge.lags
        self._places = places
        self._ports = ports
        self._member = member

    def has(self, name: str) -> bool:
        """Whether the switch's port of that name is in an aggregation."""
        return self._lags.has(self._ports.name(name))

    def members(self) -> dict[int, list[int]]:
        """The present ports of aggregations at the member, by the logical port."""
        here = {lag: self._here(ports) for lag, ports in self._lags.members().items()}
        return {lag: ports for lag, ports in here.items() if ports}

    def physical(self, ports: Iterable[Port]) -> list[Port]:
        """The switch's ports, those of links between members among them."""
        return self._ports.physical()

    def desired(self, params: BridgeParams) -> tuple[DesiredLag, ...]:
        """The parts of aggregations at the member."""
        parts = (self._places.lag_parts(lag) for lag in self._lags.desired(params))
        return tuple(part[self._member] for part in parts if self._member in part)

    def _here(self, ports: Iterable[int]) -> list[int]:
        numbers = (self._places.on(self._member, port) for port in ports)
        return [number for number in numbers if number is not None]


class MemberEntries:
    """Multicast entries of a member."""

    def __init__(self, found: FoundEntries, member: int) -> None:
        self._found = found
        self._member = member

    def restore_entries(
        self, groups: list[SetGroup], unregistered: list[SetUnregistered], now: float
    ) -> list[Effect]:
        """Take over the entries that the member had before this controller started."""
        return for_fabric(self._found.restore(self._member, groups, unregistered, now))
