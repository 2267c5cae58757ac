"""Storage of state that outlives the process: documents by name, in files; or nowhere.

The users define the content and its form (`store`, `snapshots`, `accepted`, and
`controller.access.tokens`): they work on any implementation of `Documents`.  Controllers that
serve one network together store theirs in etcd (`controller.cluster.documents`).
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
    """Documents by name; a name has the form of a file name."""

    def names(self) -> list[tuple[str, int]]:
        """Names of all documents with their size in octets, the longest unchanged first."""

    def read(self, name: str, most: int) -> bytes:
        """Read one.  FileNotFoundError, OSError; ValueError if it is longer than `most` octets."""

    def put(self, name: str, data: bytes, sync: bool, first: bool = False) -> Ticket:
        """Replace one as a whole, soon; it is the old or the new one.

        sync: it has to survive the machine's crash, too; first: before others that wait.
        """

    def remove(self, name: str) -> Ticket:
        """Remove one, soon."""

    def pending(self, name: str) -> bool:
        """Whether a write or removal of this one is not done yet."""

    def set_aside(self, name: str) -> str:
        """Rename one, for the administrator to inspect; gives the new name.  OSError."""

    def place(self, name: str) -> str:
        """Where one is stored, for messages."""

    def marks(self, kind: str, slots: int, wanted: Collection[int]) -> Marks:
        """Marks of the valid snapshots of a kind; wanted: datapath ids of existing snapshots."""


class Files:
    """Documents as files in a directory, which is created."""

    def __init__(self, directory: Path, keeper: Keeper) -> None:
        self._directory = directory
        self._keeper = keeper
        try:
            disk.check(directory)
        except OSError:
            keeper.put("", partial(disk.check, directory))  # which logs, and tries again
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
            LOG.warning("the stored documents cannot be read: %s", error)


class Nowhere:
    """No storage: nothing outlives the process."""

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
