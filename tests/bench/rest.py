"""The REST API from outside: one keep-alive connection, each answer timed to its last byte."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

from tests.bench.meanwhile import meanwhile


class Api:
    """A client of one controller's API."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def close(self) -> None:
        """Hang up."""
        self._connection.close()

    def get(self, path: str, headers: Mapping[str, str] = {}) -> tuple[float, Any, int]:
        """(seconds, the JSON answer, its size in bytes); RuntimeError unless the status is 200."""
        started = time.perf_counter()
        try:
            self._connection.request("GET", path, headers=headers)
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
        more = ""
        while True:
            seconds, page, size = self.get(f"{path}?limit={limit}{more}")
            yield seconds, page["entries"], size
            if page["next"] is None:
                return
            more = f"&cursor={quote(page['next'], safe='')}"


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
    sampler = Sampler()

    def ask(over: Callable[[], bool]) -> None:
        api = Api(port)
        while not over():
            try:
                sampler.seconds.append(api.get(path)[0])
            except (RuntimeError, OSError, http.client.HTTPException):
                sampler.failures += 1
            time.sleep(interval)
        api.close()

    with meanwhile(ask):
        yield sampler
