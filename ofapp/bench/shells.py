"""Shells at the ends of the test bed: in a namespace, in a guest, or on another machine.

A shell takes a line, runs it, and says when it is done: so over a pipe, a serial line and ssh.
"""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ofapp.bench import BenchError
from ofapp.bench.processes import end

DONE = "<done>"
LOOP = f"while read -r line; do sh -c \"$line\" 2>&1 </dev/null; echo '{DONE}'; done"
"""What a shell runs."""


class Shell:
    """The near end of a shell; its process is another one's to end."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._said = b""

    def run(self, line: str, seconds: float) -> str:
        """The output of a line; BenchError when it is not done in time."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{line}\n".encode())
            self._process.stdin.flush()
        except OSError:
            pass  # it has ended, and has said why
        return self.wait(seconds)

    def wait(self, seconds: float) -> str:
        """What it says until it is done with what it does."""
        assert self._process.stdout is not None
        deadline = time.monotonic() + seconds
        while DONE.encode() not in self._said:
            left = deadline - time.monotonic()
            ready, _, _ = select.select([self._process.stdout], [], [], max(left, 0))
            data = os.read(self._process.stdout.fileno(), 65536) if ready else b""
            if not data:
                said = " ".join(self._said.decode(errors="replace").split())[-300:]
                why = "has ended" if ready else f"was not done in {seconds:g} s"
                raise BenchError(f"the shell {why}, and said: {said or 'nothing'}")
            self._said += data
        before, _, self._said = self._said.partition(DONE.encode())
        return before.decode(errors="replace").replace("\r", "")


@contextmanager
def shell(words: Sequence[str], patience: float = 10) -> Iterator[Shell]:
    """The shell at the other side of a program, which ends when its input does.

    patience: seconds after which it is ended all the same.
    """
    try:
        started = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
    except FileNotFoundError as error:
        raise BenchError(f"{words[0]} is not installed") from error
    with started as process:
        try:
            yield Shell(process)
        finally:
            if process.stdin is not None and not process.stdin.closed:
                process.stdin.close()  # at which `ofapp bench far` removes what it has made
            try:
                process.wait(patience)
            except subprocess.TimeoutExpired:
                end(process)
