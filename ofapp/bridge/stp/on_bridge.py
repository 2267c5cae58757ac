"""Spanning tree on a bridge: it opens and closes the bridge's ports.

Without spanning tree each port is open while its link is up.  LOCAL has no part in the tree.

The tree begins once the bridge's address is known: an identifier that changes later would move the
root.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ofapp.bridge import stp
from ofapp.bridge.effects import ClosePort, Effect, SpokenFor
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.protocol import Protocol, Reconfigured
from ofapp.bridge.state import BridgeState
from ofapp.bridge.stp import PortState
from ofapp.bridge.stp.running import RunningTree, invalid_but, read_address, read_behind
from ofapp.common.portions import AT_ONCE, Portions

PORTION = 64
"""Ports that `restart` adds at a time."""


class Revision(NamedTuple):
    """The revision of a tree; two are equal while nothing has changed.

    tree: another object for a new tree.
    """

    tree: RunningTree
    number: int


class SpanningTreeOnBridge(Protocol[stp.BridgeParams]):
    """running: None while it is off, and before the bridge has its first port and so an address.

    cautious_until: until then there may be switches that forward without a controller.
    """

    name = "stp"
    hears = ("bpdu",)

    def __init__(self, state: BridgeState) -> None:
        super().__init__(state)
        self.running: RunningTree | None = None
        self.cautious_until = 0.0
        self._relay = state.relay
        self._trees = state.shared.trees
        self._behind: Mapping[str, int] = {}  # neighbours of a former tree's ports, by port name
        self._address: int | None = None  # of the last tree
        self._waits = False
        self._trace = False
        self._reports_sent = False

    # Ports

    def put_ports(self, ports: Sequence[Port], now: float) -> list[Effect]:
        """Add ports to the tree or apply their links; without a tree, open those that are up."""
        effects: list[Effect] = []
        linked: list[Port] = []
        for port in ports:
            if self.params is not None and port.number != LOCAL_PORT:
                linked.append(port)
            elif self._state.usable(port) and port.number not in self._relay.states:
                effects += self._relay.set_state(port.number, PortState.FORWARDING)
        return effects + self._link(linked, now)

    def _link(self, ports: Sequence[Port], now: float) -> list[Effect]:
        if not ports or self.params is None:
            return []
        state, known = self._state, []
        for port in ports:
            up = state.usable(port)
            seen = port if port.up is up else replace(port, up=up)
            known.append((seen, state.params.port(port.name, port.number).stp))
        return self._noted(self._tree(self.params, now).link(known, now))

    def remove_ports(self, numbers: Sequence[int], now: float) -> list[Effect]:
        """Remove ports from the tree."""
        return [] if self.running is None else self._noted(self.running.remove(numbers, now))

    def retain(self, names: Mapping[int, str], now: float) -> list[Effect]:
        """Remove restored ports that are no longer present with the same number and name."""
        tree = self.running
        return [] if tree is None else self.remove_ports(tree.absent(names), now)

    def is_edge(self, port: int) -> bool:
        """Whether no other bridge is known behind the port."""
        return self.running is None or self.running.is_edge(port)

    def traps(self, port: int) -> bool:
        """Whether BPDUs that arrive on the port go to the spanning tree."""
        return self.running is not None and self.running.traps(port)

    # Parameters

    def set_params(self, change: Reconfigured, now: float) -> list[Effect]:
        """Start, administer or stop the tree, and administer its ports."""
        effects: list[Effect] = []
        if self.params != change.before.stp:
            if self.params is not None and self.running is not None:
                effects += self.running.set_bridge_params(self.params, now)
            else:
                effects += self._begin(now)
        for port, before, new in change.ports:
            tree = self._with_port(port.number)
            if tree is not None and new.stp != before.stp:
                effects += tree.set_port_params(port.number, new.stp, now)
        return self._noted(effects)

    def _begin(self, now: float) -> list[Effect]:
        """Start a new tree instead of the old one; none when it is off."""
        effects = self._stop()
        ports = self._expected(now)
        return effects + (self._link(ports, now) if self.params is not None else self._open(ports))

    def _stop(self) -> list[Effect]:
        """Stop the tree; nothing of it stays stored, except by the caller."""
        if self.running is None:
            return []
        self.running.tree.leave()
        self.running = None
        return [invalid_but({}, self._address)]

    def _expected(self, now: float) -> list[Port]:
        """The ports to add to a tree that starts, which learns first which of them are up."""
        ports = [port for port in self._state.ports if port.number != LOCAL_PORT]
        up = [port.number for port in ports if self._state.usable(port)]
        if up and self.params is not None:
            self._tree(self.params, now).expect(up)
        return ports

    def _open(self, ports: Iterable[Port]) -> list[Effect]:
        return [
            effect
            for port in ports
            if self._state.usable(port)
            for effect in self._relay.set_state(port.number, PortState.FORWARDING)
        ]

    def _tree(self, params: stp.BridgeParams, now: float) -> RunningTree:
        """The running tree, which is started if there is none."""
        if self.running is None:
            address = self._state.address
            if self._address is not None and self._address != address:
                self._trees.replace(self._address)
            self._address = address
            self.running = RunningTree(params, address, self._relay, self._trees, self._behind)
            self._begun(self.running)
            if self._waits:
                self.running.clock.pause(now)
                self.running.tree.leave()
            else:
                self.running.beware(self.cautious_until, now)
        return self.running

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
        behind = {} if self.running is None else self.running.behind()
        effects: list[Effect] = []
        if lost:
            effects += [ClosePort(port) for port in self._relay.states]
            self._relay.lose()
        effects += self._stop()
        if not lost:
            effects += self._open(port for port in state.ports if port.number != LOCAL_PORT)
        self._behind = behind
        try:
            ports = [port.number for port in self._expected(now)]
            yield effects
            for at in range(0, len(ports), PORTION):
                present = filter(None, map(state.ports.get, ports[at : at + PORTION]))
                yield self._link([*present], clock())
        finally:
            self._behind = {}
        local = state.ports.get(LOCAL_PORT)
        if lost and local is not None and state.usable(local):
            yield self._relay.set_state(LOCAL_PORT, PortState.FORWARDING)

    # Frames and time

    def hear(self, kind: str, frames: Sequence[tuple[int, bytes]], now: float) -> list[Effect]:
        """Handle frames to the bridge group address: all are read before any is answered."""
        return [] if self.running is None else self._noted(self.running.bpdus(frames, now))

    def bpdus_left(self, left: Iterable[tuple[int, int]], now: float) -> None:
        """Note BPDUs that were sent: (port, `SendFrame.bpdu`).  `tick` may be due sooner."""
        if self.running is not None:
            self.running.bpdus_left(left, now)

    def tick(self, now: float) -> list[Effect]:
        """Let time pass."""
        return [] if self.running is None else self._noted(self.running.tick(now))

    def next_wakeup(self) -> float | None:
        """When `tick` is due; None while paused or when nothing is."""
        return None if self.running is None else self.running.next_wakeup()

    def beat(self, now: float) -> None:
        """Note that the controller runs."""
        if self.running is not None:
            self.running.clock.beat(now)

    # The switch's connection, and other switches

    def pause(self, now: float) -> None:
        """Pause the tree while the switch is disconnected."""
        self._waits = True
        if self.running is not None:
            self.running.clock.pause(now)
            self.running.tree.leave()

    def resume(self, now: float) -> None:
        """Wait after the switch has reconnected, until its flows are known."""
        self._waits = True

    def go_on(self, now: float) -> list[Effect]:
        """Run the tree again: the datapath has its port states."""
        self._waits, self._behind = False, {}
        effects: list[Effect] = [SpokenFor()]
        if self.running is not None:
            effects += self.running.go_on(self.cautious_until, now)
        return self._noted(effects)

    def be_cautious(self, until: float) -> None:
        """Until then there may be switches that forward without a controller."""
        self.cautious_until = until

    def beware(self, until: float, now: float) -> list[Effect]:
        """Until then expect a neighbouring switch that forwards without a controller."""
        self.cautious_until = max(self.cautious_until, until)
        if self.running is None or self._waits:
            return []
        return self._noted(self.running.beware(self.cautious_until, now))

    def calm(self, now: float) -> list[Effect]:
        """Every switch has a controller again."""
        self.cautious_until = now
        if self.running is None or self._waits:
            return []
        return self._noted(self.running.calm(now))

    def borders_on(self, address: int) -> bool:
        """Whether the tree has heard the bridge with this address behind a port."""
        return self.running is not None and address in self.running.tree.behind.values()

    # Commands

    def recover(self, port: int, now: float) -> list[Effect]:
        """Free a port from the guard that holds it."""
        tree = self._with_port(port)
        return [] if tree is None else self._noted(tree.recover(port, now))

    def check_migration(self, port: int, now: float) -> list[Effect]:
        """Have a port send RSTP again, and detect what its neighbour runs."""
        tree = self._with_port(port)
        return [] if tree is None else self._noted(tree.check_migration(port, now))

    def _with_port(self, port: int) -> RunningTree | None:
        return self.running if self.running is not None and port in self.running.ports else None

    def hear_of_leaving(self) -> None:
        """Expect a report when BPDUs have been sent (`bpdus_left`); otherwise they count as sent at
        once."""
        self._reports_sent = True
        if self.running is not None:
            self._begun(self.running)

    def set_trace(self, wanted: bool) -> None:
        """Report BPDUs as events, which costs more than the protocol itself."""
        self._trace = wanted
        if self.running is not None:
            self.running.tree.trace = wanted

    def _begun(self, running: RunningTree) -> None:
        running.tree.trace = self._trace
        if self._reports_sent:
            running.tree.hear_of_leaving()

    # Values

    @property
    def runs(self) -> bool:
        """Whether there is a spanning tree."""
        return self.running is not None

    def status(self, now: float, ports: Iterable[int] | None = None) -> stp.BridgeStatus | None:
        """The state of the tree, and of those of `ports` that are in it, or of all."""
        tree = self.running
        if tree is None:
            return None
        return tree.status(now, ports and [port for port in ports if port in tree.ports])

    def guarded(self) -> dict[int, tuple[stp.Guard, ...]]:
        """The ports that guards hold, and which."""
        return {} if self.running is None else self.running.tree.guarded()

    def around(self) -> stp.Around | None:
        """The neighbours by port; None without a tree."""
        return None if self.running is None else self.running.around()

    def states(self) -> dict[int, PortState] | None:
        """The tree's port states; None where there is no tree."""
        return None if self.running is None else self.running.states()

    # Storage

    def _noted(self, effects: list[Effect]) -> list[Effect]:
        """The effects, after the notice that the stored tree is no longer valid, if it is not."""
        return effects if self.running is None else [*self.running.unsettled(), *effects]

    def settled_on(
        self, believed: Mapping[int, PortState], actual: Mapping[int, PortState]
    ) -> bool:
        """Whether the whole tree is stored, and the datapath has its port states."""
        return self.running is not None and self.running.settled and believed == actual

    def unwritten(self) -> Revision | None:
        """The revision of the tree that is not stored yet; None when there is none."""
        tree = self.running
        return None if tree is None or tree.settled else Revision(tree, tree.tree.revision)

    def written(self, revision: Revision) -> None:
        """Note that the tree is stored in that revision."""
        revision.tree.settled = True

    def dump(self, portions: Portions = AT_ONCE) -> dict[str, Any] | None:
        """The tree as JSON-serialisable data; None without one."""
        return None if self.running is None else self.running.dump(portions)

    def restore(self, data: Any) -> list[str]:
        """Restore a dump, or what was still valid of it, before any port is known; ValueError."""
        if self.params is None:
            raise ValueError("spanning tree is off")
        if isinstance(data, Mapping) and "behind" in data:
            self._behind = read_behind(data["behind"])
            self._address = read_address(data)
            return []
        params = self._state.params
        self.running = RunningTree.restore(
            self.params, data, self._relay, self._trees, lambda name: params.port(name).stp
        )
        self._address = self.running.address
        self._begun(self.running)
        return []
