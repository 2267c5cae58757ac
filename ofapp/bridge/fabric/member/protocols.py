"""Protocols of a fabric's bridge as one member sees them, in its port numbers."""

from collections.abc import Iterable, Mapping

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Effect
from ofapp.bridge.effects.content import DesiredLag
from ofapp.bridge.fabric.member.addresses import for_fabric
from ofapp.bridge.fabric.state.entries import FoundEntries
from ofapp.bridge.fabric.state.places import Places
from ofapp.bridge.fabric.state.ports import MemberPorts
from ofapp.bridge.multicast import SetGroup, SetUnregistered
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import Port
from ofapp.bridge.stp import PortState


class _OfMember:
    def __init__(self, bridge: Bridge, places: Places, member: int) -> None:
        self._bridge = bridge
        self._places = places
        self._member = member


class MemberIpAddresses(_OfMember):
    """IP addresses of hosts on the ports of a member."""

    def hear(self, frames: Iterable[tuple[int, bytes]]) -> list[Effect]:
        """Read the senders' addresses from frames, each with its port."""
        heard = self._places.into(self._member, frames)
        return for_fabric(self._bridge.ip_addresses.hear(heard))


class MemberTree(_OfMember):
    """Spanning tree on the ports of a member."""

    def hear_of_leaving(self) -> None:
        """Expect a report when BPDUs have been sent (`bpdus_left`)."""
        self._bridge.stp.hear_of_leaving()

    def bpdus_left(self, left: Iterable[tuple[int, int]], now: float) -> None:
        """Note BPDUs that were sent: (port, `SendFrame.bpdu`).  The fabric's `tick` may be due
        sooner."""
        self._bridge.stp.bpdus_left(self._places.into(self._member, left), now)

    def is_edge(self, port: int) -> bool:
        """Whether no other bridge is known behind the port."""
        number = self._places.number(self._member, port)
        return number is None or self._bridge.stp.is_edge(number)

    def states(self) -> dict[int, PortState] | None:
        """The states of the member's ports whose links are up; None without a tree."""
        states = self._bridge.stp.states()
        return None if states is None else dict(self._places.out(self._member, states.items()))

    def settled_on(
        self, believed: Mapping[int, PortState], actual: Mapping[int, PortState]
    ) -> bool:
        """Whether the member has the tree's port states.

        Ports of other members may have changed the tree meanwhile: that it is not stored says
        nothing about this member.
        """
        return self._bridge.stp.runs and believed == actual


class MemberLags(_OfMember):
    """Aggregations with ports at a member."""

    def __init__(self, bridge: Bridge, places: Places, ports: MemberPorts, member: int) -> None:
        super().__init__(bridge, places, member)
        self._ports = ports

    def has(self, name: str) -> bool:
        """Whether the switch's port of that name is in an aggregation."""
        return self._bridge.lags.has(self._ports.name(name))

    def members(self) -> dict[int, list[int]]:
        """The present ports of aggregations at the member, by the logical port."""
        members = self._bridge.lags.members().items()
        here = {lag: [*self._places.here(self._member, ports)] for lag, ports in members}
        return {lag: ports for lag, ports in here.items() if ports}

    def physical(self, ports: Iterable[Port]) -> list[Port]:
        """The switch's ports, those of links between members among them."""
        return self._ports.physical()

    def desired(self, params: BridgeParams) -> tuple[DesiredLag, ...]:
        """The parts of aggregations at the member."""
        parts = (self._places.lag_parts(lag) for lag in self._bridge.lags.desired(params))
        return tuple(part[self._member] for part in parts if self._member in part)


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
