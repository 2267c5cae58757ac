"""One aggregation: its members that are present, and the logical port that they make.

LACP decides which of them are used (`negotiation`).  A static aggregation (`lacp: off`) uses each
member whose link is up and which the switch calls live. Open vSwitch does not call a member of one
of its bonds live that its LACP has not enabled.

The numbers of logical ports: the same after a restart and after a reload.

Spanning tree numbers ports in 12 bits (802.1D-2004 9.2.7), so they come from the top of that range,
where switches number no ports.  `lag0` is 4095, `bond1` 4094: the number in a name counts down from
there, and a name without one is hashed.  Names with the same preference are numbered in the order
of the file; a running aggregation keeps its number.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from zlib import crc32

from ofapp.bridge.effects import SendFrame
from ofapp.bridge.effects.content import DesiredLag
from ofapp.bridge.lag.lacp import Actor
from ofapp.bridge.lag.negotiation import Negotiation
from ofapp.bridge.lag.params import LagParams
from ofapp.bridge.lag.status import LagStatus, MemberStatus, negotiated
from ofapp.bridge.pausable import PausableTime
from ofapp.bridge.ports.port import MAX_PORTS, Port

MOST = 512
"""Most aggregations of one bridge."""


def numbered(names: Iterable[str], taken: Mapping[str, int]) -> dict[str, int]:
    """A number for each name; taken: numbers that some of them have already.

    There are `MOST` numbers: further names get none.
    """
    wanted = list(names)
    numbers = {name: taken[name] for name in wanted if name in taken}
    used = set(numbers.values())
    for name in wanted:
        free = (MAX_PORTS - (_preferred(name) + step) % MOST for step in range(MOST))
        number = numbers.get(name) or next((number for number in free if number not in used), None)
        if number is not None:
            numbers[name] = number
            used.add(number)
    return {name: numbers[name] for name in wanted if name in numbers}


def _preferred(name: str) -> int:
    digits = re.search(r"\d+$", name)
    return (int(digits[0]) if digits else crc32(name.encode())) % MOST


SETTLE = 1.0
"""Seconds for which a member that was another port before is not used: the datapath may still
forward some of its frames as before (see `openflow.switch.queue.revalidation`)."""


@dataclass(slots=True)
class AggregationMember:
    """One member.  port: as the switch reports it; opens: the instant at which it may be used."""

    port: Port
    opens: float
    collecting: bool = False
    distributing: bool = False

    @property
    def unfit(self) -> bool:
        """Whether it is not to be used, although its link may be up."""
        return self.port.cut_off or self.port.one_way

    @property
    def link(self) -> bool:
        """Whether it could carry traffic."""
        return self.port.up and self.port.live and not self.unfit


class Aggregation:
    """One aggregation.  members: those that are present, by port number.

    reported: the logical port as the bridge knows it, None before it knows it; programmed: what was
    sent to the datapath.  `Aggregations` sets both.
    """

    def __init__(self, name: str, number: int, params: LagParams) -> None:
        self.name = name
        self.number = number
        self.params = params
        self.members: dict[int, AggregationMember] = {}
        self.negotiation: Negotiation | None = None
        self._partner: tuple[object, ...] | None = None  # when it was last of use
        self._left: list[AggregationMember] = []  # were reported as in use
        self.reported: Port | None = None
        self.programmed = DesiredLag(number, params.hash)

    def put(self, port: Port, opens: float) -> None:
        """Add a member or update it; opens: for a new one."""
        known = self.members.get(port.number)
        if known is None:
            self.members[port.number] = AggregationMember(port, opens)
        else:
            known.port = port

    def drop(self, number: int) -> None:
        """Remove a member."""
        gone = self.members.pop(number, None)
        if gone is not None and gone.distributing:
            gone.collecting = gone.distributing = False
            self._left.append(gone)

    def negotiate(self, address: int, time: float) -> list[SendFrame]:
        """Create, update or end the actor by the parameters; gives the last frames of an ended one.

        address: the system's, for a new actor; time: LACP's.
        """
        if self.params.lacp == "off":
            ended, self.negotiation = self.negotiation, None
            return [] if ended is None else ended.end(time)
        if self.negotiation is None:
            actor = Actor(self.name, self.params, address, self.number)
            self.negotiation = Negotiation(actor, self.number, self.params, {})
        self.negotiation.set_params(self.params, time)
        return []

    def decide(self, now: float, lacp: PausableTime) -> list[tuple[AggregationMember, bool]]:
        """Decide which members are used; gives those for which that changes, and whether they are
        used.  lacp: the time of the negotiation, which knows all members only once it runs."""
        does = self._static(now) if self.negotiation is None else self._negotiated(now, lacp)
        changed = [(gone, False) for gone in self._left]
        self._left = []
        for number, member in self.members.items():
            collecting, distributing = does.get(number, (False, False))
            if member.distributing is not distributing:
                changed.append((member, distributing))
            member.collecting, member.distributing = collecting, distributing
        return changed

    def _static(self, now: float) -> dict[int, tuple[bool, bool]]:
        ready = [member for member in self._ordered() if member.link and now >= member.opens]
        return {m.port.number: (True, True) for m in ready[: self.params.max_links]}

    def _negotiated(self, now: float, lacp: PausableTime) -> Mapping[int, tuple[bool, bool]]:
        assert self.negotiation is not None
        # One that is cut off or one-way is removed, so that its partner hears at once that it is
        # not used.
        there = (m for m in self.members.values() if not m.unfit)
        links = [(m.port, m.link and now >= m.opens) for m in there]
        self.negotiation.follow(links, lacp.runs, lacp.at(now))
        return self.negotiation.actor.members

    def next_wakeup(self, now: float) -> float | None:
        """When to decide again, None when nothing changes by itself."""
        return min((m.opens for m in self.members.values() if m.opens > now), default=None)

    def logical(self) -> Port | None:
        """The logical port; None while no member is present."""
        members = self._ordered()
        if not members:
            return None
        used = [member.port for member in members if member.distributing]
        enough = len(used) >= self.params.min_links
        if self.negotiation is not None:
            enough = bool(used) and self.negotiation.actor.up
            if enough:
                self._partner = self.negotiation.actor.partner
        return Port(
            self.number,
            self.name,
            members[0].port.mac,
            enough,
            sum(port.speed_mbps for port in used),
            all(port.full_duplex for port in used),
            partner=None if self.negotiation is None else self._partner,
        )

    def desired(self) -> DesiredLag:
        """Return the desired state of the datapath."""
        by_name = {member.port.name: member for member in self._ordered()}
        places = tuple(
            by_name[name].port.number if name in by_name and by_name[name].distributing else 0
            for name in self.params.members
        )
        return DesiredLag(
            self.number,
            self.params.hash,
            places if any(places) else (),
            tuple(member.port.number for member in by_name.values() if member.collecting),
            () if self.params.lacp == "off" else tuple(m.port.number for m in by_name.values()),
        )

    def nothing(self) -> DesiredLag:
        """Return the desired state after the aggregation was removed."""
        return DesiredLag(self.number, self.params.hash)

    def status(self, now: float) -> LagStatus:
        """The aggregation's status."""
        by_name = {member.port.name: member for member in self.members.values()}
        port = self.logical()
        status = LagStatus(
            self.name,
            self.number,
            self.params.lacp,
            self.params.hash,
            port is not None and port.up,
            0 if port is None else port.speed_mbps,
            self.params.min_links,
            tuple(_status(name, by_name.get(name), now) for name in self.params.members),
        )
        return status if self.negotiation is None else negotiated(status, self.negotiation.actor)

    def _ordered(self) -> list[AggregationMember]:
        """The members in the order of the configuration."""
        place = {name: at for at, name in enumerate(self.params.members)}
        return sorted(self.members.values(), key=lambda member: place[member.port.name])


def _status(name: str, member: AggregationMember | None, now: float) -> MemberStatus:
    if member is None:
        return MemberStatus(name, None, False, 0, "away", "There is no such port.", False, False)
    port = member.port
    state, reason = _state(member, now)
    return MemberStatus(
        *(name, port.number, member.link, port.speed_mbps),
        *(state, reason, member.collecting, member.distributing),
    )


def _state(member: AggregationMember, now: float) -> tuple[str, str]:
    """The state of a static member, and why it is not used."""
    if member.distributing:
        return "distributing", ""
    if not member.port.up:
        return "down", "The link is down."
    if not member.port.live:
        return "down", "The switch does not report it live: the switch's LACP has not enabled it."
    if member.port.one_way:
        return "down", "Its link passes frames in one direction alone: see `ofapp lldp links`."
    if member.port.cut_off:
        return "standby", "It stands by: its switch does not reach most members of the fabric."
    if now < member.opens:
        return "waiting", "It was another port a moment ago."
    return "standby", "It stands by: as many members are in use as max_links says."
