"""The ends of the logs of what runs for a test, for the report of one that fails."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol


class Logged(Protocol):
    """Something that runs and has logs."""

    def logs(self) -> Iterator[tuple[str, str]]:
        """(title, the end of the log) of each."""


_running: list[Logged] = []


def watch(thing: Logged) -> None:
    """Show its logs with all that fails from now on."""
    if thing not in _running:
        _running.append(thing)


def unwatch(thing: Logged) -> None:
    """It has ended; nothing for one that was not watched."""
    if thing in _running:
        _running.remove(thing)


def all_logs() -> list[tuple[str, str]]:
    """Those of everything that runs now."""
    return [log for thing in _running for log in thing.logs()]
