"""Spanning tree on a bridge: it opens and closes the bridge's ports.

Without spanning tree each port is open while its link is up.  LOCAL has no part in the tree.

The tree begins once the bridge's address is known: an identifier that changes later would move the
root.

While the switch is disconnected the tree is paused (see `pausable`). It neither receives nor sends
until the shell has checked that the switch has the tree's port states: then it resumes
(`stp.absence`).
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ofapp.bridge import stp
from ofapp.bridge.effects import Effect, SpokenFor
from ofapp.bridge.pausable import PausableTime
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.problem import Problem
from ofapp.bridge.protocol import Protocol, Reconfigured
from ofapp.bridge.state import BridgeState
from ofapp.bridge.stp import FlushPort, PortState, SpanningTree, dump
from ofapp.bridge.stp.own import OwnTrees
from ofapp.bridge.stp.problems import problems as guard_problems
from ofapp.bridge.stp.relayed import RelayedTree
from ofapp.bridge.stp.stored import Revision, Stored, invalid_but, read_neighbours, read_tree
from ofapp.common.portions import AT_ONCE, Portions

PORTION = 64
"""Ports that `restart` adds at a time."""

_FORWARDING = PortState.FORWARDING


class SpanningTreeOnBridge(Protocol[stp.BridgeParams]):
    """The spanning tree of a bridge.

    runs: false while spanning tree is off, and before the bridge has its first port and so an
    address.
    cautious_until: until then there may be switches that forward without a controller.
    """

    name = "stp"
    hears = ("bpdu",)

    def __init__(self, state: BridgeState) -> None:
        super().__init__(state)
        self.cautious_until = 0.0
        self._relay = state.relay
        self._trees = state.shared.of(OwnTrees)
        self._behind: Mapping[str, int] = {}  # neighbours of a former tree's ports, by port name
        self._address: int | None = None  # of the last tree
        self._waits = False
        self._trace = False
        self._reports_sent = False
        self._reset()

    def _reset(self) -> None:
        """Have a tree that does not run."""
        self.runs = False
        self.clock = PausableTime(paused=0.0)
        self._edges: dict[int, object] = {}  # aggregations that were edges, and their partners
        self._last = 0.0  # the last time that was passed to the tree, on its clock
        self._use(SpanningTree(stp.BridgeParams(), 0, self._trees))

    def _use(self, tree: SpanningTree) -> None:
        tree.trace = self._trace
        self._state.inner_ports[self.name] = tree.inner
        if self._reports_sent:
            tree.hear_of_leaving()
        self._relayed = RelayedTree(tree, self._relay)
        self._stored = Stored(self._relayed)

    @property
    def tree(self) -> SpanningTree:
        """The tree; without ports while it does not run."""
        return self._relayed.tree

    @property
    def settled(self) -> bool:
        """Whether the whole tree is stored."""
        return self._stored.settled

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
        relayed = self._relayed
        for port in ports:
            (relayed.up.add if self._state.usable(port) else relayed.up.discard)(port.number)
        new = [port for port in ports if port.number not in relayed.names]
        known = [port for port in ports if port.number in relayed.names]
        relayed.names |= {port.number: port.name for port in ports}
        effects = relayed.close_other()
        for port in known:
            effects += relayed.renew(port.number)
        at, links = self._time(now), [self._changed_link(port) for port in known]
        wanted = self.tree.set_links(links, at) if known else []
        if new:
            wanted += self.tree.add_ports(map(self._new_port, new), at)
        return self._noted([*effects, *self._carry_out(wanted, blocked=bool(effects))])

    def _changed_link(self, port: Port) -> tuple[int, stp.Link, bool]:
        up = port.number in self._relayed.up
        return port.number, _link(port, up), self._is_known_edge(port, up)

    def _new_port(self, port: Port) -> stp.NewPort:
        params = self._state.params.port(port.name, port.number).stp
        behind = self._behind.get(port.name)
        link = _link(port, port.number in self._relayed.up)
        return stp.NewPort(port.number, params, link, port.mac, behind)

    def _is_known_edge(self, port: Port, up: bool) -> bool:
        """Whether an aggregation comes up that was an edge, with the same partner as then."""
        if up:
            return port.partner is not None and port.partner == self._edges.pop(port.number, None)
        if self.tree.is_edge(port.number):
            self._edges[port.number] = port.partner
        return False

    def remove_ports(self, numbers: Sequence[int], now: float) -> list[Effect]:
        """Remove ports from the tree; none of them counts as the only one meanwhile."""
        gone = [port for port in numbers if port in self._relayed.names]
        self._relayed.up.difference_update(gone)
        effects: list[Effect] = []
        for port in gone:
            self._edges.pop(port, None)
            wanted = self.tree.remove_port(port, self._time(now))
            del self._relayed.names[port]
            effects += self._carry_out(wanted)
        return self._noted(effects)

    def retain(self, names: Mapping[int, str], now: float) -> list[Effect]:
        """Remove restored ports that are no longer present with the same number and name."""
        gone = [number for number, name in self.names().items() if names.get(number) != name]
        return self.remove_ports(gone, now)

    def names(self) -> Mapping[int, str]:
        """The names of the tree's ports by number, those of a restored tree included."""
        return self._relayed.names

    def is_edge(self, port: int) -> bool:
        """Whether no other bridge is known behind the port."""
        return port not in self.names() or self.tree.is_edge(port)

    def traps(self, port: int) -> bool:
        """Whether BPDUs that arrive on the port go to the spanning tree."""
        return port in self.names() and self.tree.takes_part(port)

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
            if port.number in self.names() and new.stp != before.stp:
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
        return [invalid_but({}, self._address)]

    def _expected(self, now: float) -> list[Port]:
        """The ports to add to a tree that starts, which learns first which of them are up.

        So none of them counts as the only one.
        """
        ports = [port for port in self._state.ports if port.number != LOCAL_PORT]
        up = [port.number for port in ports if self._state.usable(port)]
        if up and self.params is not None:
            self._start(self.params, now)
            self._relayed.up.update(up)
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
        behind = self._relayed.neighbours()
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
        effects += self._down_and_up(
            [port for port in ports if port in self._relayed.up], lost, now
        )
        if lost and LOCAL_PORT in ports:
            effects += self._open_local()
        return self._noted(effects)

    def _lose(self, ports: Iterable[int]) -> list[Effect]:
        """Close ports whose flows the switch has lost; their addresses are kept."""
        return self._relay.lose([port for port in ports if port in self._relay.states])

    def _open_local(self) -> list[Effect]:
        """Open LOCAL again, which is not in the tree."""
        local = self._state.ports.get(LOCAL_PORT)
        return [] if local is None else self._open([local])

    def _down_and_up(self, ports: Collection[int], lost: bool, now: float) -> list[Effect]:
        """Set links down, and then up: none of these ports counts as the only one meanwhile.

        lost: the addresses of these ports are kept.
        """
        at, effects = self._time(now), self._relayed.close_early(ports)
        edges = {port for port in ports if self.tree.behind.get(port) == 0}
        known = [port for number in ports if (port := self._state.ports.get(number)) is not None]
        kept = frozenset(ports if lost else ())
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
        return self._noted(
            effects + self._carry_out(self.tree.receive_all(frames, self._time(now)))
        )

    def bpdus_left(self, left: Iterable[tuple[int, int]], now: float) -> None:
        """Note BPDUs that were sent: (port, `SendFrame.bpdu`).  `tick` may be due sooner."""
        at = self.clock.at(now)
        for port, number in left:
            self.tree.left(port, number, at)

    def tick(self, now: float) -> list[Effect]:
        """Let time pass."""
        if not self.clock.runs:
            return []
        return self._done(self.tree.tick(self._time(now)))

    def next_wakeup(self) -> float | None:
        """When `tick` is due; None while paused or when nothing is."""
        return self.clock.due(self.tree.next_wakeup())

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
        return self._done(self.tree.calm(self._time(now)))

    def borders_on(self, address: int) -> bool:
        """Whether the tree has heard the bridge with this address behind a port."""
        return address in self.tree.behind.values()

    # Commands

    def recover(self, port: int, now: float) -> list[Effect]:
        """Free a port from the guard that holds it."""
        if port not in self.names():
            return []
        return self._done(self.tree.recover(port, self._time(now)))

    def check_migration(self, port: int, now: float) -> list[Effect]:
        """Have a port send RSTP again, and detect what its neighbour runs."""
        if port not in self.names():
            return []
        return self._done(self.tree.migration_check(port, self._time(now)))

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

        Its times are as of `now` and not of the last event.
        """
        if not self.runs:
            return None
        return self._relayed.status(ports, max(self.clock.at(now) - self._last, 0.0))

    def guarded(self) -> dict[int, tuple[stp.Guard, ...]]:
        """The ports that guards hold, and which."""
        return self.tree.guarded()

    def problems(self, now: float) -> Iterator[Problem]:
        """Ports that guards close."""
        return guard_problems(self.guarded())

    def around(self) -> stp.Around | None:
        """The bridge and the neighbours by port; None without a tree."""
        return self._relayed.around() if self.runs else None

    def states(self) -> dict[int, PortState] | None:
        """The state of each port whose link is up, as the datapath should have it; None without a
        tree."""
        return self._relayed.states() if self.runs else None

    # Storage

    def settled_on(
        self, believed: Mapping[int, PortState], actual: Mapping[int, PortState]
    ) -> bool:
        """Whether the whole tree is stored, and the datapath has its port states."""
        return self.runs and self.settled and believed == actual

    def unwritten(self) -> Revision | None:
        """The revision of the tree that is not stored yet; None when there is none."""
        return self._stored.unwritten()

    def written(self, revision: Revision) -> None:
        """Note that the tree is stored in that revision."""
        self._stored.written(revision)

    def dump(self, portions: Portions = AT_ONCE) -> dict[str, Any] | None:
        """The tree and its ports' names as JSON-serialisable data; None without one."""
        if not self.runs:
            return None
        return {"tree": dump.dump(self.tree, portions), "names": [*self.names().items()]}

    def restore(self, data: Any) -> list[str]:
        """Restore a dump, or what was still valid of it, before any port is known.

        Raises ValueError.

        The tree is paused.
        """
        if self.params is None:
            raise ValueError("spanning tree is off")
        if isinstance(data, Mapping) and "behind" in data:
            self._behind, self._address = read_neighbours(data)
            return []
        port = self._state.params.port
        revived = read_tree(data, self.params, self._trees, lambda name: port(name).stp)
        self._use(revived.tree)
        self.runs = True
        self.clock = PausableTime(paused=revived.at)
        self._address, self._last = revived.address, revived.at
        self._relayed.restore(revived.names)
        return []

    # The tree's time and effects

    def _time(self, now: float) -> float:
        self._last = self.clock.at(now)
        return self._last

    def _carry_out(self, wanted: Sequence[stp.Effect], blocked: bool = False) -> list[Effect]:
        self._stored.follow()
        return self._relayed.carry_out(wanted, self.clock.runs, blocked)

    def _done(self, wanted: Sequence[stp.Effect]) -> list[Effect]:
        return self._noted(self._carry_out(wanted))

    def _noted(self, effects: list[Effect]) -> list[Effect]:
        return self._stored.noted(effects, self._address)


def _link(port: Port, up: bool) -> stp.Link:
    return stp.Link(up, port.speed_mbps or 1000, port.full_duplex)
