"""What follows from the states of ports: the sets of ports that floods and multicast leave by.

A thousand ports may open in one step, so the sets are worked out once for all that change together:
before whatever waits for it, a barrier or, when a port has closed, a frame that is sent.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ofapp.bridge.effects import Barrier, ClosePort, Effect, SendFrame, SetFlood
from ofapp.bridge.spanning import Step
from ofapp.bridge.stp import PortState, SetPortState, TopologyChanged

if TYPE_CHECKING:
    from ofapp.bridge.bridge import Bridge


def followed(bridge: Bridge, steps: Iterable[Step], now: float) -> list[Effect]:
    """The steps, and what follows from them; of topology changes only what follows."""
    effects: list[Effect] = []
    states: dict[int, tuple[bool, bool]] = {}
    for step in steps:
        waits = isinstance(step, (Barrier, TopologyChanged))
        if states and (waits or (isinstance(step, SendFrame) and _closes(bridge, states))):
            effects += _settled(bridge, states, now)
            states = {}
        if isinstance(step, TopologyChanged):
            if bridge.multicasting is not None:
                effects += bridge.multicasting.topology_change(now)
            continue
        effects.append(step)
        if isinstance(step, SetPortState):
            forwards = step.state is PortState.FORWARDING
            states[step.port] = forwards, bridge.is_edge(step.port)
        elif isinstance(step, ClosePort):
            states[step.port] = False, True
    return effects + _settled(bridge, states, now)


def _closes(bridge: Bridge, states: dict[int, tuple[bool, bool]]) -> bool:
    """Whether a port that frames leave by is to be closed; opening can wait for those to come."""
    return any(not forwards and port in bridge.flooded for port, (forwards, _) in states.items())


def _settled(bridge: Bridge, states: dict[int, tuple[bool, bool]], now: float) -> list[Effect]:
    """states: of ports that have changed: whether they forward, and are edges."""
    effects: list[Effect] = []
    opened = {port for port, (forwards, _) in states.items() if forwards}
    flooded = (bridge.flooded | opened) - (states.keys() - opened)
    if flooded != bridge.flooded:
        bridge.flooded = flooded
        effects.append(SetFlood(flooded))
    if bridge.multicasting is not None:
        effects += bridge.multicasting.set_port_states(states, now)
    return effects
