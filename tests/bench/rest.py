"""The REST API from outside: one keep-alive connection, each answer timed to its last byte."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote


class Api:
    """A client of one controller's API."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def close(self) -> None:
        """Hang up."""
        self._connection.close()

    def get(self, path: str) -> tuple[float, Any, int]:
        """(seconds, the JSON answer, its size in bytes); RuntimeError unless the status is 200."""
        started = time.perf_counter()
        try:
            self._connection.request("GET", path)
            response = self._connection.getresponse()
            body = response.read()
        except (http.client.HTTPException, OSError):
            self._connection.close()  # the next request opens a new one
            raise
        seconds = time.perf_counter() - started
        if response.status != 200:
            raise RuntimeError(f"GET {path}: {response.status} {body[:300]!r}")
        return seconds, json.loads(body), len(body)

    def pages(self, path: str, limit: int) -> Iterator[tuple[float, list[Any], int]]:
        """(seconds, entries, bytes) of each page, following the cursor."""
        cursor = None
        while True:
            url = f"{path}?limit={limit}"
            if cursor is not None:
                url += f"&cursor={quote(str(cursor), safe='')}"
            seconds, page, size = self.get(url)
            yield seconds, entries(page), size
            cursor = next_cursor(page)
            if not cursor:
                return


def entries(page: Any) -> list[Any]:
    """The list in a page, under any key."""
    if isinstance(page, list):
        return page
    return next(value for value in page.values() if isinstance(value, list))


def next_cursor(page: Any) -> str | None:
    """The cursor of the page after this one."""
    if not isinstance(page, dict):
        return None
    for key in ("next_cursor", "next", "cursor"):
        if page.get(key):
            return str(page[key])
    return None


class Sampler:
    """Answer times of one request repeated in a thread; what fails is counted."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.failures = 0


@contextmanager
def sampling(port: int, path: str, interval: float = 0.02) -> Iterator[Sampler]:
    """Keep asking for `path`, `interval` seconds after each answer, while the body runs.

    The last request is waited for, and so counts however long it takes.
    """
    sampler, stop = Sampler(), threading.Event()

    def ask() -> None:
        api = Api(port)
        while not stop.is_set():
            try:
                sampler.seconds.append(api.get(path)[0])
            except (RuntimeError, OSError, http.client.HTTPException):
                sampler.failures += 1
            stop.wait(interval)
        api.close()

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield sampler
    finally:
        stop.set()
        thread.join()
