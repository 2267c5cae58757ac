"""Where the ports of a fabric's bridge are: at which members, by which numbers of their switches.

An aggregation has its number of the bridge at every member that has a port of it by configuration.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import HoldDown
from ofapp.bridge.fabric.desired import FABRIC_PORT
from ofapp.bridge.fabric.params import FabricParams
from ofapp.bridge.fabric.view.numbering import LAST, Numbering, Place
from ofapp.bridge.lag.desired import DesiredLag
from ofapp.bridge.ports.port import MAX_PORTS


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
        self._leaving: dict[Place, None] = {}
        self.set_params(params)

    def set_params(self, params: FabricParams) -> None:
        """Take members that are new or gone, or have other names."""
        self.members = tuple(params.present)
        self._by_name = {member.name: at for at, member in params.present.items()}

    def put(self, member: int, port: int, name: str) -> int | None:
        """Return the bridge's number of a member's port; None if there is none left."""
        place = Place(member, port)
        if place in self._leaving:
            del self._leaving[place]
            if self.numbering.names(member).get(port) != name:
                self.numbering.drop(place)
        return self.numbering.put(place, name)

    def leave(self, member: int, port: int) -> None:
        """Take note that a port is gone.  It has its place until `settle`."""
        self._leaving[Place(member, port)] = None

    def settle(self) -> None:
        """Free the places of ports that are gone: effects of their end are split among members."""
        for place in self._leaving:
            self.numbering.drop(place)
        self._leaving.clear()

    def of(self, port: int) -> Sequence[Place]:
        """The places of a port; several of an aggregation, those of its first port first."""
        place = self.numbering.place(port)
        if place is not None:
            return (place,)
        if LAST < port <= MAX_PORTS:
            return [Place(member, port) for member in self._members_of(port)]
        return ()

    def homes(self, port: int) -> Sequence[Place]:
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
                homes = [each for each in places if each in used]
                others = homes if member == homes[0] else self.members
            shared[lag] = tuple(other for other in others if other != member)
        return shared

    def is_dark(self, lag: int, member: int) -> bool:
        """Whether no port of an aggregation at a member has carrier."""
        ports = self._bridge.lags.members().get(lag, [])
        here = (port for port in ports if any(place.member == member for place in self.of(port)))
        return not any(known.up for port in here if (known := self._bridge.lags.member(port)))

    def member_of(self, port: int) -> int | None:
        """The member to send frames to for hosts on a port: the first where they are reached."""
        return next((place.member for place in self.homes(port)), None)

    def at_home(self, member: int, port: int) -> bool:
        """Whether hosts on a port are reached at a member."""
        return any(place.member == member for place in self.homes(port))

    def on(self, member: int, port: int) -> int | None:
        """The number that a member's switch has for a port; None for another member's."""
        return next((place.number for place in self.of(port) if place.member == member), None)

    def number(self, member: int, port: int) -> int | None:
        """The bridge's number of a port of a member's switch, or of an aggregation there."""
        number = self.numbering.number(Place(member, port))
        return port if number is None and self.on(member, port) == port else number

    def frames(self, member: int, frames: Iterable[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
        """Frames, each with its port at a member, by the bridge's numbers; no others."""
        numbers = ((self.number(member, port), frame) for port, frame in frames)
        return [(number, frame) for number, frame in numbers if number is not None]

    def by_member(self, ports: Iterable[int]) -> dict[int, set[int]]:
        """Ports by member, by the numbers of its switch."""
        result: dict[int, set[int]] = defaultdict(set)
        for port in ports:
            for member, number in self.of(port):
                result[member].add(number)
        return result

    def towards(self, member: int, ports: Collection[int]) -> frozenset[int]:
        """A member's ports among these, and the port to other members if these have any."""
        at_home = [port for port in ports if self.at_home(member, port)]
        here = {number for port in at_home if (number := self.on(member, port)) is not None}
        elsewhere = self.partial or any(port not in at_home and self.of(port) for port in ports)
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
                collecting=self._here(member, lag.collecting),
                lacp=self._here(member, lag.lacp),
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

    def _here(self, member: int, ports: Iterable[int]) -> tuple[int, ...]:
        numbers = (self.on(member, port) for port in ports)
        return tuple(number for number in numbers if number is not None)

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
