"""How long a switch still forwards as before, after it has said that it does not.

A barrier's reply says that Open vSwitch's tables have changed. Its datapath forwards by what it has
in its cache until that is looked through, which nobody is told of: 12 ms later (32 at most) on a
switch of three bridges, 47 (191) on one of a hundred with 3,000 flows in its cache, on a busy
machine [measured]. A port that another bridge takes for closed in that time makes a loop of it.

The same load that makes the datapath late makes the reply late, so the reply's own time is the
measure.  It is bounded, for a network must heal; what is later than that may cost copies of frames.
"""

from __future__ import annotations

FACTOR = 2.0
LEAST = 0.001
MOST = 0.05
"""Seconds; less than `stp.transmit.AGREEMENT_DELAY`, which an agreement must not outlast."""


def grace(answered: float) -> float:
    """Seconds to wait once a switch has answered a barrier after `answered` seconds."""
    return min(max(FACTOR * answered, LEAST), MOST)
