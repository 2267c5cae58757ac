"""Programs that run in a host's namespace with directories that are theirs alone."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support import logs
from tests.support.lab import Host
from tests.support.waiting import wait_for

PRIVATE = ("/run", "/var/lib", "/etc/systemd/network")
"""Where clients and servers keep their state: empty, and gone with them."""


class Daemon:
    """A program until the end of a `with` statement, or until `close`.

    files: by path, what it finds in its private directories; `setup` runs there before it.
    """

    def __init__(
        self, host: Host, *command: str, setup: str = "true", files: dict[str, str] | None = None
    ) -> None:
        self.host = host
        self.command = command
        self._dir = tempfile.TemporaryDirectory(prefix="ofapp-fh-")
        self.log_path = Path(self._dir.name, "log")
        lines = ["mount --make-rprivate /"]
        lines += [f"mount -t tmpfs none {place}" for place in PRIVATE]
        for number, (path, text) in enumerate((files or {}).items()):
            Path(self._dir.name, str(number)).write_text(text)
            lines.append(f"mkdir -p $(dirname {path})")
            lines.append(f"cp {self._dir.name}/{number} {path}")
        lines += ["chmod -R a+rX /run", setup, 'exec "$@"']
        with self.log_path.open("wb") as log:
            self.process = subprocess.Popen(
                [
                    *("ip", "netns", "exec", host.namespace, "unshare", "-m"),
                    *("sh", "-ec", "\n".join(lines), "sh", *command),
                ],
                cwd=self._dir.name,
                stdin=subprocess.PIPE,  # yersinia ends when it can read something, or an end
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        logs.watch(self)

    def log(self) -> str:
        """All that it has written."""
        return self.log_path.read_text(errors="replace")

    def logs(self) -> Iterator[tuple[str, str]]:
        """See `tests.support.logs`."""
        tail = "\n".join(self.log().splitlines()[-15:])
        yield f"{Path(self.command[0]).name} in {self.host.namespace}", tail

    def wait_logged(self, text: str, seconds: float = 10) -> None:
        """Wait until that is in its log."""
        wait_for(
            lambda: text in self.log(), f"{self.command[0]} to write {text!r}", seconds=seconds
        )

    def signal(self, number: int) -> None:
        """Send a signal to the program."""
        self.process.send_signal(number)

    def close(self) -> None:
        """End it, and what it has started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        assert self.process.stdin is not None
        self.process.stdin.close()
        logs.unwatch(self)
        self._dir.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()
