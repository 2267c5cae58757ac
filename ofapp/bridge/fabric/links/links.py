"""All link ports of a fabric, and the links between them.

A port sends probes.  Two ports of different members that hear each other, and no others, are a
link.  It carries frames once three full-size probes, one after another, have arrived in each
direction; after a failure only when it has stayed proven for a hold time (`damping`).  All
further probes have the full size, too: an MTU that is lowered is noticed within 12 s.

A probe is followed by the next one when the controller has seen it arrive: soon while the link is
being proven, after `REST` seconds while it carries frames.  Carrier and BFD are the switches'
matter, which repair by themselves.  Probes find what these do not: frames that vanish silently in
one direction, or at one size only, and cables that were changed.  A link that carries frames is
given up after four missed probes, but only if both members have proven meanwhile that they can send
and report: a busy switch or a slow connection to it is no failed cable.

Links of a member that the controller cannot reach stay as they are while the other end has carrier.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice

from ofapp.bridge.effects import Effect, OnMember, SendFrame
from ofapp.bridge.fabric.events import LINK_FORGED
from ofapp.bridge.fabric.links import known, probe
from ofapp.bridge.fabric.links.cabling import EarlierLinks, Pair
from ofapp.bridge.fabric.links.port import FRESH, LONGEST, TIMEOUT, Flight, LinkPort
from ofapp.bridge.fabric.links.probe import Probe, Refusal
from ofapp.bridge.fabric.links.review import Review
from ofapp.bridge.fabric.params import FabricParams
from ofapp.bridge.fabric.plans.graph import End, Graph
from ofapp.bridge.fabric.status import LinkStatus
from ofapp.bridge.lldp.own import OwnAgents
from ofapp.bridge.ports.port import Port
from ofapp.common.deadlines import Deadlines

REST = 5.0
"""Seconds between the probes of one direction of a link that carries frames; up to a tenth less."""
PROVING, PROVEN, FAULTY = 0.1, 0.5, 2.0
"""The same while it is being proven, while it waits for the other direction or its hold time, and
while something is wrong with it."""
LATE = 0.3
"""Seconds of delay of the controller after which a missing probe may still wait to be read."""
PORTION, GAP = 64, 0.05
"""Most probes in one call of `tick`, and the least seconds to the next one if more are due."""
COUNTED = ("sent", "received", "malformed", "forged", "foreign", "stale", "replayed", "unreported")
"""Counters of probes; unreported: events left out by their rate limit."""


class Links:
    """The links of a fabric."""

    def __init__(
        self,
        params: FabricParams,
        agents: OwnAgents,
        proven: Iterable[Pair] = (),
    ) -> None:
        """agents: have the key by which probes are signed; proven: as an earlier controller had."""
        self.counters: Counter[str] = Counter(dict.fromkeys(COUNTED, 0))
        self._params = params
        self._agents = agents
        self._review = Review(params, self.counters, EarlierLinks(proven))
        self._ports = self._review.ports
        self._links = self._review.links
        self._flights: dict[int, Flight] = {}  # by serial number, the oldest first
        self._deadlines: Deadlines[End] = Deadlines()
        self._free_at = float("-inf")  # when `tick` may send again

    # Inputs

    def put_ports(self, member: int, ports: Iterable[Port], now: float) -> list[Effect]:
        """Take link ports of a member that are new or have changed."""
        effects: list[Effect] = []
        self._review.changed()
        for port in ports:
            end, name = End(member, port.number), self._name(member, port)
            if not port.up:
                self._review.earlier.doubt(name)
            known = self._ports.get(end)
            if known is not None and known.name != name:
                effects += self.remove_ports(member, [port.number], now)
                known = None
            if known is None:
                self._ports[end] = known = LinkPort(end, port, name, now)
                near = {known}
            else:
                had, known.port = known.carrier, port
                near = {known} if known.carrier == had else self._detach(known, now)
            effects += self._after(near, now)
        return effects

    def remove_ports(self, member: int, numbers: Iterable[int], now: float) -> list[Effect]:
        """Remove ports that are gone, or are no link ports any more."""
        effects: list[Effect] = []
        for number in numbers:
            port = self._ports.get(End(member, number))
            if port is not None:
                near = self._detach(port, now) - {port}
                effects += self._review.part(port, f"{port.name} is no link port any more", now)
                del self._ports[port.end]
                self._deadlines.set(port.end, None)
                effects += self._after(near, now)
        return effects

    def connected(self, member: int, now: float) -> list[Effect]:
        """Take note that a member can send and report probes."""
        if member in self._review.connected:
            return []
        self._review.connect(member, now)
        near = self._of_member(member)
        for port in [*near]:
            port.restart(now)
            if (link := self._links.get(port.end)) is not None:
                near.add(link.beyond(port))
                link.restart(now)
        return self._after(near, now)

    def disconnected(self, member: int, now: float) -> list[Effect]:
        """Take note that a member cannot be reached."""
        self._review.disconnect(member)
        near = {each for port in self._of_member(member) for each in self._detach(port, now)}
        return self._after(near, now)

    def set_params(self, params: FabricParams, now: float) -> list[Effect]:
        """Take changed parameters; members that are others now are removed until they connect."""
        old, self._params = self._params, params
        effects: list[Effect] = []
        for number, member in old.present.items():
            new = params.present.get(number)
            if new is None or (new.name, new.datapath_id) != (member.name, member.datapath_id):
                gone = [end.port for end in self._ports if end.member == number]
                effects += self.remove_ports(number, gone, now)
                self._review.forget(number)
        self._review.set_params(params)
        if params.link_mtu != old.link_mtu or params.number != old.number:
            for port in self._ports.values():
                port.check_size(now)
        return effects + self._after(set(self._ports.values()), now)

    def hear(self, member: int, frames: Sequence[tuple[int, bytes]], now: float) -> list[Effect]:
        """Take probes that a member has received, each with the port of its switch."""
        effects: list[Effect] = []
        for number, frame in frames:
            port = self._ports.get(End(member, number))
            if port is None or not self._review.known.active(port):
                continue
            self.counters["received"] += 1
            heard = probe.read(frame, self._agents)
            if isinstance(heard, Probe):
                effects += self._take(port, heard, now)
            else:
                effects += self._refuse(port, heard, now)
        return effects

    def tick(self, now: float) -> list[Effect]:
        """Send probes, and give up links whose probes do not arrive."""
        self._drop_flights(now)
        if now < self._free_at:
            return []
        effects: list[Effect] = []
        ran = 0
        for end in islice(self._deadlines.expired(now), PORTION):
            effects += self._run(self._ports[end], now)
            ran += 1
        if ran == PORTION:
            self._free_at = now + GAP
        return effects

    def next_wakeup(self) -> float | None:
        """When `tick` is due; None: after the next input."""
        due = self._deadlines.next()
        return None if due is None else max(due, self._free_at)

    # Results

    def graph(self) -> Graph:
        """All members, and the links that plans use."""
        return self._review.graphs()[1]

    def working(self) -> Graph:
        """All members, and the links that work: plans may use others where there is none."""
        return self._review.graphs()[0]

    def admitted(self) -> frozenset[End]:
        """Ends of proven cables, by which frames of the fabric may come in."""
        return self._review.admitted()

    def proven(self) -> list[list[str]]:
        """The same by names of ports, as pairs: `proven` of the next controller."""
        return self._review.proven()

    def found(self) -> None:
        """Take note that the first plan is made: what was proven before counts no more."""
        self._review.found()

    def status(self, now: float) -> tuple[LinkStatus, ...]:
        """The links, then the ports without one, then cables of the file without such ports."""
        return known.status(self._review.known, self._params, now)

    def ports(self) -> dict[str, End]:
        """All link ports by their names, as in `s1/eth1`."""
        return {port.name: end for end, port in self._ports.items()}

    def cables(self) -> list[tuple[End, End]]:
        """The ends of each link that have carrier, whether it is proven or not."""
        links = {*self._links.values()}
        return sorted(
            (link.one.end, link.other.end)
            for link in links
            if all(port.port.up for port in link.ports)
        )

    def is_alone(self, member: int) -> bool:
        """Whether no reachable member has a link to this one with carrier.

        A member that has not been connected yet may be behind any port with carrier that hears no
        other member.
        """
        return self._review.is_alone(member)

    # Inside

    def _name(self, member: int, port: Port) -> str:
        return f"{self._params.members[member - 1].name}/{port.name}"

    def _of_member(self, member: int) -> set[LinkPort]:
        return {port for end, port in self._ports.items() if end.member == member}

    def _detach(self, port: LinkPort, now: float) -> set[LinkPort]:
        """Forget what a port has heard and where it was heard; return all ports concerned."""
        near = {port}
        for end in {*port.hears, *port.heard_at}:
            other = self._ports.get(end)
            if other is not None:
                other.hears.forget(port.end)
                other.heard_at.forget(port.end)
                near.add(other)
        port.hears.clear()
        port.heard_at.clear()
        port.stranger = ("", 0.0)
        port.restart(now)
        if (link := self._links.get(port.end)) is not None:
            near.add(link.beyond(port))
            link.restart(now)
        return near

    def _after(self, ports: Iterable[LinkPort], now: float) -> list[Effect]:
        """Review ports and their links, and set their timers."""
        effects: list[Effect] = []
        in_order = sorted(ports, key=lambda port: port.end)
        for port in in_order:
            effects += self._review.port(port, now)
        for port in in_order:
            self._schedule(port)
        return effects

    def _take(self, port: LinkPort, heard: Probe, now: float) -> list[Effect]:
        if heard.fabric != self._params.number:
            text = f"it is cabled to fabric {heard.fabric} of this controller"
            return self._stranger(port, text, now)
        flight = self._flights.get(heard.serial)
        sender = self._ports.get(heard.sender)
        if flight is None or sender is None or flight.sender != heard.sender:
            self.counters["stale"] += 1
            return []
        if flight.epoch != sender.epoch or now - flight.at > FRESH:
            self.counters["stale"] += 1
            return []
        if port.end in flight.heard_at:
            self.counters["replayed"] += 1
            return []
        flight.heard_at.add(port.end)
        vocal = self._review.vocal
        vocal[port.end.member] = now
        vocal[sender.end.member] = max(vocal[sender.end.member], flight.at)
        new = port.hears.note(sender.end, now)
        new |= sender.heard_at.note(port.end, now)
        link = self._links.get(sender.end)
        if new and not self._carries(port):
            port.missed = 0
            port.soon(max(now, port.sent_at + PROVING))
        if sender.arrived(flight, now):
            sender.next = max(now, flight.at + self._interval(sender))
        if new or link is None or not self._review.is_calm(link):
            return self._after({port, sender}, now)
        self._schedule(sender)
        return []

    def _refuse(self, port: LinkPort, why: Refusal, now: float) -> list[Effect]:
        self.counters[why.value] += 1
        if why is Refusal.FOREIGN:
            return self._stranger(port, "it is cabled to a fabric of another controller", now)
        if why is not Refusal.FORGED:
            return []
        port.forged += 1
        if not port.forged_pace.take(now):
            self.counters["unreported"] += 1
            return []
        data = {"one": port.name, "frames": port.forged}
        return [LINK_FORGED.event(f"link port {port.name} received a forged probe", data=data)]

    def _stranger(self, port: LinkPort, text: str, now: float) -> list[Effect]:
        port.stranger = (text, now)
        return self._after({port}, now)

    def _run(self, port: LinkPort, now: float) -> list[Effect]:
        effects: list[Effect] = []
        due = port.next <= now and self._review.sends(port)
        flight = port.waiting
        if due and flight is not None and flight.at + port.timeout <= now < port.next + LATE:
            for witness in self._review.missed(port, now):
                witness.soon(max(now, witness.sent_at + TIMEOUT))
                self._schedule(witness)
        link = self._links.get(port.end)
        if flight is not None or link is None or not self._review.is_calm(link):
            effects += self._review.port(port, now)
        if due and self._review.sends(port):
            effects.append(self._send(port, now))
        self._schedule(port)
        if (link := self._links.get(port.end)) is not None:
            self._schedule(link.beyond(port))
        return effects

    def _send(self, port: LinkPort, now: float) -> Effect:
        link, carries = self._links.get(port.end), self._carries(port)
        full = link is not None and not port.lost_full
        flight = Flight(port.end, port.epoch, now, full)
        serial = self._agents.serial()
        self._flights[serial] = flight
        port.sent(flight)
        pause = port.timeout if carries else min(port.timeout * 2.0 ** min(port.missed, 8), LONGEST)
        port.next = now + pause
        self.counters["sent"] += 1
        octets = self._params.link_mtu if full else 0
        frame = probe.write(
            Probe(self._params.number, port.end, octets, serial), port.port.mac, self._agents
        )
        return OnMember(port.end.member, SendFrame(frozenset({port.end.port}), frame))

    def _interval(self, port: LinkPort) -> float:
        """Seconds from a probe that has arrived to the next one."""
        link = self._links.get(port.end)
        if port.fault:
            return FAULTY
        if link is None:
            return PROVEN
        if link.carries:
            return REST * (1 - 0.1 * port.spread) if not port.strikes else PROVEN
        if link.blocked:
            return FAULTY
        return PROVEN if port.proven else PROVING

    def _carries(self, port: LinkPort) -> bool:
        link = self._links.get(port.end)
        return link is not None and link.carries

    def _schedule(self, port: LinkPort) -> None:
        self._deadlines.set(port.end, self._review.due(port))

    def _drop_flights(self, now: float) -> None:
        flights = self._flights
        while flights:
            serial = next(iter(flights))
            if now - flights[serial].at <= FRESH:
                return
            del flights[serial]
