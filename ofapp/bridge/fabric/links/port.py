"""State of one link port: its probes under way, and the ports that it hears."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from ofapp.bridge.fabric.plans.graph import End
from ofapp.bridge.fabric.status import LinkState
from ofapp.bridge.fdb.pace import EventPace
from ofapp.bridge.ports.port import Port

FRESH = 2.0
"""Seconds for which a probe that was sent may arrive."""
PROOF = 3
"""Full-size probes that have to arrive one after another until a direction is proven."""
TIMEOUT, LONGEST = 0.5, 4.0
"""Seconds until a probe is missed; the longest pause before the next one where none arrives."""
SILENT = 4
"""Probes missed one after another after which a link has failed."""
BLOCKED = 4
"""Full-size probes missed, with a small one that arrived after each, that show a small MTU."""
EVENTS, FORGED_EVENTS, PERIOD = 10, 1, 60.0
"""Most events of one port about its cable, and about forged probes, in so many seconds."""
LIFE = 12.5
"""Seconds for which a port counts that is not heard any more: more than two probes at rest."""
_GOLDEN = 0.618034


class Neighbours:
    """Ports with the instants when they were first and last heard."""

    __slots__ = ("_spans",)

    def __init__(self) -> None:
        self._spans: dict[End, tuple[float, float]] = {}

    def __iter__(self) -> Iterator[End]:
        return iter([*self._spans])

    def note(self, end: End, now: float) -> bool:
        """Take note that a port was heard; whether it was not there before."""
        first, last = self._spans.get(end, (now, now))
        new = now - last > LIFE or end not in self._spans
        self._spans[end] = (now if new else first, now)
        return new

    def forget(self, end: End) -> None:
        """Forget a port."""
        self._spans.pop(end, None)

    def clear(self) -> None:
        """Forget all."""
        self._spans.clear()

    def newest(self, now: float) -> float:
        """When the newest port was first heard; forgets those that are not heard any more."""
        for end in [end for end, (_, last) in self._spans.items() if now - last > LIFE]:
            del self._spans[end]
        return max((first for first, _ in self._spans.values()), default=0.0)

    def since(self, instant: float) -> frozenset[End]:
        """Ports that were heard at this instant or later.

        A port that was heard last before the newest one appeared is no neighbour: a cable was
        moved.  One that is still heard afterwards is: there is a hub.
        """
        return frozenset(end for end, (_, last) in self._spans.items() if last >= instant)


@dataclass(slots=True, eq=False)
class Flight:
    """A probe that was sent.

    epoch: the sender's, which changes when what was sent before proves nothing any more.
    heard_at: ports that have heard it; each copy after the first proves nothing.
    """

    sender: End
    epoch: int
    at: float
    full: bool
    heard_at: set[End] = field(default_factory=set)


class LinkPort:
    """A link port.

    name: as in `s1/eth1`; carrier: the switch forwards by it.
    hears, heard_at: ports of the fabric whose probes arrive here, and where its own arrive.
    stranger: why a probe that arrived is of no port of the fabric, and when that was.
    next: when the next probe is due.
    round_trip: seconds from the controller to the controller, of the last probe that arrived.
    missed: probes that did not arrive since the last that did, and the first one's instant; lost:
    those that the cable has lost, as nothing else can have.
    full_passed: full-size ones that have arrived, one after another.
    strikes: how often a full-size one did not arrive, and then a small one did, since a full-size
    one last arrived; unsized: the first half of one more has happened.
    lost_full: the last one was a full-size one that did not arrive, so a small one is next.
    fault: what is wrong with its cable, as last reported.
    state: the last one, since `since`, while it is no end of a link.
    """

    __slots__ = (
        *("end", "epoch", "event_pace", "fault", "first_missed", "forged", "forged_pace"),
        *("full_passed", "heard_at", "hears", "lost", "lost_full", "missed", "name"),
        *("next", "port", "round_trip", "sent_at", "since", "spread", "state"),
        *("stranger", "strikes", "unsized", "waiting"),
    )

    def __init__(self, end: End, port: Port, name: str, now: float) -> None:
        self.end, self.port, self.name = end, port, name
        self.hears, self.heard_at = Neighbours(), Neighbours()
        self.stranger = ("", 0.0)
        self.event_pace = EventPace(EVENTS, PERIOD)
        self.forged_pace = EventPace(FORGED_EVENTS, PERIOD)
        self.forged = 0
        self.fault = ""
        self.epoch = 0
        self.round_trip = 0.0
        self.state = LinkState.PROBING
        self.since = self.sent_at = now
        self.spread = (end.member * 31 + end.port) * _GOLDEN % 1
        self.new_cable()
        self.restart(now)

    @property
    def carrier(self) -> bool:
        """Whether the switch forwards by it: it has carrier, and BFD, if used, does not object."""
        return self.port.up and self.port.live

    @property
    def blocked(self) -> bool:
        """Whether full-size frames do not leave by it, or not arrive, where small ones do."""
        return self.strikes >= BLOCKED

    @property
    def proven(self) -> bool:
        """Whether enough full-size probes have arrived at the other end."""
        return self.full_passed >= PROOF

    def restart(self, at: float) -> None:
        """Begin to prove it again; what was sent before counts no more."""
        self.epoch += 1
        self.waiting: Flight | None = None
        self.next = at
        self.missed = self.lost = 0
        self.first_missed = at
        self.full_passed = 0

    def soon(self, at: float) -> None:
        """Send at this instant, if nothing is due before."""
        self.next = min(self.next, at)

    def new_cable(self) -> None:
        """Forget which sizes have passed, as it has another neighbour."""
        self.strikes, self.unsized, self.lost_full = 0, False, False

    def check_size(self, now: float) -> None:
        """Send a full-size probe soon, as the size is another one."""
        self.full_passed = 0
        self.soon(now)

    def sent(self, flight: Flight) -> None:
        """Take note of a probe; without an answer the next one follows after a while."""
        self.waiting, self.sent_at, self.lost_full = flight, flight.at, False

    def miss(self, vocal: float) -> None:
        """Take note that the last probe has not arrived.

        vocal: when both members last proved that they can send and report.  Without such a proof
        since the probe was sent, it says nothing of the cable.
        """
        flight, self.waiting = self.waiting, None
        assert flight is not None
        if not self.missed:
            self.first_missed = flight.at
        self.missed += 1
        self.lost += vocal >= flight.at
        self.full_passed = 0
        self.lost_full = flight.full
        self.unsized |= flight.full

    @property
    def timeout(self) -> float:
        """Seconds until a probe is missed: longer where the controller hears of them late."""
        return min(max(TIMEOUT, 2 * self.round_trip), FRESH)

    def arrived(self, flight: Flight, now: float) -> bool:
        """Take note that a probe has arrived; whether it is the last one."""
        self.round_trip = now - flight.at
        self.missed = self.lost = 0
        if flight.full:
            self.new_cable()
            self.full_passed += 1
        elif self.unsized:
            self.strikes += 1
            self.unsized = False
        last = flight is self.waiting
        if last:
            self.waiting = None
        return last
