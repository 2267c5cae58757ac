"""Shares of a full table: which address makes room for a port that has fewer than another one.

The table is all that a bridge has learned, or what it has learned in a VLAN with a limit.  While
there is room, a port may use all of it, as an uplink does.  Once it is full, a new address of a
port displaces an address of the port that has most, if that port still has as many as the other
one afterwards.  Any other new address is refused, which costs no message to the switch.  So no port
keeps more than an equal share while another port needs room (max-min fairness).

Displacing ends: each time the ports' numbers come closer together.  A displaced host that still
sends is refused while its port has most, so that ports never displace each other in turn.
(Open vSwitch's own learning learns each new address, and the port that has most loses an older one
for it.  Here that would be four messages for each address that a host invents.)

An address whose host has not sent since it was learned makes room first, as far as the last sweep
knows: hosts that are invented send once.  Of several the address that was learned first goes.
Sticky, extern_learn and static entries never make room, nor do addresses that are held down.
"""

from collections import deque
from collections.abc import Container, Iterator
from itertools import islice

from ofapp.bridge.fdb.fdb import Entry, EntryType, Fdb
from ofapp.bridge.fdb.move_guard import Address

PART = 4096
"""Entries of the table that are looked at in one go: about a millisecond."""


class _Search:
    """The search for addresses of one port, in rounds through the table, from the oldest on.

    at: where the next part begins; waiting: (vid, mac, frames sent) of addresses that were found;
    found: whether there were any in this round; sending: whether hosts that have sent since are
    taken, too, as the round before found no others.
    """

    __slots__ = ("at", "found", "sending", "waiting")

    def __init__(self) -> None:
        self.at = 0
        self.waiting: deque[tuple[int, int, int]] = deque()
        self.found = False
        self.sending = False


class Shares:
    """The ports' shares of one table.

    vid: VID of a VLAN whose ports the FDB counts (`Fdb.count_ports`); None for the bridge.
    held: addresses that are held down.
    """

    def __init__(self, fdb: Fdb, held: Container[Address], vid: int | None = None) -> None:
        self._fdb = fdb
        self._held = held
        self._vid = vid
        self._searches: dict[int, _Search] = {}  # by port
        self._none: dict[int, int] = {}  # ports where none may go, and how many they had then

    def of(self, port: int) -> int:
        """Number of learned addresses of a port in the table."""
        return self._counts.get(port, 0)

    def displaced_by(self, port: int) -> tuple[int, int, Entry] | None:
        """(vid, mac, entry) that makes room for a new address of the port; None: it is refused."""
        counts = self._counts
        enough = counts.get(port, 0) + 2
        if not counts or max(counts.values()) < enough:
            return None
        most = max(counts, key=counts.__getitem__)
        if found := self._take(most):
            return found
        others = [each for each, count in counts.items() if count >= enough and each != most]
        taken = map(self._take, sorted(others, key=counts.__getitem__, reverse=True))
        return next(filter(None, taken), None)

    def forget(self) -> None:
        """Forget what was found, as there is room again."""
        self._searches.clear()
        self._none.clear()

    @property
    def _counts(self) -> dict[int, int]:
        fdb = self._fdb
        return fdb.learned_by_port if self._vid is None else fdb.ports_in[self._vid]

    def _take(self, port: int) -> tuple[int, int, Entry] | None:
        """The next address of the port that may go, None if there is none."""
        count = self.of(port)
        if self._none.get(port) == count:
            return None
        search, rounds = self._searches.setdefault(port, _Search()), 0
        while search.waiting or rounds < 3:  # the rest of one round, and two kinds of hosts
            while search.waiting:
                vid, mac, sent = search.waiting.popleft()
                entry = self._fdb.get(vid, mac)
                if (
                    entry is not None
                    and entry.source_packets == sent
                    and self._may_go(port, vid, mac, entry)
                ):
                    return vid, mac, entry
            part = [*self._part(search.at)]
            search.waiting.extend(
                (vid, mac, entry.source_packets)
                for vid, mac, entry in part
                if self._may_go(port, vid, mac, entry)
                and (search.sending or not entry.source_packets)
            )
            search.at += len(part)
            search.found = search.found or bool(search.waiting)
            if len(part) < PART:
                search.at, search.sending, search.found = 0, not search.found, False
                rounds += 1
        self._none[port] = count
        return None

    def _may_go(self, port: int, vid: int, mac: int, entry: Entry) -> bool:
        ageing = entry.port == port and entry.type is EntryType.LEARNED
        return ageing and (vid, mac) not in self._held

    def _part(self, at: int) -> Iterator[tuple[int, int, Entry]]:
        """PART entries of the table from there on, or all that are left; the oldest first."""
        tables, left = self._fdb.tables, PART
        for vid in tables if self._vid is None else [self._vid]:
            table = tables.get(vid, {})
            if at < len(table):
                for mac, entry in islice(table.items(), at, at + left):
                    left -= 1
                    yield vid, mac, entry
            if not left:
                return
            at = max(at - len(table), 0)
