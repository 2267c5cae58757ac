"""How long a switch still forwards by old flows after its barrier reply.

A barrier's reply says that Open vSwitch's tables have changed. Its datapath forwards by its cache
until that is revalidated, which is not reported: 12 ms later (32 at most) on a switch of three
bridges, 47 (191) on one of a hundred with 3,000 flows in its cache, on a busy machine [measured].
A port that another bridge takes for closed in that time makes a loop.

The same load that makes the datapath late makes the reply late, so the reply's own time is the
measure: with a hundred bridges on two cores the cache was two to three times that late [measured].
It is bounded, because a network must converge; a later cache may cost duplicate frames.
"""

from __future__ import annotations

from ofapp.bridge.effects import Barrier, Effect, Reprogram

FACTOR, BUSY_FACTOR = 2.0, 3.0
BUSY = 0.005
"""Seconds to answer a barrier, from which on a switch has other things to do."""
LEAST = 0.001
MOST = 0.5
"""Seconds."""


def grace(answered: float) -> float:
    """Seconds to wait once a switch has answered a barrier after `answered` seconds."""
    factor = FACTOR if answered < BUSY else BUSY_FACTOR
    return min(max(factor * answered, LEAST), MOST)


def until_barrier(effects: list[Effect]) -> tuple[list[Effect], list[Effect] | None]:
    """What is to be sent now, and what waits until the switch has carried that out, if anything.

    A `Reprogram` is sent when nothing else waits any more: the bridge is ahead of its switch,
    and ports would open before others, which must be closed by then, are.
    """
    at = next((i for i, effect in enumerate(effects) if type(effect) is Barrier), None)
    if at is None:
        return effects, None
    now, later = effects[:at], effects[at + 1 :]
    if Reprogram() in now:
        now = [effect for effect in now if effect != Reprogram()]
        later.append(Reprogram())
    return now, later
