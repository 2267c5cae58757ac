"""Flow control: how much may be sent to a switch before it has answered.

A switch under a flood of new addresses carries out some ten thousand a second, and all that is
sent queues behind them, in its socket and in ours: hellos of spanning tree were 1.4 s late
[measured].  So a barrier asks the switch how far it has come, and new addresses wait here, where
they delay nothing else, until it has answered.

What waited goes at once then.  A portion costs a switch a fixed time, and some for
each address (see `openflow.switch.encode.encoder.MANY`); both are estimated from its answers.  A
portion is what it does in `PATIENCE`, or in as much time as it needs for any portion, which is half
its speed at least: on a busy machine, or with very many addresses, smaller ones would take as long.
Where other bridges of the same ovs-vswitchd wait for their turn (`main_thread`), what a portion
takes is mostly due to them: no estimate is made from it, and portions are small.
"""

from collections.abc import Callable

from ofapp.openflow.wire.main_thread import MainThread

SMALLEST, LARGEST = 8 << 10, 256 << 10
SHARED = 16 << 10
"""Bytes of a portion while other bridges of the same ovs-vswitchd wait for their turn."""
MARK = 4 << 10
"""Bytes between two barriers."""
PATIENCE = 0.01
"""Seconds that a portion should take."""
HOST = 240
"""Bytes of the messages for one address, about."""
_MEMORY = 0.9
"""Weight of an answer when the next one comes."""


def _nothing() -> None: ...


class FlowControl:
    """Bytes sent and answered on one connection; size: how many may go at once.

    thread: what the switch's bridges share; ready: called when it is this one's turn.
    """

    def __init__(
        self, thread: MainThread | None = None, ready: Callable[[], None] = _nothing
    ) -> None:
        self.size = 64 << 10
        self.ready = ready
        self._thread = thread or MainThread()
        self._sent = 0
        self._answered = 0
        self._marked = 0
        self._costs = _Costs()
        self._halved = False
        self._quick = False  # carries out all there may be within its patience: not waited for

    @property
    def is_open(self) -> bool:
        """Whether more may be sent."""
        if self._quick:
            return self._sent - self._answered < self.size
        return self._sent - self._answered < MARK and self._thread.has_room(self)

    def wait(self) -> None:
        """Ask for a turn to send: `ready` is called when it comes."""
        if self._sent - self._answered < MARK:
            self._thread.wait(self)

    def end(self, now: float) -> None:
        """End: nothing more is sent, and others have their turn."""
        self._thread.over(self, now)

    def unused(self, now: float) -> None:
        """Give the turn back, as nothing was to be sent."""
        if self._marked <= self._answered:
            self._thread.over(self, now)

    @property
    def hosts(self) -> int:
        """Return how many addresses may be sent at once; fewer every second time, to compare."""
        size = min(self.size, SHARED) if self._thread.contended else self.size
        return (size // 2 if self._halved else size) // HOST

    def sent(self, count: int) -> bool:
        """Count bytes that were sent; returns whether a barrier is due."""
        self._sent += count
        return self._sent - self._marked >= MARK

    def mark(self, now: float = 0.0) -> int:
        """Note that a barrier is sent now; returns the mark for its reply."""
        self._marked = self._sent
        if not self._quick:
            self._thread.sent(self, now)
        self._halved = not self._halved
        return self._sent

    def answered(self, mark: int, asked: float, now: float) -> None:
        """Handle the reply to the barrier with that mark, which was sent at `asked`."""
        gained, self._answered = mark - self._answered, max(self._answered, mark)
        if gained <= 0:
            return
        contended = self._thread.contended
        if self._answered >= self._marked:
            self._thread.answered(self, now)
        if contended:
            return
        self._costs.saw(gained, now - asked)
        each, any_ = self._costs.each, self._costs.any
        wanted = int(max(PATIENCE - any_, any_) / each)
        most = 2 * self.size if 4 * gained >= self.size else self.size
        self.size = max(SMALLEST, min(LARGEST, most, max(wanted, self.size // 2)))
        self._quick = each * LARGEST < PATIENCE


class _Costs:
    """Linear estimate of the seconds that `each` byte and `any` portion take."""

    def __init__(self) -> None:
        self.each = self.any = 0.0
        self._count = self._bytes = self._seconds = self._squares = self._products = 0.0

    def saw(self, size: int, seconds: float) -> None:
        """Take in how many seconds a portion of `size` bytes took."""
        self._count = self._count * _MEMORY + 1
        self._bytes = self._bytes * _MEMORY + size
        self._seconds = self._seconds * _MEMORY + seconds
        self._squares = self._squares * _MEMORY + size * size
        self._products = self._products * _MEMORY + size * seconds
        mean, least = self._bytes / self._count, 1e-9
        together = self._seconds / self._bytes  # as if nothing were lost on a portion as such
        spread = self._squares / self._count - mean**2
        slope = together
        if spread > (mean / 100) ** 2:
            slope = (self._products / self._count - mean * self._seconds / self._count) / spread
        self.each = max(min(slope, together), least)
        self.any = max(self._seconds / self._count - self.each * mean, 0.0)
