"""Actors of LACP whose members are cabled together, in virtual time.

What travels over a cable takes `delay` seconds, unless `fate` says otherwise.  A cable has two
directions and each can fail by itself: then frames are lost in it although the link is up.
"""

import heapq
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from ofapp.bridge.event import Event
from ofapp.bridge.lag.lacp import Actor, SendPdu, SetMember, dump, revive
from ofapp.bridge.lag.params import LagParams
from ofapp.bridge.stp.params import Link

DELAY = 0.001
UP = Link(True, 1000, True)
DOWN = Link(False, 1000, True)

Plug = tuple[str, int]


def address(name: str) -> int:
    """Of a system: a is 02:..:61, and so the better of a and b."""
    return 0x02_00_00_00_00_00 | ord(name[0])


class Lab:
    """Actors by name (their first letter makes their address) and the cables between members."""

    def __init__(self) -> None:
        self.now = 0.0
        self.actors: dict[str, Actor | None] = {}
        self.params: dict[str, LagParams] = {}
        self.keys: dict[str, int] = {}
        self.peers: dict[Plug, Plug] = {}
        self.deaf: set[Plug] = set()
        self.fate: Callable[[Plug], Iterable[float]] = lambda _plug: (DELAY,)
        self.does: dict[Plug, tuple[bool, bool]] = {}
        self.events: list[tuple[float, str, Event]] = []
        self.sent: list[tuple[float, Plug]] = []
        self.dumps: dict[str, Any] = {}
        self._flying: list[tuple[float, int, Plug, bytes]] = []
        self._number = 0
        self._bad_since: dict[Plug, float] = {}
        self.longest_bad = 0.0
        self._split_since: dict[str, float] = {}
        self.longest_split = 0.0

    # -- what is there -------------------------------------------------------------------------

    def add(self, name: str, ports: Iterable[int], key: int = 1, **params: Any) -> Actor:
        """An actor with those members, whose links are down until they are cabled."""
        members = tuple(f"eth{number}" for number in ports)
        self.params[name] = LagParams(members, **params)
        self.keys[name] = key
        actor = Actor(name, self.params[name], address(name), key)
        self.actors[name] = actor
        for number in ports:
            self.does[name, number] = (False, False)
            self.apply(name, actor.add(number, address(name) + (number << 8), DOWN, self.now))
        return actor

    def actor(self, name: str) -> Actor:
        """One that is there."""
        actor = self.actors[name]
        assert actor is not None
        return actor

    def cable(self, one: Plug, other: Plug, link: Link = UP) -> None:
        """Plug both ends in."""
        self.unplug(one)
        self.unplug(other)
        self.peers[one], self.peers[other] = other, one
        for plug in (one, other):
            self.link(plug, link)

    def unplug(self, plug: Plug) -> None:
        """Pull a cable, if there is one."""
        other = self.peers.pop(plug, None)
        if other is not None:
            del self.peers[other]
            self.link(plug, DOWN)
            self.link(other, DOWN)

    def replug(self, one: Plug, other: Plug) -> None:
        """Another end, while the links of these two stay up: who was there before is cut off."""
        self.unplug(other)
        before = self.peers.pop(one, None)
        if before is not None:
            del self.peers[before]
            self.link(before, DOWN)
        self.peers[one], self.peers[other] = other, one
        self.link(one, UP)
        self.link(other, UP)

    def link(self, plug: Plug, link: Link) -> None:
        """The link of one end alone."""
        name, port = plug
        actor = self.actors.get(name)
        if actor is not None:
            self.apply(name, actor.set_link(port, link, self.now))

    def set(self, name: str, **params: Any) -> None:
        """Other parameters."""
        self.params[name] = replace(self.params[name], **params)
        self.apply(name, self.actor(name).set_params(self.params[name], self.now))

    def kill(self, name: str) -> None:
        """The controller goes: what its switch does stays as it is."""
        self.dumps[name] = dump(self.actor(name))
        self.actors[name] = None

    def come_back(self, name: str) -> None:
        """The controller returns, and goes on."""
        actor = revive(name, self.params[name], self.keys[name], self.dumps.pop(name))
        assert {(name, port): does for port, does in actor.members.items()} == {
            plug: does for plug, does in self.does.items() if plug[0] == name
        }
        self.actors[name] = actor
        self.apply(name, actor.go_on(self.now))
        for port in actor.members:
            plugged = (name, port) in self.peers
            member = next(m for m in actor.status().members if m.port == port)
            if member.link.up is not plugged:
                self.link((name, port), UP if plugged else DOWN)

    # -- time ------------------------------------------------------------------------------------

    def run(self, seconds: float) -> None:
        """Let time pass."""
        end = self.now + seconds
        while True:
            due = self._next()
            if due > end:
                break
            self.now = max(self.now, due)
            self._step()
        self.now = end

    def wait(self, condition: Callable[[], bool], seconds: float) -> float:
        """Let time pass until something is so, and answer for how long; fail if it is never."""
        begin = self.now
        while not condition():
            due = self._next()
            assert due <= begin + seconds, f"not within {seconds} s"
            self.now = max(self.now, due)
            self._step()
        return self.now - begin

    def _next(self) -> float:
        wakes = [actor.next_wakeup() for actor in self.actors.values() if actor is not None]
        times = [wake for wake in wakes if wake is not None]
        if self._flying:
            times.append(self._flying[0][0])
        return min(times, default=float("inf"))

    def _step(self) -> None:
        while self._flying and self._flying[0][0] <= self.now:
            _, _, (name, port), frame = heapq.heappop(self._flying)
            actor = self.actors.get(name)
            if actor is not None and (name, port) in self.peers:
                self.apply(name, actor.receive(port, frame, self.now))
        for name, actor in self.actors.items():
            if actor is not None and (actor.next_wakeup() or float("inf")) <= self.now:
                self.apply(name, actor.tick(self.now))

    # -- effects ---------------------------------------------------------------------------------

    def apply(self, name: str, effects: Iterable[Any]) -> None:
        """Carry out what an actor asks for."""
        for effect in effects:
            match effect:
                case SetMember(port, collecting, distributing):
                    assert collecting or not distributing
                    self.does[name, port] = (collecting, distributing)
                case SendPdu(port, frame):
                    self.sent.append((self.now, (name, port)))
                    self._send((name, port), frame)
                case Event():
                    self.events.append((self.now, name, effect))
        self._watch()

    def _send(self, plug: Plug, frame: bytes) -> None:
        other = self.peers.get(plug)
        if other is None or plug in self.deaf:
            return
        for delay in self.fate(plug):
            self._number += 1
            heapq.heappush(self._flying, (self.now + delay, self._number, other, frame))

    def _watch(self) -> None:
        """Seconds for which an actor sends to one that does not collect, or to two at once."""
        for plug, (_, distributing) in self.does.items():
            other = self.peers.get(plug)
            bad = distributing and other is not None and not self.does[other][0]
            if bad:
                since = self._bad_since.setdefault(plug, self.now)
                self.longest_bad = max(self.longest_bad, self.now - since)
            elif plug in self._bad_since:
                self.longest_bad = max(self.longest_bad, self.now - self._bad_since.pop(plug))
        for name in self.actors:
            others = {
                self.peers[plug][0]
                for plug, does in self.does.items()
                if plug[0] == name and does[1] and plug in self.peers
            }
            if len(others) > 1:
                since = self._split_since.setdefault(name, self.now)
                self.longest_split = max(self.longest_split, self.now - since)
            else:
                self._split_since.pop(name, None)

    # -- looking ---------------------------------------------------------------------------------

    def distributing(self, name: str) -> list[int]:
        """The members by which an actor's switch sends."""
        return sorted(port for (who, port), does in self.does.items() if who == name and does[1])

    def collecting(self, name: str) -> list[int]:
        """The members by which an actor's switch takes frames in."""
        return sorted(port for (who, port), does in self.does.items() if who == name and does[0])

    def member(self, plug: Plug) -> Any:
        """The status of a member."""
        name, port = plug
        return next(m for m in self.actor(name).status().members if m.port == port)

    def events_of(self, kind: str) -> list[Event]:
        """The events of a kind."""
        return [event for _, _, event in self.events if event.kind == kind]


def pair(links: int = 2, a: dict[str, Any] | None = None, b: dict[str, Any] | None = None) -> Lab:
    """Two actors, a and b, with as many cables between them: a's port 1 to b's port 11."""
    lab = Lab()
    lab.add("a", range(1, links + 1), **(a or {}))
    lab.add("b", range(11, links + 11), **(b or {}))
    for number in range(1, links + 1):
        lab.cable(("a", number), ("b", number + 10))
    return lab
