"""TCP ports for what a test starts."""

from __future__ import annotations

import fcntl
import os
import random
import socket
import tempfile
from functools import cache
from pathlib import Path
from typing import IO

_BELOW_EPHEMERAL = range(20_000, 32_768)
"""The kernel gives the ports from 32768 on to any client: a port from there, free
now, may be taken before the program that is to listen on it has started."""
_chosen: set[int] = set()


def free_port() -> int:
    """A TCP port of 127.0.0.1 that no process listens on, and that no test has been given."""
    while True:
        port = random.choice(_BELOW_EPHEMERAL)
        if port in _chosen or not _reserved(port):
            continue
        _chosen.add(port)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


def _reserved(port: int) -> bool:
    """Reserve a port until this process ends; whether no other process had.

    Tiers run side by side, and what listens on a port begins to do so a second after it was chosen.
    """
    try:
        fcntl.lockf(_reservations(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
    except OSError:
        return False
    return True


@cache
def _reservations() -> IO[bytes]:
    """A file whose octet of that number is locked for each reserved port."""
    return (Path(tempfile.gettempdir()) / f"ofapp-test-ports-{os.getuid()}").open("ab")
