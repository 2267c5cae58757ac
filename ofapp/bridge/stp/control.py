"""The bridge's spanning tree, running or not: start, stop, restore, pause and resume."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ofapp.bridge import stp
from ofapp.bridge.effects import SpokenFor, Unsettled
from ofapp.bridge.ports.relay import Relay
from ofapp.bridge.stp.on_bridge import BridgeSpanningTree, Step, read_address, read_behind


class Stand(NamedTuple):
    """The revision of a tree; two are equal while nothing has changed.

    tree: another object for a new tree.
    """

    tree: BridgeSpanningTree
    revision: int


class StpControl:
    """running: None while it is off, and before the bridge has its first port and so an address.

    remembered: the neighbours of a former tree's ports, by port name.
    cautious_until: until then there may be switches that forward without a controller.
    """

    def __init__(self, relay: Relay, trees: stp.OwnTrees) -> None:
        """trees: those of the same controller, which the bridge's will join."""
        self.running: BridgeSpanningTree | None = None
        self.remembered: Mapping[str, int] = {}
        self.cautious_until = 0.0
        self._relay = relay
        self._trees = trees
        self._address: int | None = None  # of the last tree
        self._waits = False
        self._trace = False
        self._hears_of_leaving = False

    @property
    def runs(self) -> bool:
        """Whether there is a spanning tree."""
        return self.running is not None

    def unwritten(self) -> Stand | None:
        """The revision of the tree that is not stored yet; None when there is none."""
        tree = self.running
        return None if tree is None or tree.settled else Stand(tree, tree.tree.revision)

    def written(self, stand: Stand) -> None:
        """Note that the tree is stored in that revision."""
        stand.tree.settled = True

    def tree(self, params: stp.BridgeParams, address: int, now: float) -> BridgeSpanningTree:
        """The spanning tree, of a bridge that has one.

        It begins once its address is known: an identifier that changes later would move the root.
        """
        if self.running is None:
            if self._address is not None and self._address != address:
                self._trees.replace(self._address)
            self._address = address
            self.running = BridgeSpanningTree(
                params, address, self._relay, self._trees, self.remembered
            )
            self._begun(self.running)
            if self._waits:
                self.running.clock.pause(now)
                self.running.tree.leave()
            else:
                self.running.beware(self.cautious_until, now)
        return self.running

    def with_port(self, port: int) -> BridgeSpanningTree | None:
        """The tree that runs, if the port is in it."""
        return self.running if self.running is not None and port in self.running.ports else None

    def stop(self) -> list[Step]:
        """Stop the tree; nothing of it is stored, except by the caller."""
        if self.running is None:
            return []
        self.running.tree.leave()
        self.running = None
        return [Unsettled({}, self._address)]

    def states(self) -> dict[int, stp.PortState] | None:
        """The tree's port states; None where there is no tree."""
        return None if self.running is None else self.running.states()

    def settled_on(
        self, believed: Mapping[int, stp.PortState], actual: Mapping[int, stp.PortState]
    ) -> bool:
        """Whether the whole tree is stored, and the datapath has its port states."""
        return self.running is not None and self.running.settled and believed == actual

    def behind(self) -> dict[str, int]:
        """The neighbours of the running tree's ports, by port name."""
        return {} if self.running is None else self.running.behind()

    def revive(
        self,
        params: stp.BridgeParams,
        data: Mapping[str, Any],
        port_params: Callable[[str], stp.PortParams],
    ) -> None:
        """Restore a dump, or the data of `Unsettled`, before any port is known; ValueError.

        The tree is paused until `go_on`.
        """
        if isinstance(data, Mapping) and "behind" in data:
            self.remembered = read_behind(data["behind"])
            self._address = read_address(data)
            return
        self.running = BridgeSpanningTree.revive(
            params, data, self._relay, self._trees, port_params
        )
        self._address = self.running.address
        self._begun(self.running)

    def pause(self, now: float) -> None:
        """Pause the tree while the switch is disconnected."""
        self._waits = True
        if self.running is not None:
            self.running.clock.pause(now)
            self.running.tree.leave()

    def wait(self) -> None:
        """Wait after the switch has reconnected, until its flows are known."""
        self._waits = True

    def go_on(self, now: float) -> list[Step]:
        """Run the tree again: the datapath has its port states."""
        self._waits, self.remembered = False, {}
        steps: list[Step] = [SpokenFor()]
        if self.running is not None:
            steps += self.running.go_on(self.cautious_until, now)
        return steps

    def be_cautious(self, until: float) -> None:
        """Until then there may be switches that forward without a controller."""
        self.cautious_until = until

    def beware(self, until: float, now: float) -> list[Step]:
        """Until then expect a neighbouring switch that forwards without a controller."""
        self.cautious_until = max(self.cautious_until, until)
        if self.running is None or self._waits:
            return []
        return self.running.beware(self.cautious_until, now)

    def calm(self, now: float) -> list[Step]:
        """Every switch has a controller again."""
        self.cautious_until = now
        if self.running is None or self._waits:
            return []
        return self.running.calm(now)

    def borders_on(self, address: int) -> bool:
        """Whether the tree has heard the bridge with this address behind a port."""
        return self.running is not None and address in self.running.tree.behind.values()

    def hear_of_leaving(self) -> None:
        """Expect a report when BPDUs have been sent (`Bridge.bpdus_left`); otherwise they count as
        sent at once."""
        self._hears_of_leaving = True
        if self.running is not None:
            self._begun(self.running)

    def _begun(self, running: BridgeSpanningTree) -> None:
        running.tree.trace = self._trace
        if self._hears_of_leaving:
            running.tree.hear_of_leaving()

    def set_trace(self, wanted: bool) -> None:
        """Report BPDUs as events, which costs more than the protocol itself."""
        self._trace = wanted
        if self.running is not None:
            self.running.tree.trace = wanted
