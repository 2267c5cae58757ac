"""Which ports are links, and which links carry frames: decided after each change."""

from collections import Counter, defaultdict

from ofapp.bridge.effects import Effect
from ofapp.bridge.fabric.events import (
    LINK_DOWN,
    LINK_FLAPPING,
    LINK_MTU,
    LINK_MTU_CLEARED,
    LINK_UP,
    LINK_WRONG,
    LINK_WRONG_CLEARED,
)
from ofapp.bridge.fabric.links.cabling import EarlierLinks
from ofapp.bridge.fabric.links.known import Known
from ofapp.bridge.fabric.links.link import FLAPPING, FORGET, Damping, FabricLink
from ofapp.bridge.fabric.links.port import LinkPort
from ofapp.bridge.fabric.links.probe import ETHERNET
from ofapp.bridge.fabric.params import FabricParams
from ofapp.bridge.fabric.plans.graph import End, Graph
from ofapp.bridge.fabric.status import LinkState

REMEMBERED = 4096
"""Most links whose failures are remembered."""
RESTART = 0.1
"""Seconds from a failure to the first probe after it."""


class Review:
    """Ports and links.

    known: what is known of them; ports, links, connected: the same as those of `known`.
    seen: members that have been connected.  vocal: when a member last proved that it sends and
    reports probes.  counters: those of `Links`.
    earlier: links that an earlier controller has proven.
    """

    def __init__(self, params: FabricParams, counters: Counter[str], earlier: EarlierLinks) -> None:
        self.earlier = earlier
        self.known = Known(params)
        self.ports, self.links = self.known.ports, self.known.links
        self.connected = self.known.connected
        self.seen: set[int] = set()
        self.vocal: dict[int, float] = defaultdict(lambda: float("-inf"))
        self.set_params(params)
        self._counters = counters
        self._damping: dict[tuple[str, str], Damping] = {}
        self._graphs: tuple[Graph, Graph] | None = None
        self._admitted: frozenset[End] | None = None

    def changed(self) -> None:
        """Forget what was computed, as links, ports or connections have changed."""
        self._graphs = self._admitted = None

    def set_params(self, params: FabricParams) -> None:
        """Take changed parameters."""
        self._params = params
        self.known.set_params(params)
        self.earlier.keep({member.name for member in params.present.values()})
        self.changed()

    def connect(self, member: int, now: float) -> None:
        """Take note that a member can send and report probes."""
        self.connected.add(member)
        self.seen.add(member)
        self.vocal[member] = now
        self.earlier.connect(self._connected_names())
        self.changed()

    def disconnect(self, member: int) -> None:
        """Take note that a member cannot be reached."""
        self.connected.discard(member)
        self.changed()

    def forget(self, member: int) -> None:
        """Forget a member that is another one now."""
        self.disconnect(member)
        self.seen.discard(member)

    # Questions

    def sends(self, port: LinkPort) -> bool:
        """Whether a port sends probes: not where only a member that is not connected hears them."""
        link = self.links.get(port.end)
        return self.known.active(port) and (
            link is None or not link.carries or link.beyond(port).end.member in self.connected
        )

    def due(self, port: LinkPort) -> float | None:
        """When a port has something to do."""
        if not self.sends(port):
            return None
        link = self.links.get(port.end)
        free = None if link is None else link.free_at()
        return port.next if free is None else min(port.next, free)

    def is_calm(self, link: FabricLink) -> bool:
        """Whether a link carries frames, and another probe that has arrived changes nothing."""
        return link.state is LinkState.CARRIES and link.carries and not link.blocked

    def graphs(self) -> tuple[Graph, Graph]:
        """Return all members with the links that work, and with those that plans use.

        A link that waits for the end of its hold time works, and is better than none.  One that BFD
        reports as failed is in plans as long as no other leads there: the switches use it again by
        themselves when it is back.  It has to be the same cable, as another one may make a loop.
        """
        if self._graphs is None:
            values = {link.value(self.known.cost(link)): link for link in {*self.links.values()}}
            spare = {value: link for value, link in values.items() if link.same_cable}
            carry = tuple(sorted(value for value, link in values.items() if link.carries))
            works = Graph(tuple(self._params.present), carry)
            works = works.plus(
                works.joining(value for value, link in spare.items() if link.proven_at is not None)
            )
            used = works.plus(works.joining(spare))
            for value, link in values.items():
                link.needed = not link.carries and value in used.links
            self._graphs = works, used
        return self._graphs

    def admitted(self) -> frozenset[End]:
        """Ends by which frames of the fabric may come in: the cables that were proven.

        A port that has lost its carrier may have another cable, so the cable has to be proven
        again.  That cannot be done while the member at the other end is not connected; then the
        port is admitted all the same if another link leads to that member without interruption.
        So a member that was only cut off from the controller goes on sending by each cable, and
        what is plugged in instead of a member that is off sends nothing.
        """
        if self._admitted is None:
            links = {*self.links.values()}
            sure = {link for link in links if link.same_cable}
            cut_off = {port.end.member for link in sure for port in link.ports} - self.connected
            self._admitted = frozenset(
                port.end
                for link in links
                if link in sure or any(port.end.member in cut_off for port in link.ports)
                for port in link.ports
                if not port.fault
            ) | {
                port.end
                for port in self.ports.values()
                if port.name in self.earlier and not port.fault
            }
        return self._admitted

    def found(self) -> None:
        """Take note that links were looked for."""
        self.earlier.found(self._connected_names())
        self.changed()

    def proven(self) -> list[list[str]]:
        """The links whose ends are admitted, by the names of their ports."""
        ends = self.admitted()
        here = {
            (link.one.name, link.other.name)
            for link in self.links.values()
            if not ends.isdisjoint(port.end for port in link.ports)
        }
        return [[*pair] for pair in sorted(here | self.earlier.pairs())]

    def _connected_names(self) -> set[str]:
        return {self._params.members[member - 1].name for member in self.connected}

    def is_alone(self, member: int) -> bool:
        """Whether no connected member has a port with carrier that leads to this one, or may."""
        if member in self.connected:
            return False
        for end, link in self.links.items():
            if end.member == member and self.known.active(link.beyond(self.ports[end])):
                return False
        return member in self.seen or not any(
            self.known.may_lead_to(port, member) for port in self.ports.values()
        )

    # Decisions

    def port(self, port: LinkPort, now: float) -> list[Effect]:
        """Review a port and its link."""
        if port.end not in self.ports:
            return []
        effects = self._pair(port, now)
        fault = self.known.fault(port, now)
        if fault != port.fault:
            port.fault, self._admitted = fault, None
            effects += self._fault_event(port, now)
        link = self.links.get(port.end)
        if link is not None:
            effects += self._judge(link, now)
        state, _ = self.known.port_state(port, now)
        if state is not port.state:
            port.state, port.since = state, now
        return effects

    def part(self, port: LinkPort, why: str, now: float) -> list[Effect]:
        """Remove the link of a port."""
        link = self.links.get(port.end)
        if link is None:
            return []
        effects = self._fail(link, why, now) if link.carries else []
        for end in link.ports:
            del self.links[end.end]
        self.changed()
        return effects

    def _pair(self, port: LinkPort, now: float) -> list[Effect]:
        senders, receivers = self.known.neighbours(port, now)
        if len(senders) != 1 or senders != receivers:
            return []
        (end,) = senders
        other = self.ports[end]
        link = self.links.get(port.end)
        if link is not None and link.beyond(port) is other:
            return []
        alone = frozenset({port.end})
        if end.member == port.end.member or self.known.neighbours(other, now) != (alone, alone):
            return []
        effects = self.part(port, f"{port.name} is cabled to {other.name} now", now)
        effects += self.part(other, f"{other.name} is cabled to {port.name} now", now)
        for each in (port, other):
            each.new_cable()
        made = FabricLink(port, other, self._damping_of(port, other, now), now)
        self.links[port.end] = self.links[end] = made
        return effects

    def _judge(self, link: FabricLink, now: float) -> list[Effect]:
        effects = self._size_events(link)
        why = self.known.obstacle(link, now)
        if link.carries:
            if why:
                effects += self._fail(link, why, now)
        elif not why and self.known.is_proven(link, now):
            if link.proven_at is None:
                link.proven_at, link.same_cable = now, True
                self.changed()
            free = link.free_at()
            if free is not None and now >= free:
                link.carries, link.proven_at, link.reason = True, None, ""
                self.changed()
                text = f"link {_title(link)} carries frames"
                effects.append(LINK_UP.event(text, data=_data(link)))
        elif link.proven_at is not None:
            link.proven_at = None
            self.changed()
        if link.same_cable and self.known.is_changed(link):
            link.same_cable = False
            self.changed()
        state, _ = self.known.state(link, now)
        if state is not link.state:
            link.state, link.since = state, now
        return effects

    def _fail(self, link: FabricLink, why: str, now: float) -> list[Effect]:
        link.carries, link.reason = False, why
        self.changed()
        link.damping.fail(now)
        link.restart(now + RESTART)
        data = _data(link)
        text = f"link {_title(link)} carries no frames any more: {why}"
        effects: list[Effect] = [LINK_DOWN.event(text, data={**data, "reason": why})]
        if link.damping.streak >= FLAPPING:
            seconds = link.damping.hold(now)
            text = f"link {_title(link)} has failed {link.damping.streak} times"
            text += f"; it is used again {seconds:.0f} s after it is proven"
            effects.append(LINK_FLAPPING.event(text, data={**data, "seconds": seconds}))
        return effects

    def missed(self, port: LinkPort, now: float) -> list[LinkPort]:
        """Take note that a port's probe has not arrived; return ports that should send one too.

        These are the other end and one further link of each member: what arrives from them shows
        that the members can send and report.
        """
        link = self.links.get(port.end)
        if link is None or not link.carries:
            port.miss(now)
            return []
        members = {each.end.member for each in link.ports}
        port.miss(min(self.vocal[member] for member in members))
        witnesses = {
            end.member: self.ports[end]
            for end, other in self.links.items()
            if end.member in members and other is not link and other.carries
        }
        return [link.beyond(port), *witnesses.values()]

    def _fault_event(self, port: LinkPort, now: float) -> list[Effect]:
        if not port.event_pace.take(now):
            self._counters["unreported"] += 1
            return []
        if not port.fault:
            text = f"link port {port.name} has no wrong cable any more"
            return [LINK_WRONG_CLEARED.event(text, data={"one": port.name})]
        data = {"one": port.name, "reason": port.fault}
        return [LINK_WRONG.event(f"link port {port.name}: {port.fault}", data=data)]

    def _size_events(self, link: FabricLink) -> list[Effect]:
        ends = {"one": link.one.name, "other": link.other.name}
        if not link.blocked and any(port.blocked for port in link.ports):
            link.blocked = True
            size = {"mtu": self._params.link_mtu, "octets": self._params.link_mtu + ETHERNET}
            text = f"link {_title(link)}: {self.known.size_text(link)}"
            return [LINK_MTU.event(text, data={**ends, **size})]
        if link.blocked and not any(port.strikes for port in link.ports):
            link.blocked = False
            text = f"full-size frames pass link {_title(link)}"
            return [LINK_MTU_CLEARED.event(text, data=ends)]
        return []

    def _damping_of(self, port: LinkPort, other: LinkPort, now: float) -> Damping:
        one, two = sorted((port.name, other.name))
        if len(self._damping) >= REMEMBERED:
            used = {id(link.damping) for link in self.links.values()}
            for pair, known in [*self._damping.items()]:
                if id(known) not in used and now - known.at >= FORGET:
                    del self._damping[pair]
        return self._damping.setdefault((one, two), Damping())


def _title(link: FabricLink) -> str:
    return f"{link.one.name} - {link.other.name}"


def _data(link: FabricLink) -> dict[str, object]:
    return {"one": link.one.name, "other": link.other.name, "failures": link.damping.failures}
