"""Where the ports of a fabric's bridge are: at which members, by which numbers of their switches.

An aggregation has its number of the bridge at every member that has a port of it by configuration.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import HoldDown
from ofapp.bridge.effects.content import DesiredLag
from ofapp.bridge.effects.fabric import FABRIC_PORT
from ofapp.bridge.fabric.params import FabricParams
from ofapp.bridge.fabric.state.numbering import LAST, MemberPort, Numbering
from ofapp.bridge.ports.port import MAX_PORTS

T = TypeVar("T")


class Places:
    """Places of the bridge's ports.

    members: numbers of members.
    partial: which ports other members have in multicast entries is not known yet, so all entries
    lead to them.
    """

    def __init__(self, params: FabricParams, bridge: Bridge) -> None:
        self.numbering = Numbering(len(params.members))
        self.partial = False
        self._bridge = bridge
        self._leaving: dict[MemberPort, None] = {}
        self.set_params(params)

    def set_params(self, params: FabricParams) -> None:
        """Take members that are new or gone, or have other names."""
        self.members = tuple(params.present)
        self._by_name = {member.name: at for at, member in params.present.items()}

    def put(self, member: int, port: int, name: str) -> int | None:
        """Return the bridge's number of a member's port; None if there is none left."""
        place = MemberPort(member, port)
        if place in self._leaving:
            del self._leaving[place]
            if self.numbering.names(member).get(port) != name:
                self.numbering.drop(place)
        return self.numbering.put(place, name)

    def leave(self, member: int, port: int) -> None:
        """Take note that a port is gone.  It has its place until `settle`."""
        self._leaving[MemberPort(member, port)] = None

    def settle(self) -> None:
        """Free the places of ports that are gone: effects of their end are split among members."""
        for place in self._leaving:
            self.numbering.drop(place)
        self._leaving.clear()

    def of(self, port: int) -> Sequence[MemberPort]:
        """The places of a port; several of an aggregation, those of its first port first."""
        place = self.numbering.place(port)
        if place is not None:
            return (place,)
        if LAST < port <= MAX_PORTS:
            return [MemberPort(member, port) for member in self._members_of(port)]
        return ()

    def attachments(self, port: int) -> Sequence[MemberPort]:
        """The places where hosts on a port are reached.

        These are the members with ports in use of an aggregation, or all while no port is.
        """
        places = self.of(port)
        if len(places) < 2:
            return places
        used = self._members_in_use(port)
        return [place for place in places if place.member in used] or places

    def shared(self, member: int) -> dict[int, tuple[int, ...]]:
        """Aggregations that a member and others have ports of.

        Each has the members whose flooded frames do not leave by it here.  A member with ports in
        use of an aggregation sends there what enters at it; the first of these members also what
        enters at others.
        """
        shared: dict[int, tuple[int, ...]] = {}
        for lag in sorted(self._bridge.lags.numbers):
            places = [place.member for place in self.of(lag)]
            if len(places) < 2 or member not in places:
                continue
            used = self._members_in_use(lag)
            others: Iterable[int] = ()
            if member in used:
                sending = [each for each in places if each in used]
                others = sending if member == sending[0] else self.members
            shared[lag] = tuple(other for other in others if other != member)
        return shared

    def has_no_carrier(self, lag: int, member: int) -> bool:
        """Whether no port of an aggregation at a member has carrier."""
        ports = self._bridge.lags.members().get(lag, [])
        here = (port for port in ports if any(place.member == member for place in self.of(port)))
        return not any(known.up for port in here if (known := self._bridge.lags.member(port)))

    def member_of(self, port: int) -> int | None:
        """The member to send frames to for hosts on a port: the first where they are reached."""
        return next((place.member for place in self.attachments(port)), None)

    def is_attached(self, member: int, port: int) -> bool:
        """Whether hosts on a port are reached at a member."""
        return any(place.member == member for place in self.attachments(port))

    def on(self, member: int, port: int) -> int | None:
        """The number that a member's switch has for a port; None for another member's."""
        return next((place.number for place in self.of(port) if place.member == member), None)

    def number(self, member: int, port: int) -> int | None:
        """The bridge's number of a port of a member's switch, or of an aggregation there."""
        number = self.numbering.number(MemberPort(member, port))
        return port if number is None and self.on(member, port) == port else number

    def into(self, member: int, pairs: Iterable[tuple[int, T]]) -> list[tuple[int, T]]:
        """What came by ports of a member, by the bridge's numbers; without unknown ports."""
        numbers = ((self.number(member, port), value) for port, value in pairs)
        return [(number, value) for number, value in numbers if number is not None]

    def out(self, member: int, pairs: Iterable[tuple[int, T]]) -> list[tuple[int, T]]:
        """What is of ports of the bridge, by a member's numbers; without ports of others."""
        numbers = ((self.on(member, port), value) for port, value in pairs)
        return [(number, value) for number, value in numbers if number is not None]

    def here(self, member: int, ports: Iterable[int]) -> tuple[int, ...]:
        """Ports of the bridge that a member has, by its numbers."""
        numbers = (self.on(member, port) for port in ports)
        return tuple(number for number in numbers if number is not None)

    def by_member(self, ports: Iterable[int]) -> dict[int, set[int]]:
        """Ports by member, by the numbers of its switch."""
        result: dict[int, set[int]] = defaultdict(set)
        for port in ports:
            for member, number in self.of(port):
                result[member].add(number)
        return result

    def towards(self, member: int, ports: Collection[int]) -> frozenset[int]:
        """A member's ports among these, and the port to other members if these have any."""
        attached = [port for port in ports if self.is_attached(member, port)]
        here = {number for port in attached if (number := self.on(member, port)) is not None}
        elsewhere = self.partial or any(port not in attached and self.of(port) for port in ports)
        return frozenset(here | ({FABRIC_PORT} if elsewhere else set()))

    def lag_parts(self, lag: DesiredLag) -> dict[int, DesiredLag]:
        """Parts of an aggregation at the members that have ports of it."""
        ports = {*lag.members, *lag.collecting, *lag.lacp} - {0}
        parts: dict[int, DesiredLag] = {}
        for member in sorted({place.member for port in ports for place in self.of(port)}):
            places = tuple(self.on(member, port) or 0 for port in lag.members)
            parts[member] = replace(
                lag,
                members=places if any(places) else (),
                collecting=self.here(member, lag.collecting),
                lacp=self.here(member, lag.lacp),
            )
        return parts

    def hold(self, member: int, held: HoldDown) -> HoldDown:
        """An address that is held down, as a member has it: other ports are beyond the fabric."""
        port, elsewhere = (self.on(member, port) for port in (held.port, held.elsewhere))
        return replace(held, port=port or FABRIC_PORT, elsewhere=elsewhere or FABRIC_PORT)

    def of_name(self, name: str) -> int | None:
        """The member in whose port's name this is, as in `s1/eth0`."""
        member, slash, _ = name.partition("/")
        return self._by_name.get(member) if slash else None

    def _members_in_use(self, lag: int) -> set[int]:
        ports = self._bridge.lags.in_use(lag)
        return {place.member for port in ports for place in self.of(port)}

    def _members_of(self, lag: int) -> list[int]:
        """Members with ports of an aggregation by configuration; all for one that was removed."""
        names = self._bridge.lags.configured(lag)
        if names is None:
            return [*self.members]
        members = (self.of_name(name) for name in names)
        return [*dict.fromkeys(member for member in members if member is not None)]
