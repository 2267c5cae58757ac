"""When an agent sends (802.1AB-2016 9.2.8, 9.2.10): a timer, a fast start, and a credit.

The standard counts its timers down once a second; here they are instants, and the credit grows
continuously.
"""

FAST_TX = 1.0
"""msgFastTx (9.2.5.5), in seconds."""
FAST_INIT = 4
"""txFastInit (9.2.5.19): frames that are sent at msgFastTx for a new neighbour."""
CREDIT_MAX = 5
"""txCreditMax (9.2.5.17): frames that may leave one after another; one more each second."""
REINIT_DELAY = 2.0
"""reinitDelay (9.2.5.10): seconds from a shutdown until something is sent again."""
_SPREAD = 0.1
_GOLDEN = 0.618034


class Transmitter:
    """The transmit timers of one port.

    number: the port's, by which it sends up to a tenth of the interval earlier, so that a bridge's
    ports do not all send at the same instant.
    """

    __slots__ = ("_credit", "_credit_at", "_early", "_fast", "_next", "_wanted", "interval")

    def __init__(self, interval: float, number: int, now: float) -> None:
        self.interval = interval
        self._early = 1 - _SPREAD * (number * _GOLDEN % 1)
        self._credit, self._credit_at = float(CREDIT_MAX), now
        self._fast = 0
        self._next = now
        self._wanted = False

    def restart(self, at: float) -> None:
        """Start again, with the first frame at `at`."""
        self._next, self._wanted, self._fast = at, False, 0

    def changed(self) -> None:
        """Send soon, as the local information has changed (localChange, 9.2.5.4)."""
        self._wanted = True

    def new_neighbour(self) -> None:
        """Begin a fast start for a new neighbour (newNeighbor, 9.2.5.12)."""
        if not self._fast:
            self._fast = FAST_INIT - 1
            self._wanted = True

    def due(self) -> float:
        """When to call `take`."""
        if not self._wanted:
            return self._next
        return self._credit_at + max(1 - self._credit, 0)

    def take(self, now: float) -> bool:
        """Whether to send now."""
        if now >= self._next:
            self._fast = max(self._fast - 1, 0)
            self._wanted = True
        if not self._wanted:
            return False
        self._next = now + (FAST_TX if self._fast else self.interval * self._early)
        self._credit = min(self._credit + now - self._credit_at, float(CREDIT_MAX))
        self._credit_at = now
        if self._credit < 1:
            return False
        self._credit -= 1
        self._wanted = False
        return True
