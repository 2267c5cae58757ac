"""What follows from port states: the sets of ports that floods and multicast leave by, and whether
frames to static addresses pass.

A thousand ports may open in one step, so the sets are computed once for all that change together:
before an effect that depends on them, a barrier or, when a port has closed, a frame that is sent.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from ofapp.bridge.effects import Barrier, ClosePort, Effect, SendFrame, SetFlood
from ofapp.bridge.effects.content import PortState, SetPortState, TopologyChanged
from ofapp.bridge.fdb.static_entries import StaticEntries

_States = dict[int, tuple[bool, bool]]


class Follower(Protocol):
    """What follows port states and topology changes: a protocol of the bridge."""

    def change_topology(self, now: float) -> list[Effect]: ...
    def set_port_states(
        self, states: Mapping[int, tuple[bool, bool]], now: float
    ) -> list[Effect]: ...


class Flooding:
    """ports: those that frames to unknown destinations leave by, as last emitted."""

    def __init__(
        self,
        protocols: Sequence[Follower],
        is_edge: Callable[[int], bool],
        static_entries: StaticEntries,
    ) -> None:
        """protocols: they get port states and topology changes;
        is_edge: whether a port is an edge."""
        self.ports: frozenset[int] = frozenset()
        self._protocols = protocols
        self._is_edge = is_edge
        self._static_entries = static_entries

    def follow(self, effects: Iterable[Effect], now: float) -> list[Effect]:
        """The effects, and those that follow from port states and topology changes in them.

        What the effects say has happened already, all of it.
        """
        result: list[Effect] = []
        states: _States = {}
        for effect in effects:
            waits = isinstance(effect, (Barrier, TopologyChanged))
            if states and (waits or (isinstance(effect, SendFrame) and self._closes(states))):
                result += self._settle(states, now)
                states = {}
            if isinstance(effect, TopologyChanged):
                for protocol in self._protocols:
                    result += protocol.change_topology(now)
                continue
            result.append(effect)
            if isinstance(effect, SetPortState):
                forwards = effect.state is PortState.FORWARDING
                states[effect.port] = forwards, self._is_edge(effect.port)
            elif isinstance(effect, ClosePort):
                states[effect.port] = False, True
        return result + self._settle(states, now) if states else result

    def _closes(self, states: _States) -> bool:
        """Whether a port that frames leave by is to be closed; opening a port can wait."""
        return any(not forwards and port in self.ports for port, (forwards, _) in states.items())

    def _settle(self, states: _States, now: float) -> list[Effect]:
        """Emit the changed sets.  states: whether changed ports forward, and are edges."""
        effects: list[Effect] = []
        opened = {port for port, (forwards, _) in states.items() if forwards}
        ports = (self.ports | opened) - (states.keys() - opened)
        if ports != self.ports:
            self.ports = ports
            effects.append(SetFlood(ports))
        forwarding = {port: forwards for port, (forwards, _) in states.items()}
        effects += self._static_entries.follow(forwarding)
        for protocol in self._protocols:
            effects += protocol.set_port_states(states, now)
        return effects
