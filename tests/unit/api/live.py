"""A live server for tests that need one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def served(network: str = "some", port: int = 0) -> Iterator[str]:
    """The URL of a server of a network of `network.NETWORKS`; port: a free one if 0."""
    script = Path(__file__).with_name("serve.py")
    with subprocess.Popen(
        [sys.executable, script, network, str(port)], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.terminate()
