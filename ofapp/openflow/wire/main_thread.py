"""The budget of one ovs-vswitchd's main thread, which its bridges share.

All connections of an ovs-vswitchd are read by its main thread in turn, fifty messages of each.  Two
hundred addresses for each of sixty bridges at the same time are a second of work: BPDUs of all of
them wait as long.  So a few portions only are under way to one ovs-vswitchd at a time, and its
bridges take turns.

Switches do not report which process they run in.  Connections from one address are taken for
bridges of one ovs-vswitchd, and their answers show whether they are: as long as these come soon,
one portion more may be under way, so that switches behind a NAT do not wait for each other.
Answers that come late halve what may be under way.  A bridge that is alone at its address waits
for none.
"""

from collections.abc import Callable
from typing import Any, Protocol
from weakref import WeakValueDictionary

SOON, LATE = 0.05, 0.1
"""Seconds: an answer that comes sooner makes room for more, one that comes later for less."""
LEAST = 4.0
"""Portions that may be under way in any case: 30 ms of work.  What makes answers late then is other
work of the switch, or the way to it, and fewer would only make learning slow."""
STUCK = 1.0
"""Seconds after which a portion without an answer does not keep others waiting any more."""


class Portion(Protocol):
    """The flow control of one connection."""

    ready: Callable[[], None]
    """Called when it is the connection's turn; `MainThread.over` gives the turn back."""


class MainThread:
    """The main thread of one ovs-vswitchd, or of several behind one address."""

    def __init__(self) -> None:
        self._most = LEAST
        self._under_way: dict[Portion, float] = {}  # since when
        self._waiting: dict[Portion, None] = {}  # the first that came is first

    def has_room(self, portion: Portion) -> bool:
        """Whether a connection may send now, or has its turn."""
        return portion in self._under_way or len(self._under_way) < self._most

    @property
    def contended(self) -> bool:
        """Whether others wait for their turn."""
        return bool(self._waiting)

    def wait(self, portion: Portion) -> None:
        """Ask for a turn for a connection: `Portion.ready` is called when it comes."""
        if portion not in self._under_way:
            self._waiting[portion] = None

    def sent(self, portion: Portion, now: float) -> None:
        """Note that a connection's portion is under way."""
        self._under_way[portion] = now

    def answered(self, portion: Portion, now: float) -> None:
        """Note that the switch has carried a portion out."""
        since = self._under_way.pop(portion, None)
        if since is not None:
            took = now - since
            if took < SOON:
                self._most += 1 / self._most
            elif took > LATE:
                self._most = max(self._most / 2, LEAST)
        self._hand_on(now)

    def over(self, portion: Portion, now: float) -> None:
        """End the turn of a connection that has ended or has nothing to send."""
        self._waiting.pop(portion, None)
        self._under_way.pop(portion, None)
        self._hand_on(now)

    def review(self, now: float) -> None:
        """Forget portions without an answer, so that others go on; call it periodically."""
        for portion, since in list(self._under_way.items()):
            if now - since > STUCK:
                del self._under_way[portion]
        self._hand_on(now)

    def _hand_on(self, now: float) -> None:
        while self._waiting and len(self._under_way) < self._most:
            portion = next(iter(self._waiting))
            del self._waiting[portion]
            self._under_way[portion] = now
            portion.ready()


class MainThreads:
    """Main threads by peer address; one without a connection is forgotten."""

    def __init__(self) -> None:
        self._threads: WeakValueDictionary[str, MainThread] = WeakValueDictionary()

    def of(self, peer: Any) -> MainThread:
        """The main thread for a connection from this address, as sockets give it."""
        host = str(peer[0]) if isinstance(peer, tuple) and peer else str(peer)
        thread = self._threads.get(host)
        if thread is None:
            thread = self._threads[host] = MainThread()
        return thread

    def review(self, now: float) -> None:
        """See `MainThread.review`."""
        for thread in list(self._threads.values()):
            thread.review(now)


MAIN_THREADS = MainThreads()
"""The main threads of the switches of this process."""
