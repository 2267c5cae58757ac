"""A running spanning tree and its ports: the tree's effects carried out by the relay.

While the switch is away the tree is paused (see `pausable`). It neither receives nor sends until
the shell has checked that the switch has the tree's port states: then it resumes (`stp.absence`).

For the next process either the whole tree is stored, when the switch has carried out all of it and
nothing changes any more, or only the neighbours of its ports, before anything changes. So after a
crash during a change no outdated or premature tree is restored; such a bridge starts a new tree,
with its edges open.

The only port that is up is open at once, even if the tree still waits. Its frames could leave by no
other port, so it can be part of no loop, and a host that moves onto a new bridge with its one
uplink loses nothing. The tree does not know of this. When a second port comes up, the first returns
to the tree's state, usually closed, before the second is added: so with two ports or more the relay
is always in a state of the standard, and never less safe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Self

from ofapp.bridge import stp
from ofapp.bridge.effects import Barrier, Effect, SendFrame, StateChanged
from ofapp.bridge.event import Event, PortNumber
from ofapp.bridge.pausable import PausableTime
from ofapp.bridge.ports.port import Port
from ofapp.bridge.ports.relay import Relay
from ofapp.bridge.stp import (
    FlushPort,
    PortState,
    SendBpdu,
    SetPortState,
    SpanningTree,
    dump,
)
from ofapp.bridge.stp.dumped import whole
from ofapp.bridge.stp.events import STP_STATE
from ofapp.bridge.stp.vectors import ADDRESS_MASK
from ofapp.common.portions import AT_ONCE, Portions

_FORWARDING = PortState.FORWARDING
_ALONE = "no other port is up that it could relay to"


_UNKNOWN: Mapping[str, int] = {}


class RunningTree:
    """A `SpanningTree` and its ports, by number and name.

    address: the bridge's, for its identifier and as the source of BPDUs.
    behind: the stored neighbours of the ports, as in `invalid_but`.
    settled: the whole tree is stored; the shell sets it when it has stored that.
    """

    def __init__(
        self,
        params: stp.BridgeParams,
        address: int,
        relay: Relay,
        own: stp.OwnTrees,
        behind: Mapping[str, int] = _UNKNOWN,
    ) -> None:
        self.address = address
        self.tree = SpanningTree(params, address, own)
        self.tree.join()
        self.ports: dict[int, str] = {}
        self._relay = relay
        self._up: set[int] = set()
        self._edges: dict[int, object] = {}  # aggregations that were edges, and their partners
        self._early: int | None = None  # the port that is open before the tree opens it
        self.clock = PausableTime()
        self.settled = True
        self._blocked = False  # since the last barrier
        self._last = 0.0  # the last time that was passed to the tree, on its clock
        self._remembered = behind
        self._revision = self._cabling = 0  # as of the last notice
        self._outdated = False  # the stored tree, and no notice was given

    @classmethod
    def restore(
        cls,
        params: stp.BridgeParams,
        data: Mapping[str, Any],
        relay: Relay,
        own: stp.OwnTrees,
        port_params: Callable[[str], stp.PortParams],
    ) -> Self:
        """Restore a dump, paused; ValueError when it does not fit."""
        try:
            address = whole("address", data["tree"]["address"], ADDRESS_MASK)
            restored = cls(params, address, relay, own)
            restored.tree.leave()
            names = {int(number): str(name) for number, name in data["names"]}
            if {*names} != {port["port_no"] for port in data["tree"]["ports"]}:
                raise ValueError("its ports and their names are not the same")
            restored.tree, restored._last = dump.revive(
                params, data["tree"], own, lambda number: port_params(names[number])
            )
        except (KeyError, TypeError, AttributeError, OverflowError) as error:
            raise ValueError(f"not a dump of a bridge's spanning tree: {error!r}") from error
        restored.ports = names
        restored._revision = restored.tree.revision
        restored._cabling = restored.tree.cabling
        restored.clock = PausableTime(paused=restored._last)
        restored._up = {*restored.tree.states()}
        restored._early = restored._alone()
        return restored

    def dump(self, portions: Portions = AT_ONCE) -> dict[str, Any]:
        """The tree and its ports' names as JSON-serialisable data."""
        return {"tree": dump.dump(self.tree, portions), "names": [*self.ports.items()]}

    def behind(self) -> dict[str, int]:
        """Neighbours of the ports, as in `invalid_but`."""
        return {self.ports[port]: bridge for port, bridge in self.tree.behind.items()}

    def go_on(self, cautious_until: float, now: float) -> list[Effect]:
        """Run again: the switch has the tree's port states.

        cautious_until: see `SpanningTree.go_on`, in the caller's time.
        """
        self._remembered = _UNKNOWN
        self.clock.resume(now)
        self.tree.join()
        return self._carry_out(self.tree.go_on(self._time(now), self.clock.then(cautious_until)))

    def absent(self, names: Mapping[int, str]) -> list[int]:
        """The ports that are not present with the same number and name."""
        return [number for number, name in self.ports.items() if names.get(number) != name]

    def unsettled(self) -> list[Effect]:
        """The notice that the stored tree is no longer valid, if there is a new reason for it.

        A thousand ports that come up together change it a thousand times, and it is stored once.
        """
        if not self._outdated:
            return []
        self._outdated = False
        return [invalid_but(self.behind(), self.address)]

    def states(self) -> dict[int, PortState]:
        """The state of each port whose link is up, as the datapath should have it."""
        states = self.tree.states()
        if self._early in states:
            states[self._early] = _FORWARDING
        return states

    def status(self, now: float, ports: Iterable[int] | None = None) -> stp.BridgeStatus:
        """The state of the tree, with times as of `now` and not of the last event.

        ports: only these of its ports; all of them take a tenth of a second where there are
        thousands.
        """
        snapshot, since = self.tree.snapshot(ports), max(self.clock.at(now) - self._last, 0.0)
        changed = snapshot.time_since_topology_change
        if changed is not None and not snapshot.topology_change:
            changed += since
        shown = tuple(
            replace(self._as_it_is(port), timers=_later(port.timers, since))
            for port in snapshot.ports
        )
        return replace(snapshot, time_since_topology_change=changed, ports=shown)

    def around(self) -> stp.Around:
        """The bridge, and who is behind its ports."""
        around = self.tree.around()
        ports = tuple(
            port._replace(state=_FORWARDING) if port.port == self._early else port
            for port in around.ports
        )
        return around._replace(ports=ports)

    def traps(self, port: int) -> bool:
        """Whether BPDUs that arrive on the port are for the tree and not for other bridges."""
        return port in self.ports and self.tree.takes_part(port)

    def is_edge(self, port: int) -> bool:
        """Whether there is no other bridge behind the port; true for one outside the tree."""
        return port not in self.ports or self.tree.is_edge(port)

    def expect(self, ports: Iterable[int]) -> None:
        """Announce ports that are up and added next, so that none counts as the only one."""
        self._up.update(ports)

    def link(self, ports: Iterable[tuple[Port, stp.PortParams]], now: float) -> list[Effect]:
        """Add ports, or apply changed links; that comes before any timer.

        New ports are added together, so that none counts as the only one meanwhile.
        """
        effects: list[Effect] = []
        new: list[stp.NewPort] = []
        names: dict[int, str] = {}
        for port, params in ports:
            (self._up.add if port.up else self._up.discard)(port.number)
            link = stp.Link(port.up, port.speed_mbps or 1000, port.full_duplex)
            if port.number in self.ports:
                effects += self._relink(port, link, now)
                continue
            names[port.number] = port.name
            behind = self._remembered.get(port.name)
            new.append(stp.NewPort(port.number, params, link, port.mac, behind))
        if not new:
            return effects
        self.ports |= names
        closed = self._close_other()
        wanted = self.tree.add_ports(new, self._time(now))
        return [*effects, *closed, *self._carry_out(wanted, blocked=bool(closed))]

    def _relink(self, port: Port, link: stp.Link, now: float) -> list[Effect]:
        self.ports[port.number] = port.name
        effects = self._close_other()
        if port.up and port.number not in self._relay.states:
            # The tree knows a state, blocked if the link was down; the datapath does not.
            state = self.tree.port(port.number).state
            effects += self._relay.set_state(port.number, state)
        edge = self._is_known_edge(port)
        wanted = self.tree.set_link(port.number, link, self._time(now), edge)
        return effects + self._carry_out(wanted, blocked=bool(effects))

    def _is_known_edge(self, port: Port) -> bool:
        """Whether an aggregation comes up that was an edge, with the same partner as then."""
        if port.up:
            return port.partner is not None and port.partner == self._edges.pop(port.number, None)
        if self.tree.is_edge(port.number):
            self._edges[port.number] = port.partner
        return False

    def _close_other(self) -> list[Effect]:
        """Return the only port to the tree's state, unless it is still the only one."""
        return [] if self._up == {self._early} else self._close_early()

    def remove(self, ports: Iterable[int], now: float) -> list[Effect]:
        """Remove ports; none of them counts as the only one meanwhile."""
        gone = [port for port in ports if port in self.ports]
        self._up.difference_update(gone)
        effects: list[Effect] = []
        for port in gone:
            self._edges.pop(port, None)
            wanted = self.tree.remove_port(port, self._time(now))
            del self.ports[port]
            effects += self._carry_out(wanted)
        return effects

    def bpdus(self, frames: Iterable[tuple[int, bytes]], now: float) -> list[Effect]:
        """Handle frames to the bridge group address that arrived together, by port."""
        if not self.clock.runs:
            return []
        heard = list(frames)
        effects: list[Effect] = []
        for port, _ in heard:
            effects += self._relay.heard_bridge(port)
        return effects + self._carry_out(self.tree.receive_all(heard, self._time(now)))

    def bpdus_left(self, left: Iterable[tuple[int, int]], now: float) -> None:
        """Note BPDUs that have been sent: (port, number)."""
        at = self.clock.at(now)
        for port, number in left:
            self.tree.left(port, number, at)

    def tick(self, now: float) -> list[Effect]:
        """Let time pass."""
        return self._carry_out(self.tree.tick(self._time(now))) if self.clock.runs else []

    def next_wakeup(self) -> float | None:
        """When `tick` is due; None while paused or when nothing is."""
        return self.clock.due(self.tree.next_wakeup())

    def beware(self, until: float, now: float) -> list[Effect]:
        """See `SpanningTree.beware`; `until` in the caller's time."""
        now = self._time(now)
        return self._carry_out(self.tree.beware(now, self.clock.then(until)))

    def calm(self, now: float) -> list[Effect]:
        """See `SpanningTree.calm`."""
        return self._carry_out(self.tree.calm(self._time(now)))

    def set_bridge_params(self, params: stp.BridgeParams, now: float) -> list[Effect]:
        """Administer the bridge."""
        return self._carry_out(self.tree.set_bridge_params(params, self._time(now)))

    def set_port_params(self, port: int, params: stp.PortParams, now: float) -> list[Effect]:
        """Administer a port; KeyError for an unknown one."""
        trapped = self.traps(port)
        effects = self._carry_out(self.tree.set_port_params(port, params, self._time(now)))
        state = self._relay.states.get(port)
        if trapped is not params.enabled and state is not None:
            effects += self._relay.set_state(port, state)  # where its BPDUs go has changed
        return effects

    def recover(self, port: int, now: float) -> list[Effect]:
        """Free a port from its guards; KeyError for an unknown one."""
        return self._carry_out(self.tree.recover(port, self._time(now)))

    def check_migration(self, port: int, now: float) -> list[Effect]:
        """Detect again which protocol a port's neighbour runs; KeyError for an unknown port."""
        return self._carry_out(self.tree.migration_check(port, self._time(now)))

    def _time(self, now: float) -> float:
        self._last = self.clock.at(now)
        return self._last

    def _alone(self) -> int | None:
        """The only port that is up, unless the tree has opened it or a guard holds it."""
        if len(self._up) != 1:
            return None
        (port,) = self._up
        if port not in self.ports:  # expected, but not added yet
            return None
        status = self.tree.port(port)
        return None if status.state is _FORWARDING or status.guards else port

    def _close_early(self) -> list[Effect]:
        """Return the port that was the only one to the tree's state."""
        port, self._early = self._early, None
        if port not in self._up:
            return []
        known = self.tree.port(port)
        if known.state is _FORWARDING:
            return []
        event = _state_event(known, _FORWARDING, known.state, known.reason)
        return [event, *self._relay.set_state(port, known.state)]

    def _open_alone(self) -> list[Effect]:
        """Open the port that has become the only one, close the one that no longer is."""
        alone = self._alone()
        if alone == self._early:
            return []
        effects = self._close_early()
        if alone is not None:
            self._early = alone
            known = self.tree.port(alone)
            effects.append(_state_event(known, known.state, _FORWARDING, _ALONE))
            effects += self._relay.set_state(alone, _FORWARDING)
        return effects

    def _as_it_is(self, port: stp.PortStatus) -> stp.PortStatus:
        if port.port != self._early:
            return port
        return replace(port, state=_FORWARDING, reason=_ALONE)

    def _carry_out(self, wanted: list[stp.Effect], blocked: bool = False) -> list[Effect]:
        """The relay's effects for the tree's, blocks first and a barrier after them.

        blocked: something was blocked just before.
        """
        self._invalidate()
        effects: list[Effect] = []
        flushed = [effect.port for effect in wanted if isinstance(effect, FlushPort)]
        self._blocked |= blocked
        for effect in wanted:
            if isinstance(effect, SetPortState):
                if effect.port not in self._up:
                    continue  # the relay has closed it
                if effect.port == self._early and effect.state is not _FORWARDING:
                    continue  # and stays open, unless `_open_alone` closes it
                blocks = effect.state is PortState.DISCARDING
                if not blocks:
                    effects += self._confirmed()
                self._blocked |= blocks and effect.port in self._relay.states
                effects += self._relay.set_state(effect.port, effect.state)
            elif isinstance(effect, FlushPort):
                effects += self._relay.flush_ports(flushed)
                flushed = []  # all at once, with the first
            elif isinstance(effect, SendBpdu):
                if not self.clock.runs:
                    continue  # sent after `go_on`
                effects += self._confirmed()
                effects.append(SendFrame(frozenset({effect.port}), effect.frame, effect.number))
            else:
                effects.append(effect)
        # At once, and not only before waiting effects: the reply shows how long closing takes.
        return effects + self._open_alone() + self._confirmed()

    def _confirmed(self) -> list[Effect]:
        """A barrier, if ports have been blocked in this step or an earlier one."""
        blocked, self._blocked = self._blocked, False
        return [Barrier()] if blocked else []

    def _invalidate(self) -> None:
        """Note whether the stored tree must be updated before anything else happens."""
        if self._revision == self.tree.revision:
            return
        self._revision = self.tree.revision
        if self.settled or self._cabling != self.tree.cabling:
            self._outdated = True
            self.settled, self._cabling = False, self.tree.cabling


def invalid_but(behind: Mapping[str, int], address: int | None) -> StateChanged:
    """The stored tree is no longer valid, except for this.

    behind: the address of the bridge behind a port, by the port's name; 0 where there is none.
    address: that of this bridge; None for one that has had no spanning tree.
    """
    return StateChanged("stp", {"behind": dict(behind), "address": address})


def read_behind(data: Any) -> dict[str, int]:
    """Read the stored `behind` of `invalid_but`; ValueError."""
    try:
        return {name: whole(name, bridge, ADDRESS_MASK) for name, bridge in data.items()}
    except AttributeError as error:
        raise ValueError("not the neighbours by port") from error


def read_address(data: Mapping[str, Any]) -> int | None:
    """The stored address of `invalid_but`, None where an older release wrote it; ValueError."""
    address = data.get("address")
    return None if address is None else whole("address", address, ADDRESS_MASK)


def _state_event(port: stp.PortStatus, old: PortState, new: PortState, reason: str) -> Event:
    """An event like the tree's about a port's state."""
    states = {"old": old.value, "new": new.value}
    text = PortNumber(port.port), f": {old.value} -> {new.value} ({reason})"
    data = {**states, "role": port.role.value, "reason": reason}
    return STP_STATE.event(text, port=port.port, data=data)


def _later(timers: Mapping[str, float], seconds: float) -> dict[str, float]:
    return {name: max(left - seconds, 0.0) for name, left in timers.items()}
