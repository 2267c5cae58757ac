"""Files replaced as a whole, removed and set aside; what fails is an OSError.

These may wait for a disk: nobody but `keeper` calls them while switches are served.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

PART = ".part"
"""The end of the name of what is being written; one that stayed is written over or removed."""

ASIDE = ".damaged"
KEPT_ASIDE = 9
"""Files set aside of each name, the last of which is written over."""


def replace(path: Path, data: bytes, sync: bool) -> None:
    """The file has the old or the new octets, never a part; with `sync` also after a power cut."""
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
            part.unlink()  # what there was room for would be in the way of the next
        error.filename = str(path)  # a disk that is full does not say which
        raise
    if sync:
        _sync_directory(path.parent)


def remove(path: Path) -> None:
    """There is no such file, also after a power cut."""
    if path.exists():
        path.unlink(missing_ok=True)
        _sync_directory(path.parent)


def set_aside(path: Path) -> Path:
    """Give the file another name, for people to look at; gives that."""
    names = [path.with_name(f"{path.name}{ASIDE}-{at}") for at in range(1, KEPT_ASIDE + 1)]
    aside = next((name for name in names if not name.exists()), names[-1])
    path.replace(aside)
    return aside


def check(directory: Path) -> None:
    """Make the directory, if need be, and see that files can be made in it."""
    directory.mkdir(parents=True, exist_ok=True)
    trial = directory / f"trial{PART}"
    try:
        trial.write_bytes(b"ofapp")
    finally:
        with contextlib.suppress(OSError):
            trial.unlink()


def tidy(directory: Path) -> None:
    """Remove what writers that were killed have left, also those of earlier versions (tmp...)."""
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
