"""A live server for tests that need one."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def served(network: str = "some", port: int = 0) -> Iterator[str]:
    """The URL of a server of a network of `network.NETWORKS`; port: a free one if 0."""
    with _running(network, port) as (url, _):
        yield url


@contextmanager
def closed() -> Iterator[tuple[str, dict[str, str]]]:
    """The URL of a server that asks who one is, and a token of each role."""
    with _running("closed", 0) as running:
        yield running


@contextmanager
def _running(network: str, port: int) -> Iterator[tuple[str, dict[str, str]]]:
    script = Path(__file__).with_name("serve.py")
    with subprocess.Popen(
        [sys.executable, script, network, str(port)], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            given, tokens = process.stdout.readline().split(maxsplit=1)
            yield f"http://127.0.0.1:{int(given)}", json.loads(tokens)
        finally:
            process.terminate()
