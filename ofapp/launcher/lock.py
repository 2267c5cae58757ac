"""Lock of the state directory: two controllers would overwrite each other's entries and snapshots.

The kernel holds the lock for an open file, so a killed process leaves none behind.  The file itself
stays: if it were removed, two processes could each create and lock one.
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
"""Name of the file; it contains the process id of the holder."""


class LockedError(Exception):
    """Another process uses the directory."""


def lock(directory: Path) -> IO[str] | None:
    """Lock the directory while the returned file is open.  Raises LockedError.

    Returns None and logs a warning if the file system has no locks, or is read-only.
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
