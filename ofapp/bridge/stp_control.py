"""The bridge's spanning tree, running or not: started, stopped, revived, paused, gone on with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ofapp.bridge import stp
from ofapp.bridge.effects import SpokenFor, Unsettled
from ofapp.bridge.relay import Relay
from ofapp.bridge.spanning_tree import BridgeSpanningTree, Step, read_behind


class Stand(NamedTuple):
    """How far a tree has moved; two are equal while nothing has.

    tree: another one when it has begun anew.
    """

    tree: BridgeSpanningTree
    revision: int


class StpControl:
    """running: None while it is off, and before the bridge has its first port and so an address.

    remembered: who was behind the ports of a tree that is no more, by name.
    cautious_until: until then there may be switches that forward and nobody speaks for.
    """

    def __init__(self, relay: Relay, trees: stp.OwnTrees) -> None:
        """trees: those of the same controller, which the bridge's will join."""
        self.running: BridgeSpanningTree | None = None
        self.remembered: Mapping[str, int] = {}
        self.cautious_until = 0.0
        self._relay = relay
        self._trees = trees
        self._waits = False
        self._trace = False
        self._hears_of_leaving = False

    @property
    def runs(self) -> bool:
        """Whether there is a spanning tree."""
        return self.running is not None

    def unwritten(self) -> Stand | None:
        """Where the tree stands that nobody has written down yet; None when there is no such."""
        tree = self.running
        return None if tree is None or tree.settled else Stand(tree, tree.tree.revision)

    def written(self, stand: Stand) -> None:
        """The tree has been written down as it stood then."""
        stand.tree.settled = True

    def tree(self, params: stp.BridgeParams, address: int, now: float) -> BridgeSpanningTree:
        """The spanning tree, of a bridge that has one.

        It begins once its address is known: an identifier that changes later would move the root.
        """
        if self.running is None:
            self.running = BridgeSpanningTree(
                params, address, self._relay, self._trees, self.remembered
            )
            self._begun(self.running)
            if self._waits:
                self.running.clock.pause(now)
                self.running.tree.leave()
        return self.running

    def with_port(self, port: int) -> BridgeSpanningTree | None:
        """The tree that runs, if the port is in it."""
        return self.running if self.running is not None and port in self.running.ports else None

    def stop(self) -> list[Step]:
        """Run none; nothing is remembered of it but by who asked."""
        if self.running is None:
            return []
        self.running.tree.leave()
        self.running = None
        return [Unsettled({})]

    def states(self) -> dict[int, stp.PortState] | None:
        """The states that the tree believes its ports to be in; None where there is none."""
        return None if self.running is None else self.running.states()

    def settled_on(
        self, believed: Mapping[int, stp.PortState], actual: Mapping[int, stp.PortState]
    ) -> bool:
        """Whether what is remembered is the whole tree, and the datapath is as it believed."""
        return self.running is not None and self.running.settled and believed == actual

    def behind(self) -> dict[str, int]:
        """Who is behind the ports of the tree that runs, by name."""
        return {} if self.running is None else self.running.behind()

    def revive(
        self,
        params: stp.BridgeParams,
        data: Mapping[str, Any],
        port_params: Callable[[str], stp.PortParams],
    ) -> None:
        """Remember what was dumped, or said in `Unsettled`, before any port is known; ValueError.

        The tree stands still until `go_on`.
        """
        if isinstance(data, Mapping) and "behind" in data:
            self.remembered = read_behind(data["behind"])
            return
        self.running = BridgeSpanningTree.revive(
            params, data, self._relay, self._trees, port_params
        )
        self._begun(self.running)

    def pause(self, now: float) -> None:
        """The switch is away."""
        self._waits = True
        if self.running is not None:
            self.running.clock.pause(now)
            self.running.tree.leave()

    def wait(self) -> None:
        """The switch is back; it is not known yet what it holds."""
        self._waits = True

    def go_on(self, now: float) -> list[Step]:
        """The datapath is in the state that the tree believes it is in: hear and be heard."""
        self._waits, self.remembered = False, {}
        steps: list[Step] = [SpokenFor()]
        if self.running is not None:
            steps += self.running.go_on(self.cautious_until, now)
        return steps

    def be_cautious(self, until: float) -> None:
        """There may be switches, until then, that forward and nobody speaks for."""
        self.cautious_until = until

    def beware(self, until: float, now: float) -> list[Step]:
        """A neighbour's switch may forward although nobody speaks for it, until then."""
        self.cautious_until = max(self.cautious_until, until)
        if self.running is None or self._waits:
            return []
        return self.running.beware(self.cautious_until, now)

    def calm(self, now: float) -> list[Step]:
        """Somebody speaks for every switch again."""
        self.cautious_until = now
        if self.running is None or self._waits:
            return []
        return self.running.calm(now)

    def borders_on(self, address: int) -> bool:
        """Whether the tree has heard the bridge with this address behind a port."""
        return self.running is not None and address in self.running.tree.behind.values()

    def hear_of_leaving(self) -> None:
        """From now on somebody says when BPDUs have been sent (`Bridge.bpdus_left`); otherwise they
        are as soon as they are said."""
        self._hears_of_leaving = True
        if self.running is not None:
            self._begun(self.running)

    def _begun(self, running: BridgeSpanningTree) -> None:
        running.tree.trace = self._trace
        if self._hears_of_leaving:
            running.tree.hear_of_leaving()

    def set_trace(self, wanted: bool) -> None:
        """Have BPDUs told as events, which costs more than the protocol itself."""
        self._trace = wanted
        if self.running is not None:
            self.running.tree.trace = wanted
