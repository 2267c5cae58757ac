"""Effects of a fabric's bridge, split by the members that have to carry them out.

The result are steps; each has effects by member, with the port numbers of its switch.  A step
begins when all connected members of the one before have carried theirs out.  Notices are not in it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ofapp.bridge.effects import (
    NOTICES,
    Barrier,
    ClosePort,
    Effect,
    Flush,
    ForwardFrame,
    HoldDown,
    InstallDestination,
    InstallEntry,
    InstallSticky,
    LetGo,
    LookAgain,
    OnMember,
    PutStatic,
    RemoveDestination,
    RemoveSource,
    RemoveStatic,
    Reprogram,
    SendFrame,
    SetBoundHost,
    SetFlood,
    SetGate,
    SetLag,
    SetRate,
    SetTrap,
)
from ofapp.bridge.fabric.desired import FABRIC_PORT
from ofapp.bridge.fabric.effects import FlushRemote, SetShared
from ofapp.bridge.fabric.view.conversations import Conversations
from ofapp.bridge.fabric.view.places import Places
from ofapp.bridge.fabric.view.projection import Projection
from ofapp.bridge.lag.desired import DesiredLag
from ofapp.bridge.multicast import RemoveGroup, SetGroup, SetUnregistered
from ofapp.bridge.stp import SetPortState

Step = Mapping[int, list[Effect]]
_CLOSING = (SetPortState, ClosePort, SetFlood, SetLag)


class Split:
    """Effects by member, for a fabric whose ports are at `places`."""

    def __init__(self, places: Places, conversations: Conversations) -> None:
        self._places = places
        self._conversations = conversations
        self._flooded: dict[int, frozenset[int]] = {}  # as last sent
        self._lags: dict[int, frozenset[int]] = {}  # members that have had an aggregation
        self._homes: dict[int, tuple[int, ...]] = {}  # members where its hosts are reached
        self._shared: dict[tuple[int, int], tuple[int, ...] | None] = {}  # (member, aggregation)
        self._unconfirmed: set[int] = set()  # members with changes since the last barrier
        self._removed: dict[tuple[int, int], tuple[int, ...]] = {}  # homes, in one call
        self._step: dict[int, list[Effect]] = defaultdict(list)
        self._steps: list[dict[int, list[Effect]]] = []  # before this one

    def forget(self, member: int) -> None:
        """Take note that a member is brought in line as a whole."""
        self._flooded.pop(member, None)
        for key in [key for key in self._shared if key[0] == member]:
            del self._shared[key]

    def steps(self, effects: Iterable[Effect]) -> list[Step]:
        """Split effects.

        A member without effects in a step is in it if it has to confirm those of earlier calls.
        """
        self._steps, self._step = [], defaultdict(list)
        self._removed.clear()
        for effect in effects:
            kind = type(effect)
            if kind is Barrier:
                self._end_step()
            elif kind not in NOTICES:
                RULES.get(kind, Split._item)(self, effect)
        return [*self._steps, self._step]

    def _end_step(self) -> None:
        for member in self._unconfirmed:
            self._step[member]
        self._steps.append(self._step)
        self._step, self._unconfirmed = defaultdict(list), set()

    # Rules

    def _install(self, effect: InstallEntry | InstallSticky) -> None:
        kind, (port, vid, mac, serial, old_port) = type(effect), effect
        homes = self._places.homes(port)
        for member, number in homes:
            before = self._places.on(member, old_port) if old_port else 0
            self._step[member].append(kind(number, vid, mac, serial, before or 0))
        old = self._places.member_of(old_port) if old_port else None
        if old is None or not homes:
            return
        here = {home.member for home in homes}
        left = [place for place in self._places.of(old_port) if place.member not in here]
        for member, number in left:
            self._step[member].append(RemoveSource(number, vid, mac, 0))
        new, away = homes[0].member, [place.member for place in left]
        if away or old != new:
            self._add(self._conversations.move((vid, mac), old, new, away))

    def _install_destination(self, effect: InstallDestination) -> None:
        for member, number in self._places.homes(effect.port):
            self._step[member].append(effect._replace(port=number))

    def _remove_source(self, effect: RemoveSource) -> None:
        homes = self._places.of(effect.port)
        for member, number in homes:
            self._step[member].append(effect._replace(port=number))
        self._removed[effect.vid, effect.mac] = tuple(member for member, _ in homes)

    def _remove_destination(self, effect: RemoveDestination) -> None:
        """Where the host was: its source half goes before, or a member has reported its end."""
        host = effect.vid, effect.mac
        homes = self._removed.get(host)
        for member in self._places.members if homes is None else homes:
            self._step[member].append(effect)
        home = homes[0] if homes is not None and len(homes) == 1 else None
        self._add(self._conversations.remove(host, home))

    def _put_static(self, effect: PutStatic) -> None:
        if effect.vid is None:
            self._add(self._conversations.remove_everywhere(effect.mac))
        else:
            self._add(self._conversations.remove((effect.vid, effect.mac)))
        self._item(effect)

    def _remove_static(self, effect: RemoveStatic) -> None:
        if effect.vid is None:
            self._add(self._conversations.remove_everywhere(effect.mac))
        else:
            self._add(self._conversations.remove((effect.vid, effect.mac)))
        self._to_all(effect)

    def _of_port(self, effect: Any) -> None:
        for member, number in self._places.of(effect.port):
            self._step[member].append(replace(effect, port=number))
            if isinstance(effect, _CLOSING):
                self._unconfirmed.add(member)

    def _of_one_port(self, effect: ForwardFrame) -> None:
        for member, number in self._places.of(effect.port)[:1]:
            self._step[member].append(replace(effect, port=number))

    def _send_frame(self, effect: SendFrame) -> None:
        """An aggregation's frame leaves at one member only."""
        ports: dict[int, set[int]] = defaultdict(set)
        for port in effect.ports:
            for member, number in self._places.homes(port)[:1]:
                ports[member].add(number)
        for member, numbers in ports.items():
            self._step[member].append(replace(effect, ports=frozenset(numbers)))

    def _set_flood(self, effect: SetFlood) -> None:
        ports = self._places.by_member(effect.ports)
        for member in self._places.members:
            flooded = frozenset({FABRIC_PORT, *ports.get(member, ())})
            if self._flooded.get(member) != flooded:
                self._flooded[member] = flooded
                self._step[member].append(SetFlood(flooded))
                self._unconfirmed.add(member)

    def _set_lag(self, effect: SetLag) -> None:
        """Set an aggregation, in an order by which no frame leaves by it at two members.

        Before a member sends what another one has sent, that one has stopped; it may lose some.
        One whose ports have no carrier has stopped.
        """
        number, parts = effect.lag.number, self._places.lag_parts(effect.lag)
        had = self._lags.get(number, frozenset())
        self._lags[number] = frozenset(parts)
        involved = sorted(had | parts.keys())
        after = {member: self._places.shared(member).get(number) for member in involved}
        before_and_after = {
            member: _both(self._shared.get((member, number)), shared)
            for member, shared in after.items()
        }
        if self._share(number, before_and_after):
            self._end_step()
        for member in involved:
            nothing = DesiredLag(number, effect.lag.hash)
            self._step[member].append(SetLag(parts.get(member, nothing)))
            self._unconfirmed.add(member)
        homes = tuple(place.member for place in self._places.homes(number))
        before, self._homes[number] = self._homes.get(number, homes), homes
        for member in {*before} - {*homes}:
            self._step[member].append(Flush(number, sticky=True))
        for member in sorted({*homes} - {*before}):
            self._step[member] += self._conversations.hosts_on(number)
        if before[:1] != homes[:1]:
            for member in before[:1]:
                self._flush_remote(member, None, {member})
        if after != before_and_after:
            ended = {*before} - {*homes}
            if not all(self._places.is_dark(number, member) for member in ended):
                self._end_step()
            self._share(number, after)

    def _share(self, lag: int, by_member: Mapping[int, tuple[int, ...] | None]) -> bool:
        """Have members keep frames out of an aggregation; whether that is new for some."""
        changed = False
        for member, others in by_member.items():
            if self._shared.get((member, lag)) != others:
                self._shared[member, lag] = others
                self._step[member].append(SetShared(lag, others))
                self._unconfirmed.add(member)
                changed = True
        return changed

    def _set_bound_host(self, effect: SetBoundHost) -> None:
        for member, host in self._items(effect.host):
            self._step[member].append(SetBoundHost(host))

    def _set_gate(self, effect: SetGate) -> None:
        if effect.port is None:
            self._to_all(effect)
        else:
            self._of_port(effect)

    def _flush(self, effect: Flush) -> None:
        if effect.port is None:
            self._to_all(effect)
            self._flush_remote(None, effect.vid, set())
            return
        self._of_port(effect)
        homes = {place.member for place in self._places.of(effect.port)}
        for home in sorted(homes):
            self._flush_remote(home, effect.vid, homes if len(homes) == 1 else {home})

    def _flush_remote(self, home: int | None, vid: int | None, away: set[int]) -> None:
        """Flush the addresses at a member, or all, at the members that are not in `away`."""
        self._conversations.flush(home, vid)
        remote = FlushRemote(home, vid)
        for member in self._places.members:
            if member not in away and remote not in self._step[member]:
                self._step[member].append(remote)

    def _on_member(self, effect: OnMember) -> None:
        self._step[effect.member].append(effect.effect)
        if isinstance(effect.effect, RemoveDestination):  # a host that this member has aged out
            vid, mac, _ = effect.effect
            self._add(self._conversations.remove((vid, mac), effect.member))

    def _item(self, value: Any) -> None:
        """A value that is content of a switch (see `Projection.item`)."""
        for member, item in self._items(value):
            self._step[member].append(item)

    def _items(self, value: Any) -> Iterator[tuple[int, Any]]:
        for member in self._places.members:
            item = Projection(self._places, member).item(value)
            if item is not None:
                yield member, item

    def _to_all(self, effect: Effect) -> None:
        for member in self._places.members:
            self._step[member].append(effect)

    def _add(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            assert isinstance(effect, OnMember)
            self._on_member(effect)


def _both(one: tuple[int, ...] | None, other: tuple[int, ...] | None) -> tuple[int, ...] | None:
    if one is None or other is None:
        return other if one is None else one
    return tuple(sorted({*one, *other}))


RULES: Mapping[type[Any], Callable[[Split, Any], None]] = {
    InstallEntry: Split._install,
    InstallSticky: Split._install,
    InstallDestination: Split._install_destination,
    RemoveSource: Split._remove_source,
    RemoveDestination: Split._remove_destination,
    PutStatic: Split._put_static,
    RemoveStatic: Split._remove_static,
    SetPortState: Split._of_port,
    ClosePort: Split._of_port,
    SetRate: Split._of_port,
    SetTrap: Split._item,
    ForwardFrame: Split._of_one_port,
    SendFrame: Split._send_frame,
    SetGroup: Split._item,
    SetUnregistered: Split._item,
    RemoveGroup: Split._to_all,
    SetFlood: Split._set_flood,
    SetLag: Split._set_lag,
    SetBoundHost: Split._set_bound_host,
    SetGate: Split._set_gate,
    HoldDown: Split._item,
    LetGo: Split._to_all,
    Flush: Split._flush,
    Reprogram: Split._to_all,
    LookAgain: Split._to_all,
    OnMember: Split._on_member,
}
"""The rule of each effect that members carry out; of others see `Projection.item`."""
