"""Tells systemd how the service is: ready, reloading, stopping, alive (sd_notify(3)).

The sign of life is sent by a greenlet, so it stops when something holds the event loop, and systemd
restarts a manager that hangs as it restarts one that ended.

There is no library here because none is kept that fits: `sdnotify` had its last release in 2017,
and `systemd-python` and `cysystemd` are C extensions on libsystemd for what is one datagram of
KEY=value lines.  systemd promises that protocol as stable, and its manual shows how to speak it
without a library.

Nothing happens without a supervisor, as in a terminal.
"""

from __future__ import annotations

import contextlib
import faulthandler
import logging
import os
import socket
import time
from collections.abc import Callable, Iterator

from ofapp.common import hub

LOG = logging.getLogger(__name__)

STATUS_SECONDS = 5.0
"""Longest age of the line in `systemctl status`, unless a watchdog needs a shorter one."""


def ready(status: str) -> None:
    """The service does its work from now on; `status` is one line for a person."""
    _send("READY=1", f"STATUS={status}")


def stopping(status: str) -> None:
    """The service is about to end."""
    _send("STOPPING=1", f"STATUS={status}")


@contextlib.contextmanager
def reloading() -> Iterator[None]:
    """Around the reading of a changed configuration, whether it succeeds or not."""
    # systemd 253 and newer want the time, to tell answers to two requests apart
    _send("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")
    try:
        yield
    finally:
        _send("READY=1")


def watch(status: Callable[[], str]) -> None:
    """Send signs of life, and `status()` with them, until the greenlet is killed."""
    if not os.environ.get("NOTIFY_SOCKET"):
        return
    faulthandler.enable()  # SIGABRT, with which systemd ends a silent process, tells where it was
    pause = min(STATUS_SECONDS, patience() / 3)
    while True:
        _send("WATCHDOG=1", f"STATUS={status()}")
        hub.sleep(pause)


def patience() -> float:
    """Seconds of silence after which systemd kills this process (sd_watchdog_enabled(3))."""
    meant_for = os.environ.get("WATCHDOG_PID", "")
    microseconds = os.environ.get("WATCHDOG_USEC", "")
    if not microseconds.isdigit() or meant_for not in ("", str(os.getpid())):
        return float("inf")
    return int(microseconds) / 1e6


def _send(*lines: str) -> None:
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    if address.startswith("@"):  # the abstract namespace
        address = "\0" + address[1:]
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as connection:
            connection.sendto("\n".join(lines).encode(), address)
    except OSError as error:
        LOG.warning("cannot tell systemd %s: %s", lines[0], error)
