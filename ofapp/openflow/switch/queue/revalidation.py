"""How long a switch's datapath forwards by its cache, after the switch has confirmed new flows.

A barrier's reply says that Open vSwitch's tables have changed.  The datapath forwards by its cache
until a thread has revalidated that, and no message reports it.  A port that another bridge takes
for closed in that time makes a loop.

But each cached flow refers to the flows that it was made from.  Open vSwitch reports a flow as
removed when nothing refers to it any more, so not before the cached flows of a port that closes
were revalidated.  These are revalidated among all others, in one pass.  So the time until the
report is taken for the first half of the pass at least, and the same time is waited again.

Median and longest time in milliseconds until the last frame of a closed port, with so many cached
flows and busy processes on two cores [measured, `tests/bench/revalidation.py`]:

    flows    processes   reply        last frame   report
      100       3        0.3 / 2.9     0 / 4.3     1.7 / 6.0
    3,000       0        0.2 / 0.4     5 / 8.5     6.3 / 11
    3,000       3        0.5 / 9.6     6 / 14      9.4 / 15
   10,000       0        0.2 / 0.4    18 / 28       21 / 32

The report came too early only in the first turns, when the cached flows were new: they refer to
nothing until the first pass.  The reply's time is a measure, too: what makes the datapath late
makes the reply late, where nothing is reported.
"""

LEAST = 0.001
MOST = 0.5
"""Seconds.  It is bounded, because a network must converge; a later cache may cost duplicates."""

FACTOR, BUSY_FACTOR = 2.0, 3.0
BUSY = 0.005
"""Seconds to answer a barrier, from which on a switch has other things to do."""


def grace(answered: float) -> float:
    """Seconds to wait once a switch has answered a barrier after `answered` seconds."""
    factor = FACTOR if answered < BUSY else BUSY_FACTOR
    return min(max(factor * answered, LEAST), MOST)


class Revalidation:
    """One wait for the datapath.

    sent: when the change was sent; answered: when the switch answered the barrier after it.
    """

    def __init__(self, sent: float, answered: float) -> None:
        self._sent = sent
        self._least = answered + grace(answered - sent)
        self.latest = answered + MOST

    def rest(self, reported: float) -> float:
        """Seconds still to wait, when all flows were reported as removed at `reported`."""
        due = max(self._least, reported + max(reported - self._sent, LEAST))
        return max(min(due, self.latest) - reported, 0.0)
