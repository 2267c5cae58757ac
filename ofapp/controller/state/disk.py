"""Files replaced as a whole, removed and set aside; failures are OSErrors.

These functions may block on a disk: only `keeper` calls them while switches are served.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

PART = ".part"
"""Suffix of a file that is being written; a leftover one is overwritten or removed."""

ASIDE = ".damaged"
KEPT_ASIDE = 9
"""Most files set aside of each name; the last one is overwritten."""


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
    names = [path.with_name(f"{path.name}{ASIDE}-{at}") for at in range(1, KEPT_ASIDE + 1)]
    aside = next((name for name in names if not name.exists()), names[-1])
    path.replace(aside)
    return aside


def check(directory: Path) -> None:
    """Make the directory, if need be, and check that files can be made in it."""
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
