"""A live server for tests that need one."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.forks import fork

ROOT = Path(__file__).parents[3]


@contextmanager
def served(network: str = "some", port: int = 0) -> Iterator[str]:
    """The URL of a server of a network of `network.NETWORKS`; port: a free one if 0."""
    with running(network, port) as (url, _):
        yield url


@contextmanager
def closed() -> Iterator[tuple[str, dict[str, str]]]:
    """The URL of a server that asks who one is, and a token of each role."""
    with running("closed") as there:
        yield there


@contextmanager
def running(network: str, port: int = 0) -> Iterator[tuple[str, dict[str, str]]]:
    """The URL of a server of a network, and a token of each role where one is needed."""
    reading, writing = os.pipe()
    with open(reading) as said:
        arguments = [network, str(port)]
        process = fork(arguments, ROOT, os.environ, writing, 2, "tests.unit.api.serve")
        os.close(writing)
        try:
            given, tokens = said.readline().split(maxsplit=1)
            yield f"http://127.0.0.1:{int(given)}", json.loads(tokens)
        finally:
            process.terminate()
            process.wait(20)
