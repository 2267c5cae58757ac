"""TCP ports for what a test starts."""

from __future__ import annotations

import random
import socket

_BELOW_EPHEMERAL = range(20_000, 32_768)
"""The kernel gives the ports from 32768 on to any client: a port from there, free
now, may be taken before the program that is to listen on it has started."""


def free_port() -> int:
    """A TCP port of 127.0.0.1 that no process listens on."""
    while True:
        port = random.choice(_BELOW_EPHEMERAL)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
