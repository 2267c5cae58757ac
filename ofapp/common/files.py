"""Reading files that others make: only regular ones, up to a limit of octets.

Opening a FIFO blocks until a process writes to it, and would block this whole process.
"""

import errno
import os
import stat
from pathlib import Path


def read_regular(path: Path, limit: int) -> bytes:
    """Read at most `limit` bytes of the file. Raises OSError, also for one that is not regular."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "this is not a regular file", str(path))
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(limit)
    finally:
        os.close(descriptor)
