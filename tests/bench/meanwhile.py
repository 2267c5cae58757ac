"""What goes on in a thread while a measurement does something else."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def meanwhile(work: Callable[[Callable[[], bool]], object]) -> Iterator[None]:
    """Have `work` do during the body, until the function it is given says so.

    What it raises ends the measurement: what is measured beside it would mean nothing.
    """
    over = threading.Event()
    failure: list[BaseException] = []

    def attend() -> None:
        try:
            work(over.is_set)
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=attend)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    if failure:
        raise failure[0]
