"""Where what has to outlive the process is kept: documents by name, in files; or nowhere.

What is kept, and in which form, is the business of those who keep it (`store`, `snapshots`,
`accepted`, and `controller.access.tokens`): they work on `Documents`, whatever that is.  Several
controllers that serve one network have theirs in etcd (`controller.cluster.documents`).
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator
from functools import partial
from pathlib import Path
from typing import Protocol

from ofapp.common.files import read_regular
from ofapp.controller.state import disk
from ofapp.controller.state.keeper import Keeper, Ticket, done
from ofapp.controller.state.marks import FileMarks, Marks

LOG = logging.getLogger(__name__)


class Documents(Protocol):
    """A name has the form of a file's."""

    def names(self) -> list[tuple[str, int]]:
        """Those that there are, and how many octets they have; the longest unchanged first."""

    def read(self, name: str, most: int) -> bytes:
        """FileNotFoundError when there is none, OSError; ValueError above so many octets."""

    def put(self, name: str, data: bytes, sync: bool, first: bool = False) -> Ticket:
        """Replace one as a whole, soon; it is the old or the new one.

        sync: it is to outlive the machine's crash, too; first: before others that wait.
        """

    def remove(self, name: str) -> Ticket:
        """Have none of this name, soon."""

    def pending(self, name: str) -> bool:
        """Whether what was asked for of this one is not done yet."""

    def set_aside(self, name: str) -> str:
        """Give it another name, for people to look at; gives that.  OSError."""

    def place(self, name: str) -> str:
        """Where it is, for people."""

    def marks(self, kind: str, slots: int, wanted: Collection[int]) -> Marks:
        """Which snapshots of a kind count; wanted: the datapath ids of those there are."""


class Files:
    """In a directory, which is made."""

    def __init__(self, directory: Path, keeper: Keeper) -> None:
        self._directory = directory
        self._keeper = keeper
        try:
            disk.check(directory)
        except OSError:
            keeper.put("", partial(disk.check, directory))  # which tells, and tries again
        else:
            disk.tidy(directory)

    def names(self) -> list[tuple[str, int]]:
        """See `Documents`, also for all that follows."""
        return [(name, size) for _, name, size in sorted(self._found())]

    def read(self, name: str, most: int) -> bytes:
        data = read_regular(self._directory / name, most + 1)
        if len(data) > most:
            raise ValueError(f"it is larger than {most >> 20} MiB")
        return data

    def put(self, name: str, data: bytes, sync: bool, first: bool = False) -> Ticket:
        job = partial(disk.replace, self._directory / name, data, sync=sync)
        return self._keeper.put(name, job, first)

    def remove(self, name: str) -> Ticket:
        return self._keeper.put(name, partial(disk.remove, self._directory / name))

    def pending(self, name: str) -> bool:
        return self._keeper.pending(name)

    def set_aside(self, name: str) -> str:
        return disk.set_aside(self._directory / name).name

    def place(self, name: str) -> str:
        return str(self._directory / name)

    def marks(self, kind: str, slots: int, wanted: Collection[int]) -> Marks:
        name = "marks" if kind == "bridge" else f"{kind}-marks"
        return FileMarks(self._directory / name, slots, wanted)

    def _found(self) -> Iterator[tuple[float, str, int]]:
        try:
            for path in self._directory.iterdir():
                try:
                    status = path.lstat()
                except FileNotFoundError:
                    continue
                yield status.st_mtime, path.name, status.st_size
        except FileNotFoundError:
            return
        except OSError as error:
            LOG.warning("what was kept cannot be read: %s", error)


class Nowhere:
    """Nothing outlives the process."""

    def names(self) -> list[tuple[str, int]]:
        """See `Documents`, also for all that follows."""
        return []

    def read(self, name: str, most: int) -> bytes:
        raise FileNotFoundError(name, most)

    def put(self, name: str, data: bytes, sync: bool, first: bool = False) -> Ticket:
        del name, data, sync, first
        return done()

    def remove(self, name: str) -> Ticket:
        del name
        return done()

    def pending(self, name: str) -> bool:
        del name
        return False

    def set_aside(self, name: str) -> str:
        raise FileNotFoundError(name)

    def place(self, name: str) -> str:
        return name

    def marks(self, kind: str, slots: int, wanted: Collection[int]) -> Marks:
        del kind
        return FileMarks(None, slots, wanted)
