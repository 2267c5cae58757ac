"""Spanning tree on a bridge: it opens and closes the bridge's ports.

Without spanning tree each port is open while its link is up.  LOCAL has no part in the tree.

The tree begins once the bridge's address is known: an identifier that changes later would move the
root.

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

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ofapp.bridge import stp
from ofapp.bridge.effects import Barrier, ClosePort, Effect, SendFrame, SpokenFor, StateChanged
from ofapp.bridge.event import Event, PortNumber
from ofapp.bridge.pausable import PausableTime
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.problem import Problem
from ofapp.bridge.protocol import Protocol, Reconfigured
from ofapp.bridge.state import BridgeState
from ofapp.bridge.stp import FlushPort, PortState, SendBpdu, SetPortState, SpanningTree, dump
from ofapp.bridge.stp.dumped import whole
from ofapp.bridge.stp.events import STP_STATE
from ofapp.bridge.stp.problems import problems as guard_problems
from ofapp.bridge.stp.vectors import ADDRESS_MASK
from ofapp.common.portions import AT_ONCE, Portions

PORTION = 64
"""Ports that `restart` adds at a time."""

_FORWARDING = PortState.FORWARDING
_ALONE = "no other port is up that it could relay to"


class Revision(NamedTuple):
    """The revision of a tree; two are equal while nothing has changed.

    tree: another object for a new tree.
    """

    tree: SpanningTree
    number: int


class SpanningTreeOnBridge(Protocol[stp.BridgeParams]):
    """tree: without ports while it does not run.

    runs: false while spanning tree is off, and before the bridge has its first port and so an
    address.
    settled: the whole tree is stored.
    cautious_until: until then there may be switches that forward without a controller.
    """

    name = "stp"
    hears = ("bpdu",)

    def __init__(self, state: BridgeState) -> None:
        super().__init__(state)
        self.cautious_until = 0.0
        self._relay = state.relay
        self._trees = state.shared.trees
        self._behind: Mapping[str, int] = {}  # neighbours of a former tree's ports, by port name
        self._address: int | None = None  # of the last tree
        self._waits = False
        self._trace = False
        self._reports_sent = False
        self._reset()

    def _reset(self) -> None:
        """Have a tree that does not run."""
        self.runs = False
        self.settled = True
        self.clock = PausableTime(paused=0.0)
        self._ports: dict[int, str] = {}  # names by number
        self._up: set[int] = set()
        self._edges: dict[int, object] = {}  # aggregations that were edges, and their partners
        self._early: int | None = None  # the port that is open before the tree opens it
        self._blocked = False  # since the last barrier
        self._last = 0.0  # the last time that was passed to the tree, on its clock
        self._outdated = False  # the stored tree, and no notice was given
        self._use(SpanningTree(stp.BridgeParams(), 0, self._trees))

    def _use(self, tree: SpanningTree) -> None:
        self.tree = tree
        self.tree.trace = self._trace
        if self._reports_sent:
            self.tree.hear_of_leaving()
        self._revision, self._cabling = tree.revision, tree.cabling  # as of the last notice

    # Ports

    def put_ports(self, ports: Sequence[Port], now: float) -> list[Effect]:
        """Add ports to the tree or apply their links; without a tree, open those that are up."""
        effects: list[Effect] = []
        linked: list[Port] = []
        for port in ports:
            if self.params is not None and port.number != LOCAL_PORT:
                linked.append(port)
            elif self._state.usable(port) and port.number not in self._relay.states:
                effects += self._relay.set_state(port.number, _FORWARDING)
        return effects + self._link(linked, now)

    def _link(self, ports: Sequence[Port], now: float) -> list[Effect]:
        """Add ports, or apply changed links; that comes before any timer.

        All of them are known to be up or down before anything follows from one: a port that is down
        is not opened, as the relay has closed it, and none counts as the only one meanwhile.
        """
        if not ports or self.params is None:
            return []
        self._start(self.params, now)
        for port in ports:
            (self._up.add if self._state.usable(port) else self._up.discard)(port.number)
        new = [port for port in ports if port.number not in self._ports]
        known = [port for port in ports if port.number in self._ports]
        self._ports |= {port.number: port.name for port in ports}
        effects = self._close_other()
        for port in known:
            if port.number in self._up and port.number not in self._relay.states:
                # The tree knows a state, blocked if the link was down; the datapath does not.
                state = self.tree.port(port.number).state
                effects += self._relay.set_state(port.number, state)
        at, links = self._time(now), [self._changed_link(port) for port in known]
        wanted = self.tree.set_links(links, at) if known else []
        if new:
            wanted += self.tree.add_ports(map(self._new_port, new), at)
        return self._noted([*effects, *self._carry_out(wanted, blocked=bool(effects))])

    def _changed_link(self, port: Port) -> tuple[int, stp.Link, bool]:
        up = port.number in self._up
        return port.number, _link(port, up), self._is_known_edge(port, up)

    def _new_port(self, port: Port) -> stp.NewPort:
        params = self._state.params.port(port.name, port.number).stp
        behind = self._behind.get(port.name)
        link = _link(port, port.number in self._up)
        return stp.NewPort(port.number, params, link, port.mac, behind)

    def _is_known_edge(self, port: Port, up: bool) -> bool:
        """Whether an aggregation comes up that was an edge, with the same partner as then."""
        if up:
            return port.partner is not None and port.partner == self._edges.pop(port.number, None)
        if self.tree.is_edge(port.number):
            self._edges[port.number] = port.partner
        return False

    def _close_other(self) -> list[Effect]:
        """Return the only port to the tree's state, unless it is still the only one."""
        return [] if self._up == {self._early} else self._close_early()

    def remove_ports(self, numbers: Sequence[int], now: float) -> list[Effect]:
        """Remove ports from the tree; none of them counts as the only one meanwhile."""
        gone = [port for port in numbers if port in self._ports]
        self._up.difference_update(gone)
        effects: list[Effect] = []
        for port in gone:
            self._edges.pop(port, None)
            wanted = self.tree.remove_port(port, self._time(now))
            del self._ports[port]
            effects += self._carry_out(wanted)
        return self._noted(effects)

    def retain(self, names: Mapping[int, str], now: float) -> list[Effect]:
        """Remove restored ports that are no longer present with the same number and name."""
        gone = [number for number, name in self._ports.items() if names.get(number) != name]
        return self.remove_ports(gone, now)

    def names(self) -> Mapping[int, str]:
        """The names of the tree's ports by number, those of a restored tree included."""
        return self._ports

    def is_edge(self, port: int) -> bool:
        """Whether no other bridge is known behind the port."""
        return port not in self._ports or self.tree.is_edge(port)

    def traps(self, port: int) -> bool:
        """Whether BPDUs that arrive on the port go to the spanning tree."""
        return port in self._ports and self.tree.takes_part(port)

    # Parameters

    def set_params(self, change: Reconfigured, now: float) -> list[Effect]:
        """Start, administer or stop the tree, and administer its ports."""
        effects: list[Effect] = []
        if self.params != change.before.stp:
            if self.params is not None and self.runs:
                wanted = self.tree.set_bridge_params(self.params, self._time(now))
                effects += self._carry_out(wanted)
            else:
                effects += self._begin(now)
        for port, before, new in change.ports:
            if port.number in self._ports and new.stp != before.stp:
                effects += self._set_port_params(port.number, new.stp, now)
        return self._noted(effects)

    def _set_port_params(self, port: int, params: stp.PortParams, now: float) -> list[Effect]:
        trapped = self.traps(port)
        effects = self._carry_out(self.tree.set_port_params(port, params, self._time(now)))
        state = self._relay.states.get(port)
        if trapped is not params.enabled and state is not None:
            effects += self._relay.set_state(port, state)  # where its BPDUs go has changed
        return effects

    def _begin(self, now: float) -> list[Effect]:
        """Start a new tree instead of the old one; none when it is off."""
        effects = self._stop()
        ports = self._expected(now)
        return effects + (self._link(ports, now) if self.params is not None else self._open(ports))

    def _stop(self) -> list[Effect]:
        """Stop the tree; nothing of it stays stored, except by the caller."""
        if not self.runs:
            return []
        self.tree.leave()
        self._reset()
        return [_invalid_but({}, self._address)]

    def _expected(self, now: float) -> list[Port]:
        """The ports to add to a tree that starts, which learns first which of them are up.

        So none of them counts as the only one.
        """
        ports = [port for port in self._state.ports if port.number != LOCAL_PORT]
        up = [port.number for port in ports if self._state.usable(port)]
        if up and self.params is not None:
            self._start(self.params, now)
            self._up.update(up)
        return ports

    def _open(self, ports: Iterable[Port]) -> list[Effect]:
        return [
            effect
            for port in ports
            if self._state.usable(port)
            for effect in self._relay.set_state(port.number, _FORWARDING)
        ]

    def _start(self, params: stp.BridgeParams, now: float) -> None:
        """Start a tree unless there is one."""
        if self.runs:
            return
        address = self._state.address
        if self._address is not None and self._address != address:
            self._trees.replace(self._address)
        self._address = address
        self.runs = True
        self.clock = PausableTime()
        self._use(SpanningTree(params, address, self._trees))
        if self._waits:
            self.clock.pause(now)
        else:
            self.tree.join()
            self._beware(now)

    def restart(self, lost: bool, clock: Callable[[], float]) -> Iterator[list[Effect]]:
        """Start a new tree for a switch that does not have the port states of this one.

        Gives the effects in portions, as thousands of ports take seconds.  Nothing happens without
        spanning tree, where port states do not change.

        The known neighbours of its ports stay, so edge ports remain edges.
        lost: the switch has no flows any more, so it has restarted: its neighbours have not heard
        this bridge meanwhile.  Addresses are kept then, and are installed again as their ports open
        (`Learning.lost`), unless another bridge is heard behind the port, which may have found
        other paths to them.
        """
        state, now = self._state, clock()
        if self.params is None:
            return
        behind = self._neighbours()
        effects: list[Effect] = []
        if lost:
            effects += self._lose(self._relay.states)
        effects += self._stop()
        if not lost:
            effects += self._open(port for port in state.ports if port.number != LOCAL_PORT)
        self._behind = behind
        ports = [port.number for port in self._expected(now)]
        yield effects
        for at in range(0, len(ports), PORTION):
            present = filter(None, map(state.ports.get, ports[at : at + PORTION]))
            yield self._link([*present], clock())
        if lost and (opened := self._open_local()):
            yield opened

    def restart_ports(self, ports: Collection[int], lost: bool, now: float) -> list[Effect]:
        """Start some ports again as if their links had just come up; the others go on.

        It is for one switch of several that are this bridge, and that has not the states of its
        ports.  Nothing happens without spanning tree, where port states do not change.  Edge ports
        remain edges.  lost: see `restart`.
        """
        if self.params is None:
            return []
        effects: list[Effect] = []
        if lost:
            effects += self._lose(ports)
        effects += self._down_and_up([port for port in ports if port in self._up], lost, now)
        if lost and LOCAL_PORT in ports:
            effects += self._open_local()
        return self._noted(effects)

    def _lose(self, ports: Iterable[int]) -> list[Effect]:
        """Close ports whose flows the switch has lost; their addresses are kept."""
        closed = [port for port in ports if port in self._relay.states]
        self._relay.lose(closed)
        return [ClosePort(port) for port in closed]

    def _open_local(self) -> list[Effect]:
        """Open LOCAL again, which is not in the tree."""
        local = self._state.ports.get(LOCAL_PORT)
        return [] if local is None else self._open([local])

    def _down_and_up(self, ports: Collection[int], lost: bool, now: float) -> list[Effect]:
        """Set links down, and then up: none of these ports counts as the only one meanwhile.

        lost: the addresses of these ports are kept.
        """
        at, effects = self._time(now), self._close_early() if self._early in ports else []
        edges = {port for port in ports if self.tree.behind.get(port) == 0}
        known = [port for number in ports if (port := self._state.ports.get(number)) is not None]
        kept = ports if lost else ()
        for up in (False, True):
            links = [(port.number, _link(port, up), up and port.number in edges) for port in known]
            wanted = self.tree.set_links(links, at)
            effects += self._carry_out(
                [e for e in wanted if not (isinstance(e, FlushPort) and e.port in kept)]
            )
        return effects

    # Frames and time

    def hear(self, kind: str, frames: Sequence[tuple[int, bytes]], now: float) -> list[Effect]:
        """Handle frames to the bridge group address: all are read before any is answered."""
        if not self.clock.runs:
            return []
        effects: list[Effect] = []
        for port, _ in frames:
            effects += self._relay.heard_bridge(port)
        effects += self._carry_out(self.tree.receive_all(frames, self._time(now)))
        return self._noted(effects)

    def bpdus_left(self, left: Iterable[tuple[int, int]], now: float) -> None:
        """Note BPDUs that were sent: (port, `SendFrame.bpdu`).  `tick` may be due sooner."""
        at = self.clock.at(now)
        for port, number in left:
            self.tree.left(port, number, at)

    def tick(self, now: float) -> list[Effect]:
        """Let time pass."""
        if not self.clock.runs:
            return []
        return self._noted(self._carry_out(self.tree.tick(self._time(now))))

    def next_wakeup(self) -> float | None:
        """When `tick` is due; None while paused or when nothing is."""
        return self.clock.due(self.tree.next_wakeup())

    def beat(self, now: float) -> None:
        """Note that the controller runs."""
        self.clock.beat(now)

    # The switch's connection, and other switches

    def pause(self, now: float) -> None:
        """Pause the tree while the switch is disconnected."""
        self._waits = True
        self.clock.pause(now)
        self.tree.leave()

    def resume(self, now: float) -> None:
        """Wait after the switch has reconnected, until its flows are known."""
        self._waits = True

    def go_on(self, now: float) -> list[Effect]:
        """Run the tree again: the datapath has its port states."""
        self._waits, self._behind = False, {}
        effects: list[Effect] = [SpokenFor()]
        if self.runs:
            self.clock.resume(now)
            self.tree.join()
            cautious_until = self.clock.then(self.cautious_until)
            effects += self._carry_out(self.tree.go_on(self._time(now), cautious_until))
        return self._noted(effects)

    def be_cautious(self, until: float) -> None:
        """Until then there may be switches that forward without a controller."""
        self.cautious_until = until

    def beware(self, until: float, now: float) -> list[Effect]:
        """Until then expect a neighbouring switch that forwards without a controller."""
        self.cautious_until = max(self.cautious_until, until)
        return self._noted(self._beware(now)) if self.runs and not self._waits else []

    def _beware(self, now: float) -> list[Effect]:
        now = self._time(now)
        return self._carry_out(self.tree.beware(now, self.clock.then(self.cautious_until)))

    def calm(self, now: float) -> list[Effect]:
        """Every switch has a controller again."""
        self.cautious_until = now
        if not self.runs or self._waits:
            return []
        return self._noted(self._carry_out(self.tree.calm(self._time(now))))

    def borders_on(self, address: int) -> bool:
        """Whether the tree has heard the bridge with this address behind a port."""
        return address in self.tree.behind.values()

    # Commands

    def recover(self, port: int, now: float) -> list[Effect]:
        """Free a port from the guard that holds it."""
        if port not in self._ports:
            return []
        return self._noted(self._carry_out(self.tree.recover(port, self._time(now))))

    def check_migration(self, port: int, now: float) -> list[Effect]:
        """Have a port send RSTP again, and detect what its neighbour runs."""
        if port not in self._ports:
            return []
        return self._noted(self._carry_out(self.tree.migration_check(port, self._time(now))))

    def hear_of_leaving(self) -> None:
        """Expect a report when BPDUs have been sent (`bpdus_left`); otherwise they count as sent at
        once."""
        self._reports_sent = True
        self.tree.hear_of_leaving()

    def set_trace(self, wanted: bool) -> None:
        """Report BPDUs as events, which costs more than the protocol itself."""
        self._trace = self.tree.trace = wanted

    # Values

    def status(self, now: float, ports: Iterable[int] | None = None) -> stp.BridgeStatus | None:
        """The state of the tree, and of those of `ports` that are in it, or of all.

        Its times are as of `now` and not of the last event.  All ports take a tenth of a second
        where there are thousands.
        """
        if not self.runs:
            return None
        snapshot = self.tree.snapshot(ports and [port for port in ports if port in self._ports])
        since = max(self.clock.at(now) - self._last, 0.0)
        changed = snapshot.time_since_topology_change
        if changed is not None and not snapshot.topology_change:
            changed += since
        shown = tuple(
            replace(self._as_it_is(port), timers=_later(port.timers, since))
            for port in snapshot.ports
        )
        return replace(snapshot, time_since_topology_change=changed, ports=shown)

    def guarded(self) -> dict[int, tuple[stp.Guard, ...]]:
        """The ports that guards hold, and which."""
        return self.tree.guarded()

    def problems(self, now: float) -> Iterator[Problem]:
        """Ports that guards close."""
        return guard_problems(self.guarded())

    def around(self) -> stp.Around | None:
        """The bridge and the neighbours by port; None without a tree."""
        if not self.runs:
            return None
        around = self.tree.around()
        ports = tuple(
            port._replace(state=_FORWARDING) if port.port == self._early else port
            for port in around.ports
        )
        return around._replace(ports=ports)

    def states(self) -> dict[int, PortState] | None:
        """The state of each port whose link is up, as the datapath should have it.

        None without a tree.
        """
        if not self.runs:
            return None
        states = self.tree.states()
        if self._early in states:
            states[self._early] = _FORWARDING
        return states

    # Storage

    def _neighbours(self) -> dict[str, int]:
        """Neighbours of the ports, as in `_invalid_but`."""
        return {self._ports[port]: bridge for port, bridge in self.tree.behind.items()}

    def _noted(self, effects: list[Effect]) -> list[Effect]:
        """The effects, after the notice that the stored tree is no longer valid, if it is not.

        A thousand ports that come up together change it a thousand times, and it is stored once.
        """
        if not self._outdated:
            return effects
        self._outdated = False
        return [_invalid_but(self._neighbours(), self._address), *effects]

    def settled_on(
        self, believed: Mapping[int, PortState], actual: Mapping[int, PortState]
    ) -> bool:
        """Whether the whole tree is stored, and the datapath has its port states."""
        return self.runs and self.settled and believed == actual

    def unwritten(self) -> Revision | None:
        """The revision of the tree that is not stored yet; None when there is none."""
        return None if self.settled else Revision(self.tree, self.tree.revision)

    def written(self, revision: Revision) -> None:
        """Note that the tree is stored in that revision."""
        if revision.tree is self.tree:
            self.settled = True

    def dump(self, portions: Portions = AT_ONCE) -> dict[str, Any] | None:
        """The tree and its ports' names as JSON-serialisable data; None without one."""
        if not self.runs:
            return None
        return {"tree": dump.dump(self.tree, portions), "names": [*self._ports.items()]}

    def restore(self, data: Any) -> list[str]:
        """Restore a dump, or what was still valid of it, before any port is known; ValueError.

        The tree is paused.
        """
        if self.params is None:
            raise ValueError("spanning tree is off")
        if isinstance(data, Mapping) and "behind" in data:
            self._behind = _read_behind(data["behind"])
            self._address = _read_address(data)
            return []
        port_params = self._state.params.port
        try:
            address = whole("address", data["tree"]["address"], ADDRESS_MASK)
            names = {int(number): str(name) for number, name in data["names"]}
            if {*names} != {port["port_no"] for port in data["tree"]["ports"]}:
                raise ValueError("its ports and their names are not the same")
            tree, last = dump.revive(
                self.params,
                data["tree"],
                self._trees,
                lambda number: port_params(names[number]).stp,
            )
        except (KeyError, TypeError, AttributeError, OverflowError) as error:
            raise ValueError(f"not a dump of a bridge's spanning tree: {error!r}") from error
        self._use(tree)
        self.runs = True
        self.clock = PausableTime(paused=last)
        self._ports, self._address, self._last = names, address, last
        self._up = {*tree.states()}
        self._early = self._alone()
        return []

    # The tree's effects

    def _time(self, now: float) -> float:
        self._last = self.clock.at(now)
        return self._last

    def _alone(self) -> int | None:
        """The only port that is up, unless the tree has opened it or a guard holds it."""
        if len(self._up) != 1:
            return None
        (port,) = self._up
        if port not in self._ports:  # expected, but not added yet
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


def _link(port: Port, up: bool) -> stp.Link:
    return stp.Link(up, port.speed_mbps or 1000, port.full_duplex)


def _invalid_but(behind: Mapping[str, int], address: int | None) -> StateChanged:
    """The stored tree is no longer valid, except for this.

    behind: the address of the bridge behind a port, by the port's name; 0 where there is none.
    address: that of this bridge; None for one that has had no spanning tree.
    """
    return StateChanged("stp", {"behind": dict(behind), "address": address})


def _read_behind(data: Any) -> dict[str, int]:
    """Read the stored `behind` of `_invalid_but`; ValueError."""
    try:
        return {name: whole(name, bridge, ADDRESS_MASK) for name, bridge in data.items()}
    except AttributeError as error:
        raise ValueError("not the neighbours by port") from error


def _read_address(data: Mapping[str, Any]) -> int | None:
    """The stored address of `_invalid_but`, None where an older release wrote it; ValueError."""
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
