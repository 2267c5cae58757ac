"""A world of members and cables in virtual time, which carries the frames of `Links`."""

import heapq
import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ofapp.bridge.effects import Effect, OnMember, SendFrame
from ofapp.bridge.event import Event
from ofapp.bridge.fabric.links import Links
from ofapp.bridge.fabric.params import FabricParams, MemberParams
from ofapp.bridge.fabric.plans.graph import End
from ofapp.bridge.fabric.status import LinkState, LinkStatus
from ofapp.bridge.lldp.own import OwnAgents
from ofapp.bridge.ports.port import Port

LATENCY = 0.004
"""Seconds from the controller by two switches to the controller."""
ETHERNET = 14


def params(
    members: int,
    cables: Iterable[tuple[str, str]] = (),
    costs: dict[str, int] | None = None,
    mtu: int = 1500,
    number: int = 7,
) -> FabricParams:
    """Members s1, s2, ... with link ports eth1, eth2, ..."""
    each = tuple(MemberParams(f"s{at}", at, ("eth*",)) for at in range(1, members + 1))
    return FabricParams("fabric", number, each, tuple(cables), costs or {}, mtu)


@dataclass
class Cable:
    """A cable, or a hub if it has more than two ends.

    mtu: of what it carries; deaf: ends that receive nothing; lost: whether to lose a frame.
    """

    ends: tuple[End, ...]
    mtu: int = 9000
    deaf: set[End] = field(default_factory=set)
    lost: Callable[[], bool] = lambda: False


class World:
    """Members with `ports` link ports each, all connected; a port has carrier if it has a cable."""

    def __init__(self, members: int, ports: int = 4, given: FabricParams | None = None) -> None:
        self.params = given or params(members)
        self.agents = OwnAgents(b"a secret key")
        self.links = Links(self.params, self.agents)
        self.now = 100.0
        self.latency = LATENCY
        self.ports = {End(m, p) for m in range(1, members + 1) for p in range(1, ports + 1)}
        self.connected = set(range(1, members + 1))
        self.cables: list[Cable] = []
        self.bfd_down: set[End] = set()
        self.mute: set[int] = set()  # members whose connection has stopped without an end
        self.events: list[Event] = []
        self.sent: list[tuple[float, End, bytes]] = []
        self._waiting: list[tuple[float, int, End, bytes]] = []
        self._count = itertools.count()
        self.carrier: dict[End, bool] = {}
        for member in sorted(self.connected):
            self.put(member)
            self.take(self.links.connected(member, self.now))

    # What happens

    def cable(self, *ends: tuple[int, int], mtu: int = 9000) -> Cable:
        """Put a cable in."""
        made = Cable(tuple(End(*end) for end in ends), mtu)
        self.cables.append(made)
        self.put_changed()
        return made

    def uncable(self, cable: Cable) -> None:
        """Take a cable out."""
        self.cables.remove(cable)
        self.put_changed()

    def cut(self, cable: Cable) -> None:
        """Take a cable out and put it back at once."""
        self.uncable(cable)
        self.cables.append(cable)
        self.put_changed()

    def lose(self, member: int) -> None:
        """End the connection of a member."""
        self.connected.discard(member)
        self.take(self.links.disconnected(member, self.now))

    def find(self, member: int) -> None:
        """Connect a member again."""
        self.connected.add(member)
        self.put(member)
        self.take(self.links.connected(member, self.now))

    def put(self, member: int) -> None:
        """Report all ports of a member."""
        ends = sorted(end for end in self.ports if end.member == member)
        self.take(self.links.put_ports(member, [self.port(end) for end in ends], self.now))

    def put_changed(self) -> None:
        """Report the ports of connected members that have changed."""
        for end in sorted(self.ports):
            had, has = self.carrier.get(end), self.port(end)
            if end.member in self.connected and had != (has.up and has.live):
                self.take(self.links.put_ports(end.member, [has], self.now))

    def port(self, end: End) -> Port:
        """A port as its switch reports it."""
        up = any(end in cable.ends for cable in self.cables)
        live = end not in self.bfd_down
        self.carrier[end] = up and live
        mac = 0x020000000000 | end.member << 8 | end.port
        return Port(end.port, f"eth{end.port}", mac, up, live=live)

    def take(self, effects: Iterable[Effect]) -> None:
        """Carry effects out."""
        for effect in effects:
            if isinstance(effect, OnMember):
                assert isinstance(effect.effect, SendFrame)
                assert effect.member in self.connected
                (port,) = effect.effect.ports
                self.send(End(effect.member, port), effect.effect.frame)
            else:
                assert isinstance(effect, Event), effect
                self.events.append(effect)

    def send(self, end: End, frame: bytes) -> None:
        """Send a frame by a port."""
        self.sent.append((self.now, end, frame))
        if end.member in self.mute:
            return
        for cable in self.cables:
            if end in cable.ends and len(frame) <= cable.mtu + ETHERNET and not cable.lost():
                loop = cable.ends.count(end) > 1
                for to in dict.fromkeys(cable.ends):
                    if (to != end or loop) and to not in cable.deaf:
                        self.deliver(to, frame)

    def deliver(self, to: End, frame: bytes) -> None:
        """Have a port receive a frame."""
        at = self.now + self.latency
        heapq.heappush(self._waiting, (at, next(self._count), to, frame))

    def run(self, seconds: float) -> None:
        """Let time pass."""
        end = self.now + seconds
        while True:
            wake = self.links.next_wakeup()
            frame = self._waiting[0][0] if self._waiting else None
            due = min((at for at in (wake, frame) if at is not None), default=None)
            if due is None or due > end:
                break
            self.now = max(self.now, due)
            if frame is not None and frame <= self.now:
                _, _, to, octets = heapq.heappop(self._waiting)
                if to.member in self.connected and to.member not in self.mute:
                    self.take(self.links.hear(to.member, [(to.port, octets)], self.now))
            else:
                self.take(self.links.tick(self.now))
        self.now = end

    def until(self, condition: Callable[[], bool], most: float) -> float:
        """Let time pass until a condition holds; return the seconds that it took."""
        begin = self.now
        while not condition():
            assert self.now - begin < most, self.status()
            self.run(0.05)
        return self.now - begin

    # Results

    def pairs(self) -> set[tuple[End, End]]:
        """The ends of links that carry frames."""
        links = self.links._links.values()
        return {(link.one.end, link.other.end) for link in links if link.carries}

    def used(self) -> set[tuple[End, End]]:
        """The ends of links that plans use."""
        return {(link.one, link.other) for link in self.links.graph().links}

    def carries(self, cable: Cable) -> bool:
        """Whether the link of a cable carries frames."""
        one, other = sorted(cable.ends)
        return (one, other) in self.pairs()

    def status(self) -> tuple[LinkStatus, ...]:
        """The status of all links and ports."""
        return self.links.status(self.now)

    def of(self, name: str) -> LinkStatus:
        """The status of the link of a port."""
        (found,) = [each for each in self.status() if name in (each.one, each.other)]
        return found

    def states(self) -> set[LinkState]:
        """The states of all links and ports with carrier."""
        return {each.state for each in self.status() if each.state is not LinkState.DOWN}

    def kinds(self) -> list[str]:
        """The kinds of events since the last call."""
        kinds = [event.kind for event in self.events]
        self.events.clear()
        return kinds
