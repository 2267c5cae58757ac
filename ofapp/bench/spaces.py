"""Network namespaces, entered for as long as it takes to open a socket or write a setting.

pyroute2's own ways into a namespace fork a process that has to be done within a deadline, which a
busy machine misses now and then.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator
from pathlib import Path

from pyroute2 import IPRoute

FOLDER = Path("/run/netns")
CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def inside(name: str | None) -> Iterator[None]:
    """Run this thread in the namespace meanwhile; None is the one that it is in already."""
    if name is None:
        yield
        return
    here = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        there = os.open(FOLDER / name, os.O_RDONLY)
        try:
            _enter(there)
        finally:
            os.close(there)
        try:
            yield
        finally:
            _enter(here)
    finally:
        os.close(here)


@contextlib.contextmanager
def netlink(name: str | None) -> Iterator[IPRoute]:
    """The links and addresses of a namespace."""
    with inside(name), IPRoute() as kernel:
        yield kernel


def sysctl(name: str, value: int) -> None:
    """Set net.NAME, dots written as slashes, in the namespace that this thread is in."""
    Path("/proc/sys/net", name).write_text(f"{value}\n")


def command(name: str | None, *words: object) -> list[str]:
    """The words of a command to run in the namespace."""
    prefix = [] if name is None else ["ip", "netns", "exec", name]
    return [*prefix, *(str(word) for word in words)]


def _enter(descriptor: int) -> None:
    if _libc.setns(descriptor, CLONE_NEWNET):
        number = ctypes.get_errno()
        raise OSError(number, f"setns: {os.strerror(number)}")
