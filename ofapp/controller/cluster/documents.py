"""What outlives a controller, in etcd: who takes a switch over finds it as its last owner left it.

Each document is a key.  A bridge's may be written by its switch's owner alone: the transaction asks
whether the owner's claim is still the one that this member made, so that one that was away for too
long changes nothing, however late what it has sent arrives.  It asks, too, whether the document is
the one that this member wrote or read last: what was sent twice, as the first try seemed lost,
cannot come in late over something newer.
"""

from __future__ import annotations

import errno
import logging
import re
import zlib
from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import NamedTuple

from ofapp.common import hub
from ofapp.controller.cluster.etcd import (
    Changes,
    Condition,
    Delete,
    Etcd,
    EtcdError,
    FullError,
    Outcome,
    Put,
    Record,
    UnreachableError,
    modified,
)
from ofapp.controller.cluster.keys import Keys
from ofapp.controller.cluster.marks import Always, SwitchMarks
from ofapp.controller.state.keeper import ForsakenError, Keeper, Ticket
from ofapp.controller.state.marks import Marks

LOG = logging.getLogger(__name__)

LARGE = 4096
"""Octets from which on a document is compressed: a tree of 4,095 ports has a megabyte or several,
and etcd takes 1.5 MB at a time."""

IN_THREAD = 1 << 16
"""Octets from which on that would hold up others."""

MOST = 1 << 20
"""Octets of a document as etcd has it."""

KINDS = ("entries", "settings", "bridge", "lacp")

TRIES = 3

_BRIDGES = re.compile(r"[a-z]+-([0-9a-f]{16})\.json")
_ZLIB = b"\x78"  # no JSON begins so

Lost = Callable[[int], None]


class _Held(NamedTuple):
    """A document as it was read or written last; data: until it is written."""

    revision: int
    size: int
    data: bytes | None


class SharedDocuments:
    """`state.documents.Documents` in etcd.

    lost: told that a switch is somebody else's by now, from within a job.
    """

    def __init__(self, etcd: Etcd, keys: Keys, keeper: Keeper, lost: Lost) -> None:
        self._etcd = etcd
        self._keys = keys
        self._keeper = keeper
        self._lost = lost
        self._held: dict[str, _Held] = {}
        self._terms: dict[int, int] = {}
        self.tree_marks = SwitchMarks()

    # Whose switch it is

    def take_over(self, datapath_id: int, term: int) -> None:
        """Read what there is of a bridge, whose switch is this member's; EtcdError.

        term: the revision at which that was claimed.
        """
        found = self._etcd.range(self._keys.bridge(datapath_id)).records
        self.let_go(datapath_id)
        self._terms[datapath_id] = term
        own = of_bridge(datapath_id)
        self._hold(record for record in found if self._keys.name(record.key) in own)

    def let_go(self, datapath_id: int) -> None:
        """The bridge is somebody else's: write nothing of it any more."""
        self._terms.pop(datapath_id, None)
        for name in of_bridge(datapath_id):
            self._held.pop(name, None)

    def size(self, name: str) -> int | None:
        """How many octets there are of a document; None: there is none."""
        held = self._held.get(name)
        return None if held is None else held.size

    def term(self, datapath_id: int) -> int | None:
        """At which revision this member has claimed the switch; None while it has not."""
        return self._terms.get(datapath_id)

    def read_common(self) -> None:
        """Read what is no bridge's; EtcdError."""
        self._hold(self._etcd.range(self._keys.common).records)

    def heed_common(self, changes: Changes) -> list[str]:
        """What other members have changed of it; gives the names of what is new to this one."""
        told = []
        if changes.whole:
            there = {self._keys.name(change.key) for change in changes.changes}
            told = [name for name in self._held if _bridge(name) is None and name not in there]
            for name in told:
                del self._held[name]
        for change in changes.changes:
            name, held = self._keys.name(change.key), None
            if change.record is not None:
                held = self._held.get(name)
                if held is not None and held.revision >= change.revision:
                    continue
                self._hold([change.record])
            elif self._held.pop(name, None) is None:
                continue
            told.append(name)
        return told

    # As `Documents`

    def names(self) -> list[tuple[str, int]]:
        """See `state.documents.Documents`, also for all that follows."""
        return [(name, held.size) for name, held in self._held.items()]

    def read(self, name: str, most: int) -> bytes:
        held = self._held.get(name)
        if held is None or held.data is None:
            raise FileNotFoundError(errno.ENOENT, "there is none in etcd", name)
        try:
            data = _unpacked(held.data, most + 1)
        except zlib.error as error:
            raise ValueError(f"it is damaged: {error}") from None
        if len(data) > most:
            raise ValueError(f"it is larger than {most >> 20} MiB")
        return data

    def put(self, name: str, data: bytes, sync: bool, first: bool = False) -> Ticket:
        del sync  # a majority of etcd's nodes has synced whatever is written
        return self._keeper.put(name, partial(self._put, name, data, self._term(name)), first)

    def remove(self, name: str) -> Ticket:
        return self._keeper.put(name, partial(self._write, name, None, self._term(name)))

    def pending(self, name: str) -> bool:
        return self._keeper.pending(name)

    def set_aside(self, name: str) -> str:
        held = self._held.get(name)
        aside = f"{name}.damaged"
        if held is None or held.data is None:
            raise FileNotFoundError(errno.ENOENT, "there is none in etcd", name)
        self._keeper.put(aside, partial(self._write, aside, held.data, self._term(name)))
        self.remove(name)
        return aside

    def place(self, name: str) -> str:
        return self._keys.of(name)

    def marks(self, kind: str, slots: int, wanted: Collection[int]) -> Marks:
        del slots, wanted
        return self.tree_marks if kind == "bridge" else Always()

    # Inside

    def _hold(self, records: Iterable[Record]) -> None:
        for record in sorted(records, key=lambda record: record.modified):
            name = self._keys.name(record.key)
            self._held[name] = _Held(record.modified, len(record.value), record.value)

    def _term(self, name: str) -> int | None:
        bridge = _bridge(name)
        return None if bridge is None else self._terms.get(bridge)

    def _put(self, name: str, data: bytes, term: int | None) -> None:
        value = data
        if len(data) >= LARGE:
            compress = partial(zlib.compress, data, 1)
            value = hub.in_thread(compress) if len(data) >= IN_THREAD else compress()
        if len(value) > MOST:
            raise OSError(errno.EFBIG, f"{len(value)} octets are too many for etcd", name)
        self._write(name, value, term)

    def _write(self, name: str, value: bytes | None, term: int | None) -> None:
        """value: None to have none; term: in which this was asked for.  ForsakenError, OSError."""
        key, bridge = self._keys.of(name), _bridge(name)
        for _ in range(TRIES):
            held = self._held.get(name)
            conditions = [modified(key, 0 if held is None else held.revision)]
            if bridge is not None:
                if term is None or term != self._terms.get(bridge):
                    raise _forsaken(name)
                conditions.append(modified(self._keys.owner(bridge), term))
            outcome = self._transact(conditions, Delete(key) if value is None else Put(key, value))
            if outcome.done:
                if value is None:
                    self._held.pop(name, None)
                elif term == self._term(name):
                    self._held[name] = _Held(outcome.revision, len(value), None)
                return
            there = {record.key: record for record in outcome.records}
            if bridge is None:
                raise ForsakenError(
                    errno.EAGAIN, "another member has just changed it: try again", name
                )
            owner = there.get(self._keys.owner(bridge))
            if owner is None or owner.modified != term:
                self._lost(bridge)
                raise _forsaken(name)
            if (other := there.get(key)) is not None:  # our own, which seemed not to have arrived
                self._held[name] = _Held(other.modified, len(other.value), None)
            else:
                self._held.pop(name, None)
        raise OSError(errno.EAGAIN, "it changes while it is written", name)

    def _transact(self, conditions: list[Condition], then: Put | Delete) -> Outcome:
        try:
            return self._etcd.transact(conditions, [then])
        except FullError as error:
            raise OSError(errno.ENOSPC, str(error)) from None
        except UnreachableError as error:
            raise OSError(errno.ETIMEDOUT, str(error)) from None
        except EtcdError as error:
            raise OSError(errno.EACCES, str(error)) from None


def of_bridge(datapath_id: int) -> tuple[str, ...]:
    """The names of what there is of each bridge; beside them may be what was set aside."""
    return tuple(f"{kind}-{datapath_id:016x}.json" for kind in KINDS)


def _bridge(name: str) -> int | None:
    """Of which bridge a document is; None: of none."""
    named = _BRIDGES.match(name)
    return None if named is None else int(named[1], 16)


def _forsaken(name: str) -> ForsakenError:
    return ForsakenError(errno.EPERM, "another member looks after the switch now", name)


def _unpacked(data: bytes, most: int) -> bytes:
    return zlib.decompressobj().decompress(data, most) if data.startswith(_ZLIB) else data
