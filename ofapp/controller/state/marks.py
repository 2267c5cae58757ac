"""Marks of the valid snapshots: a snapshot is invalidated at once, even when the disk is slow.

The next process must not find an outdated snapshot, so it is invalidated before the first change
that outdates it.  Files are replaced outside the event loop, some time later; so each snapshot
carries a mark, and only the one whose mark is recorded here is valid.  Recording a mark is a single
small write into a preallocated file: it is in the kernel's memory at once, which suffices to
outlive the process.
"""

from __future__ import annotations

import logging
import os
import secrets
import struct
from collections.abc import Collection
from pathlib import Path
from typing import Protocol

from ofapp.common.files import read_regular

LOG = logging.getLogger(__name__)

SLOTS = 1024
"""Most snapshots of a kind; a host that reaches the OpenFlow port can invent datapath ids."""

_SLOT = struct.Struct("<QQ")  # datapath id, mark; a mark of 0: an empty slot


class Marks(Protocol):
    """Marks of valid snapshots, by datapath id."""

    def of(self, datapath_id: int) -> int | None:
        """The mark of the bridge's valid snapshot, None without one."""

    def renew(self, datapath_id: int) -> int:
        """A new mark: only a snapshot with it is valid from now on."""

    def drop(self, datapath_id: int) -> None:
        """Invalidate every snapshot of the bridge."""


class FileMarks:
    """path: path of the file; with None, or one that cannot be written, marks end with the process.

    slots: most bridges at a time; wanted: datapath ids whose marks are kept.
    """

    def __init__(self, path: Path | None, slots: int, wanted: Collection[int] = ()) -> None:
        self._path = path
        self._size = slots * _SLOT.size
        self._marks: dict[int, int] = {}
        self._slots: dict[int, int] = {}
        self._free = list(range(slots))
        if self._path is not None:
            self._read(self._path)
        for datapath_id in self._marks.keys() - set(wanted):
            self.drop(datapath_id)

    def of(self, datapath_id: int) -> int | None:
        """See `Marks`, also for what follows."""
        return self._marks.get(datapath_id)

    def renew(self, datapath_id: int) -> int:
        mark = secrets.randbits(63) | 1
        if datapath_id not in self._slots:
            if not self._free:
                raise ValueError("there are more bridges than marks")
            self._slots[datapath_id] = self._free.pop()
        self._marks[datapath_id] = mark
        self._write(self._slots[datapath_id], datapath_id, mark)
        return mark

    def drop(self, datapath_id: int) -> None:
        slot = self._slots.pop(datapath_id, None)
        if slot is not None:
            del self._marks[datapath_id]
            self._free.append(slot)
            self._write(slot, 0, 0)

    def _read(self, path: Path) -> None:
        try:
            data = read_regular(path, self._size)
        except (OSError, ValueError):
            return  # then there are no marks: `_write` creates the file
        if len(data) != self._size:
            return
        for slot, (datapath_id, mark) in enumerate(_SLOT.iter_unpack(data)):
            if mark and datapath_id not in self._slots:
                self._slots[datapath_id], self._marks[datapath_id] = slot, mark
                self._free.remove(slot)

    def _write(self, slot: int, datapath_id: int, mark: int) -> None:
        if self._path is None:
            return
        # Only a file is permitted there: opening a pipe would wait for its other end for ever.
        flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            file = os.open(self._path, flags, 0o600)
            try:
                if os.fstat(file).st_size == self._size:
                    os.pwrite(file, _SLOT.pack(datapath_id, mark), slot * _SLOT.size)
                else:
                    os.ftruncate(file, 0)
                    os.pwrite(file, self._table(), 0)
            finally:
                os.close(file)
        except OSError as error:
            LOG.error("no protocol state will outlive this process: %s", error)

    def _table(self) -> bytes:
        table = bytearray(self._size)
        for datapath_id, slot in self._slots.items():
            _SLOT.pack_into(table, slot * _SLOT.size, datapath_id, self._marks[datapath_id])
        return bytes(table)
