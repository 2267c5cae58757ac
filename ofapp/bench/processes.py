"""Programs that are started, waited for and ended."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from ofapp.bench import BenchError


def run(*words: object, env: Mapping[str, str] | None = None, seconds: float = 60) -> str:
    """A command's output; BenchError with what it said when it fails or is not there."""
    texts = [str(word) for word in words]
    try:
        done = subprocess.run(
            texts, capture_output=True, text=True, timeout=seconds, check=False, env=env
        )
    except FileNotFoundError as error:
        raise BenchError(f"{texts[0]} is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise BenchError(f"{' '.join(texts)}: not done after {seconds:g} s") from error
    if done.returncode:
        raise BenchError(f"{' '.join(texts)}: {(done.stderr or done.stdout).strip()[-500:]}")
    return done.stdout


@contextlib.contextmanager
def started(words: Sequence[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A program with its output in `log`, ended with the block."""
    with log.open("wb") as output:
        try:
            process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        except FileNotFoundError as error:
            raise BenchError(f"{words[0]} is not installed") from error
    try:
        yield process
    finally:
        end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """Ask it to end, and make it after five seconds."""
    process.terminate()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def free_port() -> int:
    """A TCP port of the loopback that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def listens(port: int, process: int | str = "self") -> bool:
    """Whether a socket listens there, in the network namespace of a process.

    Asked of the kernel: a connection made to find out would be a switch to a controller.
    """
    for name in ("tcp", "tcp6"):
        for line in Path(f"/proc/{process}/net/{name}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and int(fields[1].rsplit(":", 1)[1], 16) == port:
                return True
    return False


def wait_until(condition: Callable[[], bool], timeout: float) -> bool:
    """Poll a condition of the outside world; False when time runs out."""
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
