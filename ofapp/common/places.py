"""Where the controller of this machine is asked, unless somebody has said otherwise."""

from __future__ import annotations

from contextlib import suppress

API_SOCKET = "/run/ofapp/api.sock"
"""There the kernel tells who asks, so that root needs no token."""
API_URL = "http://127.0.0.1:8080"


def answers(path: str) -> bool:
    """Whether somebody listens at a UNIX socket whom we may speak to."""
    import socket

    with socket.socket(socket.AF_UNIX) as probe, suppress(OSError):
        probe.settimeout(2)
        probe.connect(path)
        return True
    return False
