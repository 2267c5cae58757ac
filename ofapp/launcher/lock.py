"""One controller on one state directory.

Two of them would write over each other's entries and snapshots.  The lock is the kernel's, on an
open file, so that one who was killed leaves none behind; the file itself stays, as two
processes that create it at the same time would each have one.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
from pathlib import Path
from typing import IO

LOG = logging.getLogger(__name__)

NAME = "lock"
"""The file in the directory; in it the number of the process that holds the lock."""


class LockedError(Exception):
    """Another process has the directory."""


def lock(directory: Path) -> IO[str] | None:
    """The directory is this process's while what this gives is open; LockedError.

    None, and a warning, where there can be none: the file system knows no locks, or is read-only.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        file = (directory / NAME).open("a+")
    except OSError as error:
        _warn(directory, error)
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        with file:
            file.seek(0)
            holder = file.read(20).strip()
        who = f"process {holder}" if holder.isdigit() else "another process"
        raise LockedError(
            f"the state directory {directory} is in use by {who}: end that one, or give this"
            " controller its own directory with --state-dir"
        ) from None
    except OSError as error:
        file.close()
        _warn(directory, error)
        return None
    with contextlib.suppress(OSError):  # of a full disk: the number is for people only
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
    return file


def _warn(directory: Path, error: OSError) -> None:
    LOG.warning("nothing keeps a second controller out of %s: %s", directory, error)
