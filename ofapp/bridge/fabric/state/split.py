"""Effects of a fabric's bridge, split by the members that have to carry them out.

The result are steps; each has effects by member, with the port numbers of its switch.  A step
begins when all connected members of the one before have carried theirs out.  Notices are not in it.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
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
    RenewPort,
    Reprogram,
    SendFrame,
    SetFlood,
    SetTrap,
)
from ofapp.bridge.effects.content import BoundHost, DesiredLag
from ofapp.bridge.effects.fabric import FABRIC_PORT, FlushRemote, SetShared
from ofapp.bridge.fabric.state.conversations import Conversations
from ofapp.bridge.fabric.state.places import Places
from ofapp.bridge.fabric.state.projection import Projection
from ofapp.bridge.multicast import RemoveGroup, SetGroup, SetUnregistered
from ofapp.bridge.stp import SetPortState

Step = Mapping[int, list[Effect]]


class Split:
    """Effects by member, for a fabric whose ports are at `places`."""

    def __init__(self, places: Places, conversations: Conversations) -> None:
        self._places = places
        self._conversations = conversations
        self._flooded: dict[int, frozenset[int]] = {}  # as last sent
        self._lags: dict[int, frozenset[int]] = {}  # members that have had an aggregation
        self._attached: dict[int, tuple[int, ...]] = {}  # members where its hosts are reached
        self._shared: dict[tuple[int, int], tuple[int, ...] | None] = {}  # (member, aggregation)
        self._unconfirmed: set[int] = set()  # members with changes since the last barrier
        self._removed: dict[tuple[int, int], tuple[int, ...]] = {}  # members that had a host
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
        places = self._places.attachments(port)
        for member, number in places:
            before = self._places.on(member, old_port) if old_port else 0
            self._step[member].append(kind(number, vid, mac, serial, before or 0))
        old = self._places.member_of(old_port) if old_port else None
        if old is None or not places:
            return
        here = {place.member for place in places}
        left = [place for place in self._places.of(old_port) if place.member not in here]
        for member, number in left:
            self._step[member].append(RemoveSource(number, vid, mac, 0))
        new, others = places[0].member, [place.member for place in left]
        if others or old != new:
            self._add(self._conversations.move((vid, mac), old, new, others))

    def _install_destination(self, effect: InstallDestination) -> None:
        for member, number in self._places.attachments(effect.port):
            self._step[member].append(effect._replace(port=number))

    def _remove_source(self, effect: RemoveSource) -> None:
        places = self._places.of(effect.port)
        for member, number in places:
            self._step[member].append(effect._replace(port=number))
        self._removed[effect.vid, effect.mac] = tuple(member for member, _ in places)

    def _remove_destination(self, effect: RemoveDestination) -> None:
        """Where the host was: its source half goes before, or a member has reported its end."""
        host = effect.vid, effect.mac
        had = self._removed.get(host)
        for member in self._places.members if had is None else had:
            self._step[member].append(effect)
        at = had[0] if had is not None and len(had) == 1 else None
        self._add(self._conversations.remove(host, at))

    def _put_static(self, effect: PutStatic) -> None:
        self._forget_learned(effect)
        self._item(effect)

    def _remove_static(self, effect: RemoveStatic) -> None:
        self._forget_learned(effect)
        self._to_all(effect)

    def _forget_learned(self, static: PutStatic | RemoveStatic) -> None:
        if static.vid is None:
            self._add(self._conversations.remove_everywhere(static.mac))
        else:
            self._add(self._conversations.remove((static.vid, static.mac)))

    def _of_port(self, effect: Any) -> None:
        for member, number in self._places.of(effect.port):
            self._step[member].append(replace(effect, port=number))
            if isinstance(effect, SetPortState | ClosePort):
                self._unconfirmed.add(member)

    def _of_one_port(self, effect: ForwardFrame) -> None:
        for member, number in self._places.of(effect.port)[:1]:
            self._step[member].append(replace(effect, port=number))

    def _send_frame(self, effect: SendFrame) -> None:
        """An aggregation's frame leaves at one member only."""
        ports: dict[int, set[int]] = defaultdict(set)
        for port in effect.ports:
            for member, number in self._places.attachments(port)[:1]:
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

    def _set_lag(self, lag: DesiredLag) -> None:
        """Set an aggregation, in an order by which no frame leaves by it at two members.

        Before a member sends what another one has sent, that one has stopped; it may lose some.
        One whose ports have no carrier has stopped.
        """
        number, parts = lag.number, self._places.lag_parts(lag)
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
            self._step[member].append(parts.get(member, DesiredLag(number, lag.hash)))
            self._unconfirmed.add(member)
        attached = tuple(place.member for place in self._places.attachments(number))
        before, self._attached[number] = self._attached.get(number, attached), attached
        for member in {*before} - {*attached}:
            self._step[member].append(Flush(number, sticky=True))
        for member in sorted({*attached} - {*before}):
            self._step[member] += self._conversations.hosts_on(number)
        if before[:1] != attached[:1]:
            for member in before[:1]:
                self._flush_remote(member, None, {member})
        if after != before_and_after:
            ended = {*before} - {*attached}
            if not all(self._places.has_no_carrier(number, member) for member in ended):
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

    def _renew_port(self, effect: RenewPort) -> None:
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
        members = {place.member for place in self._places.of(effect.port)}
        for at in sorted(members):
            self._flush_remote(at, effect.vid, members if len(members) == 1 else {at})

    def _flush_remote(self, at: int | None, vid: int | None, others: set[int]) -> None:
        """Flush the addresses at a member, or all, at all members but `others`."""
        self._conversations.flush(at, vid)
        remote = FlushRemote(at, vid)
        for member in self._places.members:
            if member not in others and remote not in self._step[member]:
                self._step[member].append(remote)

    def _on_member(self, effect: OnMember) -> None:
        self._step[effect.member].append(effect.effect)
        if isinstance(effect.effect, RemoveDestination):  # a host that this member has aged out
            vid, mac, _ = effect.effect
            self._add(self._conversations.remove((vid, mac), effect.member))

    def _item(self, value: Any) -> None:
        """A value that is content of a switch (see `Projection.item`)."""
        for member in self._places.members:
            item = Projection(self._places, member).item(value)
            if item is not None:
                self._step[member].append(item)

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
    SetTrap: Split._item,
    ForwardFrame: Split._of_one_port,
    SendFrame: Split._send_frame,
    SetGroup: Split._item,
    SetUnregistered: Split._item,
    RemoveGroup: Split._to_all,
    SetFlood: Split._set_flood,
    DesiredLag: Split._set_lag,
    BoundHost: Split._item,
    RenewPort: Split._renew_port,
    HoldDown: Split._item,
    LetGo: Split._to_all,
    Flush: Split._flush,
    Reprogram: Split._to_all,
    LookAgain: Split._to_all,
    OnMember: Split._on_member,
}
"""The rule of each effect that members carry out; of others see `Projection.item`."""
