"""Default addresses of the API of this machine's controller."""

from contextlib import suppress

API_SOCKET = "/run/ofapp/api.sock"
"""The kernel tells which user connects to it, so that root needs no token."""
API_URL = "http://127.0.0.1:8080"
UNIX = "unix:"
"""Begins the URL of a socket."""


def answers(path: str) -> bool:
    """Whether a server listens at a UNIX socket, and this user may connect to it."""
    import socket

    with socket.socket(socket.AF_UNIX) as probe, suppress(OSError):
        probe.settimeout(2)
        probe.connect(path)
        return True
    return False
