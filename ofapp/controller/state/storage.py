"""Storage of documents by file name: in files, or nowhere.

Controllers that serve one network together store theirs in etcd (`controller.cluster.sharing`).
Files are replaced as a whole, removed and set aside.  These operations may block on a disk: only
`saving` calls them while switches are served.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Collection, Iterator
from functools import partial
from pathlib import Path
from typing import Protocol

from ofapp.common.files import read_regular
from ofapp.controller.state.marks import SLOTS, FileMarks, Marks
from ofapp.controller.state.saving import SaveQueue, Ticket, done

LOG = logging.getLogger(__name__)

PART = ".part"
"""Suffix of a file that is being written; a leftover one is overwritten or removed."""

ASIDE = ".damaged"
MAX_ASIDE = 9
"""Most files set aside of each name; the last one is overwritten."""


class Storage(Protocol):
    """Documents by name, which has the form of a file name."""

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
        """Return where a document is stored, for messages."""

    def marks(self, stem: str, marked: bool, wanted: Collection[int]) -> Marks:
        """Marks of the valid snapshots with this stem; wanted: datapath ids of existing ones.

        marked: an outdated snapshot would do harm (`Document.marked`).
        """


class Files:
    """Documents as files in a directory, which is created."""

    def __init__(self, directory: Path, queue: SaveQueue) -> None:
        self._directory = directory
        self._queue = queue
        try:
            check(directory)
        except OSError:
            queue.put("", partial(check, directory))  # which logs, and tries again
        else:
            tidy(directory)

    def names(self) -> list[tuple[str, int]]:
        """See `Storage`, also for all that follows."""
        return [(name, size) for _, name, size in sorted(self._found())]

    def read(self, name: str, most: int) -> bytes:
        data = read_regular(self._directory / name, most + 1)
        if len(data) > most:
            raise ValueError(f"it is larger than {most >> 20} MiB")
        return data

    def put(self, name: str, data: bytes, sync: bool, first: bool = False) -> Ticket:
        job = partial(replace, self._directory / name, data, sync=sync)
        return self._queue.put(name, job, first)

    def remove(self, name: str) -> Ticket:
        return self._queue.put(name, partial(remove, self._directory / name))

    def pending(self, name: str) -> bool:
        return self._queue.pending(name)

    def set_aside(self, name: str) -> str:
        return set_aside(self._directory / name).name

    def place(self, name: str) -> str:
        return str(self._directory / name)

    def marks(self, stem: str, marked: bool, wanted: Collection[int]) -> Marks:
        del marked  # they cost little, and make `forget` take effect at once
        name = "marks" if stem == "bridge" else f"{stem}-marks"
        return FileMarks(self._directory / name, SLOTS, wanted)

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
        """See `Storage`, also for all that follows."""
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

    def marks(self, stem: str, marked: bool, wanted: Collection[int]) -> Marks:
        del stem, marked
        return FileMarks(None, SLOTS, wanted)


def replace(path: Path, data: bytes, sync: bool) -> None:
    """Replace a file atomically: old or new octets, with `sync` also after a power cut."""
    part = path.with_name(path.name + PART)
    try:
        with part.open("wb") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(data)
            file.flush()
            if sync:
                os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink()  # a partial file would take the room of the next
        error.filename = str(path)  # the error of a full disk has no name
        raise
    if sync:
        _sync_directory(path.parent)


def remove(path: Path) -> None:
    """Remove a file, if there is one, so that it stays removed after a power cut."""
    if path.exists():
        path.unlink(missing_ok=True)
        _sync_directory(path.parent)


def set_aside(path: Path) -> Path:
    """Rename a file, for the administrator to inspect; gives the new name."""
    names = [path.with_name(f"{path.name}{ASIDE}-{at}") for at in range(1, MAX_ASIDE + 1)]
    aside = next((name for name in names if not name.exists()), names[-1])
    path.replace(aside)
    return aside


def check(directory: Path) -> None:
    """Make the directory, if need be, and check that files can be created in it."""
    directory.mkdir(parents=True, exist_ok=True)
    trial = directory / f"trial{PART}"
    try:
        trial.write_bytes(b"ofapp")
    finally:
        with contextlib.suppress(OSError):
            trial.unlink()


def tidy(directory: Path) -> None:
    """Remove leftovers of killed writers, also of earlier versions (tmp...)."""
    with contextlib.suppress(OSError):
        for path in [*directory.glob(f"*{PART}"), *directory.glob("tmp????????")]:
            if path.is_file() and not path.is_symlink():
                path.unlink()


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
