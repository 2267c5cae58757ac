"""Actions that the spanning tree requests from its caller, besides `Event`s.

A list of effects is carried out in its order, which prevents loops: first every port that blocks,
then flushes and openings, then BPDUs.  A BPDU may promise that ports are blocked (an agreement), so
it must not overtake a block; the caller puts a barrier between.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ofapp.bridge.effects.content import PortState, SetPortState, TopologyChanged
from ofapp.bridge.event import Event


@dataclass(frozen=True, slots=True)
class FlushPort:
    """Forget every dynamic address learned on this port and no other (17.19.7, fdbFlush)."""

    port: int


@dataclass(frozen=True, slots=True)
class SendBpdu:
    """Send a complete Ethernet frame, without FCS, out of a port in any state.

    number: to be passed to `SpanningTree.left` when it has been sent.
    """

    port: int
    frame: bytes
    number: int = 0


Effect = SetPortState | FlushPort | SendBpdu | TopologyChanged | Event


def in_safe_order(effects: list[Effect], before: Mapping[int, PortState | None]) -> list[Effect]:
    """Reorder one step's effects: blocks, then the rest as it came, then BPDUs.

    before: the states that ports whose state has changed had when the step began; None: it is new.

    A port that the step opened and blocked again is not opened at all, and only the last opening
    of a port is kept: nothing happens between the two.
    """
    blocked: list[Effect] = []
    rest: list[Effect | None] = []
    bpdus: list[Effect] = []
    opening: dict[int, int] = {}
    said = dict(before)
    for effect in effects:
        if isinstance(effect, SendBpdu):
            bpdus.append(effect)
        elif not isinstance(effect, SetPortState):
            rest.append(effect)
        else:
            earlier = opening.pop(effect.port, None)
            if earlier is not None:
                rest[earlier] = None
            if effect.state is not PortState.DISCARDING:
                opening[effect.port] = len(rest)
                rest.append(effect)
            elif said.get(effect.port) is not PortState.DISCARDING:
                said[effect.port] = PortState.DISCARDING
                blocked.append(effect)
    return [*blocked, *(effect for effect in rest if effect is not None), *bpdus]
