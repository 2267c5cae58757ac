"""Threads that run for as long as a `with` statement does."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Protocol, Self


class Closable(Protocol):
    """A socket, say."""

    def close(self) -> None: ...


class Background:
    """Each of `runs` in its own thread, until `_stop` is set at the end."""

    def __init__(self, *runs: Callable[[], None]) -> None:
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=run) for run in runs]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()
        for each in self._to_close():
            each.close()

    def _to_close(self) -> Iterable[Closable]:
        """What the threads have used."""
        return ()
