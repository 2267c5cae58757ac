"""The sets of ports that floods and multicast leave by, as they follow from port states.

A thousand ports may open in one step, so the sets are computed once for all that change together:
before an effect that depends on them, a barrier or, when a port has closed, a frame that is sent.
"""

from __future__ import annotations

from collections.abc import Iterable

from ofapp.bridge.effects import Barrier, ClosePort, Effect, SendFrame, SetFlood, Unsettled
from ofapp.bridge.multicast.on_bridge import BridgeSnooping
from ofapp.bridge.stp import PortState, SetPortState, TopologyChanged
from ofapp.bridge.stp.on_bridge import BridgeSpanningTree, Moved, Step


class Flooding:
    """ports: those that frames to unknown destinations leave by, as last emitted."""

    def __init__(self) -> None:
        self.ports: frozenset[int] = frozenset()

    def follow(
        self,
        steps: Iterable[Step],
        tree: BridgeSpanningTree | None,
        snooper: BridgeSnooping | None,
        now: float,
    ) -> list[Effect]:
        """The effects for these steps, all of which have been taken.

        Topology changes are replaced by their effects; `Moved` becomes one `Unsettled`.
        tree: knows which ports are edges; snooper: gets port states and topology changes.
        """
        effects: list[Effect] = []
        states: dict[int, tuple[bool, bool]] = {}
        written = False
        for step in steps:
            if isinstance(step, Moved):
                if not written and tree is not None:
                    effects.append(Unsettled(tree.behind(), tree.address))
                written = True
                continue
            waits = isinstance(step, (Barrier, TopologyChanged))
            if states and (waits or (isinstance(step, SendFrame) and self._closes(states))):
                effects += self._settle(states, snooper, now)
                states = {}
            if isinstance(step, TopologyChanged):
                if snooper is not None:
                    effects += snooper.topology_change(now)
                continue
            effects.append(step)
            if isinstance(step, SetPortState):
                forwards = step.state is PortState.FORWARDING
                states[step.port] = forwards, tree is None or tree.is_edge(step.port)
            elif isinstance(step, ClosePort):
                states[step.port] = False, True
        return effects + self._settle(states, snooper, now)

    def _closes(self, states: dict[int, tuple[bool, bool]]) -> bool:
        """Whether a port that frames leave by is to be closed; opening a port can wait."""
        return any(not forwards and port in self.ports for port, (forwards, _) in states.items())

    def _settle(
        self, states: dict[int, tuple[bool, bool]], snooper: BridgeSnooping | None, now: float
    ) -> list[Effect]:
        """Emit the changed sets.  states: of changed ports: whether they forward, and are edges."""
        effects: list[Effect] = []
        opened = {port for port, (forwards, _) in states.items() if forwards}
        ports = (self.ports | opened) - (states.keys() - opened)
        if ports != self.ports:
            self.ports = ports
            effects.append(SetFlood(ports))
        if snooper is not None:
            effects += snooper.set_port_states(states, now)
        return effects
