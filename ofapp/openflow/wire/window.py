"""How much a switch may be told without having answered.

A switch under a flood of new addresses carries out some ten thousand a second, and whatever is
sent queues behind them, in its socket and in ours: hellos of spanning tree were 1.4 s late
[measured].  So a barrier asks the switch how far it has come, and new addresses wait here, where
they cost nobody anything, until it has answered.

What waited goes at once then.  A portion costs a switch some time whatever is in it, and some for
each address (see `ofapp.openflow.switch.writer.MANY`); both are estimated from its answers.  A
portion is what it does in `PATIENCE`, or in as much time as it needs for any portion, which is half
its speed at least: on a busy machine, or with very many addresses, smaller ones would take as long.
"""

from __future__ import annotations

SMALLEST, LARGEST = 8 << 10, 256 << 10
MARK = 4 << 10
"""Bytes that may go without a question."""
PATIENCE = 0.01
"""Seconds that a portion should take."""
HOST = 240
"""Bytes that tell a switch of an address, about."""
_MEMORY = 0.9
"""What an answer still counts when the next one comes."""


class Window:
    """Bytes sent and answered on one connection; size: how many may go at once."""

    def __init__(self) -> None:
        self.size = 64 << 10
        self._sent = 0
        self._answered = 0
        self._marked = 0
        self._costs = _Costs()
        self._halved = False
        self._quick = False  # carries out all there may be within its patience: not waited for

    @property
    def is_open(self) -> bool:
        """Whether more may be sent."""
        return self._sent - self._answered < (self.size if self._quick else MARK)

    @property
    def hosts(self) -> int:
        """How many addresses may be sent at once; less each second time, to see what that does."""
        return (self.size // 2 if self._halved else self.size) // HOST

    def sent(self, count: int) -> bool:
        """So many bytes went out; gives whether it is time to ask."""
        self._sent += count
        return self._sent - self._marked >= MARK

    def mark(self) -> int:
        """A question goes out now; gives what an answer to it is about."""
        self._marked = self._sent
        self._halved = not self._halved
        return self._sent

    def answered(self, mark: int, asked: float, now: float) -> None:
        """The question of that mark, asked at `asked`, is answered."""
        gained, self._answered = mark - self._answered, max(self._answered, mark)
        if gained <= 0:
            return
        self._costs.saw(gained, now - asked)
        each, any_ = self._costs.each, self._costs.any
        wanted = int(max(PATIENCE - any_, any_) / each)
        most = 2 * self.size if 4 * gained >= self.size else self.size
        self.size = max(SMALLEST, min(LARGEST, most, max(wanted, self.size // 2)))
        self._quick = each * LARGEST < PATIENCE


class _Costs:
    """The line through what portions took: `each` byte, and `any` portion, in seconds."""

    def __init__(self) -> None:
        self.each = self.any = 0.0
        self._count = self._bytes = self._seconds = self._squares = self._products = 0.0

    def saw(self, size: int, seconds: float) -> None:
        """A portion of so many bytes took so long."""
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
