"""All aggregations of a bridge: physical ports go in, and the bridge's own ports come out.

A member is no port of the bridge.  One logical port stands for all members of an aggregation while
at least one is present. Everything else (relay, learning, spanning tree, VLANs, policies) knows
only the logical port.  A port that is in no aggregation passes unchanged.

A port that changes its role is closed first. One that leaves an aggregation is taken out of it,
confirmed by a barrier, before it opens elsewhere; one that joins waits for `SETTLE` seconds.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ofapp.bridge.effects import (
    Barrier,
    Effect,
    SendFrame,
    StateChanged,
)
from ofapp.bridge.effects.content import DesiredLag
from ofapp.bridge.lag.aggregation import SETTLE, Aggregation, numbered
from ofapp.bridge.lag.changes import Changes
from ofapp.bridge.lag.events import LAG_CONFLICT
from ofapp.bridge.lag.negotiation import Negotiation
from ofapp.bridge.lag.params import LagParams
from ofapp.bridge.lag.problems import problems as lag_problems
from ofapp.bridge.lag.status import LagStatus
from ofapp.bridge.mac import MAC_MASK
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.pausable import PausableTime
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.problem import Problem
from ofapp.bridge.protocol import Protocol, Reconfigured
from ofapp.bridge.state import BridgeState
from ofapp.common.deadlines import Deadlines
from ofapp.common.portions import AT_ONCE, Portions


class Aggregations(Protocol[Mapping[str, LagParams]]):
    """All aggregations of a bridge.  numbers: numbers of the logical ports, present or not.

    left_out: ports that are not used, since an aggregation has their number or their name.
    clock: LACP's time.
    """

    name = "lags"
    hears = ("lacp",)
    on_switch_ports = True

    def __init__(self, state: BridgeState) -> None:
        super().__init__(state)
        self.numbers: frozenset[int] = frozenset()
        # LACP's until the bridge has a LOCAL port, whose address is used then.
        self._address = state.datapath_id & MAC_MASK
        self._wakes = Deadlines[str]()  # of actors, in their time
        self._opens = Deadlines[str]()  # of members
        self.left_out: dict[int, Port] = {}
        self._lags: dict[str, Aggregation] = {}
        self._home: dict[str, Aggregation] = {}  # of members, by their names
        self._of: dict[int, Aggregation] = {}  # of present ones, by their numbers
        self._set(state.params.lags)

    def __bool__(self) -> bool:
        return bool(self._lags)

    def desired(self, params: BridgeParams) -> tuple[DesiredLag, ...]:
        """Return the desired state of each aggregation."""
        if params.lags == self._state.params.lags:
            return tuple(lag.desired() for lag in self._lags.values())
        return self.supposed(params.lags)[0]

    def status(self, now: float) -> tuple[LagStatus, ...]:
        """The status of each, in the order of the configuration."""
        return tuple(lag.status(now) for lag in self._lags.values())

    def problems(self, now: float) -> Iterator[Problem]:
        """Aggregations that are down or have lost members, and ports that are left out."""
        return lag_problems(self.status(now), self.left_out.values())

    def members(self) -> dict[int, list[int]]:
        """The physical ports that are present members, by the logical port."""
        return {lag.number: [*lag.members] for lag in self._lags.values()}

    def configured(self, number: int) -> tuple[str, ...] | None:
        """The names of members, present or not, by the logical port; None without such a port."""
        lags = self._lags.values()
        return next((lag.params.members for lag in lags if lag.number == number), None)

    def in_use(self, number: int) -> tuple[int, ...]:
        """Return the physical ports that frames leave by, by the logical port."""
        lags = self._lags.values()
        return next((lag.programmed.distributing for lag in lags if lag.number == number), ())

    def has(self, name: str) -> bool:
        """Whether a port of that name is a member, present or not."""
        return name in self._home

    def of_member(self, number: int) -> str | None:
        """The name of the aggregation that a physical port is a member of."""
        lag = self._of.get(number)
        return None if lag is None else lag.name

    def member(self, number: int) -> Port | None:
        """The member that has a number, if there is one."""
        lag = self._of.get(number)
        return None if lag is None else lag.members[number].port

    def physical(self, ports: Iterable[Port]) -> list[Port]:
        """The switch's ports, given the bridge's."""
        members = [m.port for lag in self._lags.values() for m in lag.members.values()]
        ordinary = [port for port in ports if port.number not in self.numbers]
        return [*ordinary, *members, *self.left_out.values()]

    def names(self, ports: Iterable[Port]) -> dict[int, str]:
        """The names of the bridge's ports by number, given the switch's."""
        result = {}
        for port in ports:
            lag = self._member_of(port)
            if lag is not None:
                result[lag.number] = lag.name
            elif not self._conflicts(port):
                result[port.number] = port.name
        return result

    def supposed(
        self, params: Mapping[str, LagParams]
    ) -> tuple[tuple[DesiredLag, ...], list[Port]]:
        """Return the desired state for other aggregations, and the resulting ports of the bridge.

        What a partner will answer is not predicted.
        """
        made = Aggregations(self._state)
        made._address = self._address
        made._lags = {
            name: Aggregation(name, lag.number, lag.params) for name, lag in self._lags.items()
        }
        made._set(params)
        there = made._put_all(self.physical(self._state.ports), 0.0).ports
        same = [lag for name, lag in self._lags.items() if params.get(name) == lag.params]
        lags = {lag.number: lag.desired() for lag in (*made._lags.values(), *same)}
        known = {lag.number: lag.reported for lag in same}
        return tuple(lags.values()), [known.get(port.number) or port for port in there]

    # What happens

    def put_ports(self, ports: Sequence[Port], now: float) -> list[Effect]:
        """Add or update ports of the switch."""
        return self._put_all(ports, now).effects()

    def _put_all(self, ports: Sequence[Port], now: float) -> Changes:
        if not self._lags:
            return Changes(ports=[*ports])
        changes, touched = Changes(), dict[str, Aggregation]()
        self._take_address(ports)
        for port in ports:
            self._put(port, now, changes, touched)
        self._settle(touched.values(), changes, now)
        return changes

    def remove_ports(self, numbers: Sequence[int], now: float) -> list[Effect]:
        """Remove ports of the switch."""
        changes, touched = Changes(), dict[str, Aggregation]()
        for number in numbers:
            lag = self._of.pop(number, None)
            if lag is not None:
                lag.drop(number)
                touched[lag.name] = lag
            elif self.left_out.pop(number, None) is None and number not in self.numbers:
                changes.gone.append(number)
        self._settle(touched.values(), changes, now)
        return changes.effects()

    def set_params(self, change: Reconfigured, now: float) -> list[Effect]:
        """Apply other aggregations or parameters of them."""
        params = self._state.params.lags
        if params == change.before.lags:
            return []
        everything, old = self.physical(self._state.ports), dict(self._lags)
        self._take_address(everything)
        before, changes = dict(self._of), Changes()
        self._set(params)
        for removed in (lag for name, lag in old.items() if name not in self._lags):
            self._wakes.set(removed.name, None)
            self._opens.set(removed.name, None)
            changes.about.append(removed.nothing())
            changes.gone.append(removed.number)
            if removed.negotiation is not None:
                changes.frames += removed.negotiation.end(self.clock.at(now))
                changes.about.append(StateChanged("lacp"))
        for port in everything:
            lag, was = self._member_of(port), before.get(port.number)
            if was is not None and lag is was:
                continue
            if was is not None:
                was.drop(port.number)
                del self._of[port.number]
            outside = was is not None or port.number in self.left_out
            if not outside and (lag is not None or self._conflicts(port)):
                changes.gone.append(port.number)
            if lag is None and self._conflicts(port):
                self._leave_out(port, changes)
                continue
            self.left_out.pop(port.number, None)
            if lag is not None:
                lag.put(port, now + SETTLE)
                self._of[port.number] = lag
            elif outside:
                changes.ports.append(port)
        freed = bool(changes.ports)
        self._settle([*old.values(), *self._lags.values()], changes, now)
        if freed:
            changes.about.append(Barrier())
        return changes.effects()

    def tick(self, now: float) -> list[Effect]:
        """Let time pass; due at `next_wakeup`."""
        time = self.clock.at(now)
        # A stopped clock leaves them due.
        wakes = self._wakes.expired(time) if self.clock.runs else ()
        due = dict.fromkeys([*self._opens.expired(now), *wakes])
        lags = [self._lags[name] for name in due]
        for lag in lags if self.clock.runs else ():
            if lag.negotiation is not None:
                lag.negotiation.tick(time)
        return self._settled(lags, now)

    def next_wakeup(self) -> float | None:
        """When `tick` is due, None when nothing is."""
        due = self._opens.next(), self.clock.due(self._wakes.next())
        return min((instant for instant in due if instant is not None), default=None)

    # LACP

    def hear(self, kind: str, frames: Sequence[tuple[int, bytes]], now: float) -> list[Effect]:
        """Handle Slow Protocols frames of members; all are read before any is answered.

        A member that still waits because it was another port before ignores its frames: its
        partner, unanswered, repeats them.
        """
        touched = dict[str, Aggregation]()
        for port, frame in frames if self.clock.runs else ():
            lag = self._of.get(port)
            if lag is None or now < lag.members[port].opens or lag.members[port].unfit:
                continue
            if lag.negotiation is not None:
                lag.negotiation.hear(port, frame, self.clock.at(now))
                touched[lag.name] = lag
        return self._settled(touched.values(), now)

    def dump(self, portions: Portions = AT_ONCE) -> dict[str, Any]:
        """The state of LACP by aggregation, as JSON-serialisable data."""
        lags = self._lags.values()
        return {lag.name: lag.negotiation.dump() for lag in lags if lag.negotiation is not None}

    def restore(self, data: Any) -> list[str]:
        """Restore a dump before any port is present, and wait for `go_on`.

        Gives the reasons why some aggregations start without it.  Raises ValueError.
        """
        if not isinstance(data, Mapping):
            raise ValueError("it has no aggregations")  # noqa: TRY004
        self.clock = PausableTime(paused=0.0)
        wrong = []
        for name, dumped in data.items():
            lag = self._lags.get(name)
            if lag is None or lag.params.lacp == "off":
                continue
            try:
                lag.negotiation = Negotiation.revive(name, lag.number, lag.params, dumped)
            except ValueError as error:
                wrong.append(f"{name}: {error}")
        return wrong

    def resume(self, now: float) -> None:
        """Wait after the switch has reconnected, until its flows are known."""
        self.clock.pause(now)

    def go_on(self, now: float) -> list[Effect]:
        """Run LACP again: the switch has the flows that LACP assumes."""
        self.clock.resume(now)
        for negotiation in self._negotiations():
            negotiation.go_on(self.clock.at(now))
        return self._settled(self._lags.values(), now)

    def send_last(self, now: float) -> list[Effect]:
        """Send the state of all members once more before a time of silence."""
        for negotiation in self._negotiations() if self.clock.runs else ():
            negotiation.send_last(self.clock.at(now))
        return self._settled(self._lags.values(), now)

    def last_frames(self) -> list[SendFrame]:
        """The LACPDUs that were sent last, to be repeated while nothing may change."""
        return [frame for each in self._negotiations() for frame in each.last_frames()]

    def _negotiations(self) -> list[Negotiation]:
        lags = self._lags.values()
        return [lag.negotiation for lag in lags if lag.negotiation is not None]

    def _take_address(self, ports: Iterable[Port]) -> None:
        self._address = next((p.mac for p in ports if p.number == LOCAL_PORT), self._address)

    # Inside

    def _set(self, params: Mapping[str, LagParams]) -> None:
        numbers = numbered(params, {name: lag.number for name, lag in self._lags.items()})
        known, self._lags, self._home = self._lags, {}, {}
        self.numbers = frozenset(numbers.values())
        for name, number in numbers.items():
            lag = known.get(name) or Aggregation(name, number, params[name])
            lag.params = params[name]
            self._lags[name] = lag
            for member in lag.params.members:
                self._home.setdefault(member, lag)

    def _member_of(self, port: Port) -> Aggregation | None:
        if port.number == LOCAL_PORT or port.number in self.numbers:
            return None
        return self._home.get(port.name)

    def _conflicts(self, port: Port) -> bool:
        return port.number in self.numbers or port.name in self._lags

    def _put(
        self, port: Port, now: float, changes: Changes, touched: dict[str, Aggregation]
    ) -> None:
        lag, was = self._member_of(port), self._of.get(port.number)
        if was is not None and (was is not lag or self._renamed(was, port)):
            was.drop(port.number)
            del self._of[port.number]
            touched[was.name] = was
        if lag is not None:
            if was is None:
                changes.gone.append(port.number)
            self.left_out.pop(port.number, None)
            lag.put(port, now)
            self._of[port.number] = lag
            touched[lag.name] = lag
        elif self._conflicts(port):
            if port.number not in self.numbers:
                changes.gone.append(port.number)
            self._leave_out(port, changes)
        else:
            self.left_out.pop(port.number, None)
            changes.ports.append(port)

    def _renamed(self, lag: Aggregation, port: Port) -> bool:
        return lag.members[port.number].port.name != port.name

    def _leave_out(self, port: Port, changes: Changes) -> None:
        if self.left_out.get(port.number) != port:
            self.left_out[port.number] = port
            what = "number" if port.number in self.numbers else "name"
            text = (
                f"port {port.name} ({port.number}) is left out and carries no traffic: an"
                f" aggregation has its {what}. Give the aggregation another name under lags:"
            )
            data = {"name": port.name, "number": port.number, "because": what}
            changes.about.append(LAG_CONFLICT.event(text, data=data))

    def _settled(self, lags: Iterable[Aggregation], now: float) -> list[Effect]:
        changes = Changes()
        self._settle(lags, changes, now)
        return changes.effects()

    def _settle(self, lags: Iterable[Aggregation], changes: Changes, now: float) -> None:
        """Decide for each of these aggregations once, and collect the effects."""
        for lag in {lag.name: lag for lag in lags if self._lags.get(lag.name) is lag}.values():
            changes.decide(lag, self._address, self.clock, now)
            actor = None if lag.negotiation is None else lag.negotiation.actor
            self._wakes.set(lag.name, None if actor is None else actor.next_wakeup())
            self._opens.set(lag.name, lag.next_wakeup(now))
