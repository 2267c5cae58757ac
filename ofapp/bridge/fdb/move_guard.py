"""The move guard: addresses that flap, or move away from a sticky port, are held down.

An address that is seen on two ports in turn means a loop or a host that impersonates another one.
Every move causes flow-mods and redirects the host's frames. So after a few moves in a short time
the address stays where it was before, and frames from it are dropped on other ports.  That takes
one flow in the switch, with a lower priority than the source half of the learned address. It ends
by the bridge's timer, and in the switch by a hard timeout if the controller is disconnected.  The
next controller reads it from the switch and continues it (`adopt`): no copy stored elsewhere would
be as accurate.  An address of a sticky port is held with the first frame on another port.

These do not flap: a virtual machine that migrates moves once or twice; a virtual router's address
(VRRP, RFC 5798) once a failover; and after a topology change of spanning tree addresses are
forgotten, so that they do not move at all.  A forgotten address has no history.  A host that sends
one address by two ports at a time, as Linux bonds in mode balance-rr do, does flap: it needs link
aggregation, which an event suggests (`lag.unnamed`), or a guard that is turned off.

Of MAX_HELD addresses each port on which they are seen keeps its share: the port with most of them
loses its oldest one to a port with fewer, so that one port cannot take the guard from the others.

Only moves cost anything.  Histories are kept for TRACKED addresses at most, and the one that moved
longest ago makes room; each has as many instants as moves are allowed.
"""

import math
from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import Literal

from ofapp.bridge.effects import Effect, HoldDown, LetGo
from ofapp.bridge.event import Event, PortNumber
from ofapp.bridge.fdb.events import (
    FDB_HELD,
    FDB_HELD_CLEARED,
    FDB_HELD_LIMIT,
    FDB_HELD_LIMIT_CLEARED,
)
from ofapp.bridge.fdb.fdb import Entry
from ofapp.bridge.fdb.unnamed_bonds import Two, UnnamedBonds
from ofapp.bridge.mac import format_mac
from ofapp.bridge.params.policy import MoveLimit

TRACKED = 10_000
MAX_HELD = 1024
"""Most addresses held at a time: each sync with a switch reads all of them."""
QUICK = 4
"""Moves within a second that a loop makes, and no person who moves cables."""
LATE = 1.0
"""Seconds after which a sighting of a held address means that the switch has lost its flow."""
_LONGEST = 0xFFFF  # hard_timeout is 16 bits of seconds

Address = tuple[int, int]
"""(vid, mac)"""


class HeldAddress:
    """An address that is held down.

    port: where it is known; elsewhere: the other port; sticky: held as sticky, else for its moves;
    since, until: core time; effect: as sent to the switch; sightings: those on other ports that
    came to the controller nevertheless; quick: it moved `QUICK` times within a second.
    """

    __slots__ = (
        "effect",
        "elsewhere",
        "mac",
        "port",
        "quick",
        "sent",
        "sightings",
        "since",
        "sticky",
        "until",
        "vid",
    )

    def __init__(
        self, address: Address, port: int, elsewhere: int, sticky: bool, now: float, hold: float
    ) -> None:
        self.vid, self.mac = address
        self.port = port
        self.elsewhere = elsewhere
        self.sticky = sticky
        self.since = self.sent = now
        self.until = now + hold
        seconds = min(max(math.ceil(hold), 1), _LONGEST)
        self.effect = HoldDown(self.vid, self.mac, seconds, port, elsewhere)
        self.sightings = 0
        self.quick = False

    @property
    def two(self) -> Two:
        """The two ports on which it is seen."""
        return min(self.port, self.elsewhere), max(self.port, self.elsewhere)

    @property
    def reason(self) -> Literal["sticky", "moves"]:
        """The reason in one word."""
        return "sticky" if self.sticky else "moves"


class _Track:
    """The moves of one address: the port before them (`home`), and their times.

    ports: the first three ports of the moves.
    """

    __slots__ = ("home", "ports", "times")

    def __init__(self, home: int) -> None:
        self.home = home
        self.ports = [home]
        self.times: deque[float] = deque()

    def to(self, port: int, now: float) -> None:
        """Add a move."""
        self.times.append(now)
        if port not in self.ports and len(self.ports) < 3:
            self.ports.append(port)

    def quick(self, now: float) -> bool:
        """Whether the last `QUICK` moves were within the last second."""
        return len(self.times) >= QUICK and now - self.times[-QUICK] < 1.0


class MoveGuard:
    """Counts moves and holds addresses down.

    held: addresses in the order in which the hold-downs began.
    suspects: pairs of ports on which alone an address was heard in turn until it was held down,
        with the address as text; the bridge has them reported at its next tick.
    """

    def __init__(self, params: MoveLimit, counters: Counter[str]) -> None:
        self.params = params
        self.held: dict[Address, HeldAddress] = {}
        self.suspects: dict[Two, str] = {}
        self._counters = counters
        self._tracks: dict[Address, _Track] = {}
        self._unnamed = UnnamedBonds()
        self._due: float | None = None
        self._refused = False
        self._adopts = True

    def exceeds(self, address: Address, entry: Entry, now: float) -> bool:
        """Whether one more move would exceed the limit."""
        track = self._tracks.get(address)
        if track is None:
            return False
        begin = now - self.params.window
        last = track.times[-1]
        if last != entry.installed or last <= begin or not self.params.moves:
            del self._tracks[address]  # an earlier entry, or long ago
            return False
        while track.times[0] <= begin:
            track.times.popleft()
        return len(track.times) >= self.params.moves

    def home(self, address: Address) -> int:
        """The port of an address before its moves; KeyError for one that has not moved."""
        return self._tracks[address].home

    def moved(self, address: Address, old_port: int, entry: Entry, now: float) -> None:
        """Record a move of an address; its entry is updated already."""
        if not self.params.moves:
            return
        tracks = self._tracks
        track = tracks.pop(address, None) or _Track(old_port)
        track.to(entry.port, now)
        tracks[address] = track
        begin = now - self.params.window
        for _ in range(2):  # more than are added, so that stale ones are removed
            oldest = next(iter(tracks))
            if tracks[oldest].times[-1] > begin and len(tracks) <= TRACKED:
                break
            self._counters["move_histories_lost"] += tracks[oldest].times[-1] > begin
            del tracks[oldest]

    def hold(self, address: Address, entry: Entry, elsewhere: int, now: float) -> list[Effect]:
        """Drop frames from an address from now on, except on its port."""
        track = self._tracks.pop(address, None)
        effects: list[Effect] = []
        if len(self.held) >= MAX_HELD:
            seen = Counter(held.elsewhere for held in self.held.values())
            ((most, count),) = seen.most_common(1)
            if count < seen[elsewhere] + 2:
                return self._refuse(most, count)
            oldest = next(held for held in self.held.values() if held.elsewhere == most)
            self._counters["hold_displaced"] += 1
            effects += self._end(oldest)
        sticky = entry.is_sticky
        held = HeldAddress(address, entry.port, elsewhere, sticky, now, self.params.hold)
        held.quick = track is not None and track.quick(now)
        self._add(held)
        self._counters["held"] += 1
        params = self.params
        why = (
            "is sticky"
            if sticky
            else f"moved more than {params.moves} times in {params.window:g} s"
        )
        seconds = held.effect.seconds
        effects += [held.effect, _held_event(held, why, f"held down for {seconds} s")]
        if track is not None and {entry.port, elsewhere} == {*track.ports}:
            self.suspects[held.two] = _spoken(address)
            self._due = now
        return effects

    def report_suspects(self, apart: Iterable[Two]) -> list[Effect]:
        """Report pairs of ports that look like one bond.

        apart: pairs that are known to lead to different systems, so that they are no bond.
        """
        pairs = {held.two for held in self.held.values()}.difference(apart)
        suspects, self.suspects = self.suspects, {}
        found = ((two, address) for two, address in suspects.items() if two in pairs)
        return [effect for each in found for effect in self._unnamed.heard(*each)]

    def adopt(
        self, address: Address, ports: Two, sticky: bool, age: float, now: float
    ) -> list[Effect]:
        """Take over a hold-down that a switch has had for `age` seconds from a former controller.

        ports: where it is known, and the other port.  After `settle` nothing is taken over any
        more.
        """
        left = self.params.hold - age
        wanted = self._adopts and (sticky or self.params.moves) and left > 0
        if not wanted or address in self.held or len(self.held) >= MAX_HELD:
            return []
        held = HeldAddress(address, *ports, sticky, now - age, self.params.hold)
        held.sent = now
        self._add(held)
        why = "is sticky" if sticky else "moved too often"
        return [_held_event(held, why, f"held down for {math.ceil(left)} s more")]

    def seen(self, held: HeldAddress, port: int, now: float) -> list[Effect]:
        """Handle a held address on another port: its flow came too late, or is lost."""
        held.elsewhere = port
        held.sightings += 1
        self._counters["held_sightings"] += 1
        if now - held.sent < LATE:
            return []
        held.sent = now
        return [held.effect]

    def let_go(self, address: Address) -> list[Effect]:
        """End the hold-down of an address, on request or because it was forgotten."""
        held = self.held.get(address)
        return [] if held is None else self._let_go([held])

    def settle(self, is_known: Callable[[Address], bool]) -> list[Effect]:
        """End hold-downs of unknown addresses, once all of the switch's are read."""
        self._adopts = False
        return self.forget(is_known)

    def forget(self, is_known: Callable[[Address], bool]) -> list[Effect]:
        """End hold-downs of addresses that are not known any more."""
        return self._let_go(
            [held for held in self.held.values() if not is_known((held.vid, held.mac))]
        )

    def tick(self, now: float) -> list[Effect]:
        """End hold-downs whose time is over; due at `next_wakeup`."""
        if self._due is None or now < self._due:
            return []
        return self._let_go([held for held in self.held.values() if held.until <= now])

    def next_wakeup(self) -> float | None:
        """When `tick` is due, None when no address is held."""
        return self._due

    def _add(self, held: HeldAddress) -> None:
        self.held[held.vid, held.mac] = held
        self._due = held.until if self._due is None else min(self._due, held.until)

    def _refuse(self, port: int, count: int) -> list[Effect]:
        """Report that too many are held: the address stays on its port, but its frames pass.

        port, count: on which most held addresses were seen, and how many.
        """
        self._counters["hold_refused"] += 1
        if self._refused:
            return []
        self._refused = True
        text = (
            f"{MAX_HELD} addresses are held down, the most there can be; {count} of them were seen"
            " on ",
            PortNumber(port),
        )
        return [FDB_HELD_LIMIT.event(text, port, {"limit": MAX_HELD, "seen": count})]

    def _end(self, held: HeldAddress) -> list[Effect]:
        address = held.vid, held.mac
        del self.held[address]
        message = f"{_spoken(address)} is not held down any more"
        return [LetGo(*address), FDB_HELD_CLEARED.event(message, data=_data(held))]

    def _let_go(self, gone: Iterable[HeldAddress]) -> list[Effect]:
        effects = [effect for held in gone for effect in self._end(held)]
        if effects and self._unnamed.reported:
            effects += self._unnamed.still(held.two for held in self.held.values())
        self._due = min((held.until for held in self.held.values()), default=None)
        if self._refused and len(self.held) < MAX_HELD:
            self._refused = False
            effects.append(FDB_HELD_LIMIT_CLEARED.event("addresses can be held down again"))
        return effects


def _spoken(address: Address) -> str:
    vid, mac = address
    return f"{format_mac(mac)} in VLAN {vid}" if vid else format_mac(mac)


def _held_event(held: HeldAddress, why: str, how_long: str) -> Event:
    text = (
        f"{_spoken((held.vid, held.mac))} {why} on ",
        PortNumber(held.port),
        ", and was seen on ",
        PortNumber(held.elsewhere),
        f": {how_long}",
    )
    data = _data(held) | {"elsewhere": held.elsewhere, "seconds": held.effect.seconds}
    return FDB_HELD.event(text, data=data)


def _data(held: HeldAddress) -> dict[str, object]:
    return {
        "mac": format_mac(held.mac),
        "vlan": held.vid,
        "port": held.port,
        "reason": held.reason,
    }
