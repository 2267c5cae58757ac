"""A Debian machine for a test: this one's files under an overlay, booted by its own systemd.

Installing a package or starting units there leaves this machine as it was.  Processes, links,
mounts and control groups are in separate namespaces and end with it.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.support.lab import sh
from tests.support.waiting import wait_for

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
BOOT_SECONDS = 60.0  # about one by itself
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "HOME": "/root"}


class Machine:
    """Boots when entered, and is gone when left.  files: what it has; this machine's by default."""

    def __init__(self, files: Path = Path("/")) -> None:
        self.files_below = files
        self.folder = Path(tempfile.mkdtemp(prefix="ofapp-machine-"))
        self._process: subprocess.Popen[bytes] | None = None
        self._init = 0  # the process id of its init, here

    def __enter__(self) -> Self:
        command = ["unshare", "--mount", HERE / "boot", self.folder, REPOSITORY, self.files_below]
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        try:
            self._init = wait_for(self._booted, "systemd to boot", seconds=BOOT_SECONDS)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Pull the plug."""
        if self._process is not None:
            for child in _children(self._process.pid):
                os.kill(child, signal.SIGKILL)
            self._process.kill()
            self._process.wait()
        wait_for(self._forgotten, "its control groups to be empty")
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(
        self, *command: object, check: bool = True, seconds: float = 60, online: bool = False
    ) -> str:
        """What a command in the machine prints; AssertionError with all it says when it fails.

        online: it runs in this machine's network, and so reaches Debian's mirror.
        """
        enter = [word for word in self._enter(self._init) if not online or word != "-n"]
        done = subprocess.run(
            [*enter, *map(str, command)],
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        said = done.stdout + done.stderr
        assert done.returncode == 0 or not check, f"{command}: {done.returncode}\n{said}"
        return said if done.returncode else done.stdout

    def succeeds(self, *command: object) -> bool:
        """Whether a command in the machine ends with status 0."""
        enter = self._enter(self._init)
        return not subprocess.run(
            [*enter, *map(str, command)], env=ENVIRONMENT, capture_output=True, check=False
        ).returncode

    def put(self, path: str, content: bytes | str) -> None:
        """Have a file in the machine, with the folders above it."""
        data = content.encode() if isinstance(content, str) else content
        script = f"mkdir -p $(dirname {path}) && cat >{path}"
        enter = self._enter(self._init)
        subprocess.run([*enter, "sh", "-c", script], env=ENVIRONMENT, input=data, check=True)

    def wait(self, condition: Callable[[], Any], what: str, seconds: float = 30) -> Any:
        """Until `condition()`; with the journal's end when it does not come."""
        try:
            return wait_for(condition, what, seconds=seconds)
        except AssertionError as error:
            journal = self.run("journalctl", "--no-pager", "-n", "40", check=False)
            raise AssertionError(f"{error}\n{journal}") from None

    def wire(self, namespace: str, bridge: str, address: str) -> None:
        """Join a network, a Linux bridge in that namespace, by a link `lan` of this address."""
        end = f"m{self._init}"
        sh(
            *("ip", "-n", namespace, "link", "add", end, "up", "master", bridge, "type", "veth"),
            *("peer", "name", "lan", "netns", self._init),
        )
        self.run("ip", "address", "add", address, "dev", "lan")
        self.run("ip", "link", "set", "lan", "up")
        self.run("ethtool", "-K", "lan", "tx", "off")

    def unit(self, name: str, *properties: str) -> tuple[str, ...]:
        """Properties of a unit, as `systemctl show` names and prints them."""
        shown = self.run("systemctl", "show", name, *(f"--property={key}" for key in properties))
        values = dict(line.split("=", 1) for line in shown.splitlines())
        return tuple(values[key] for key in properties)

    def files(self) -> set[str]:
        """Paths below /etc, /usr, /var and /opt that there are in the machine and not in this."""
        found = self.run("find", "/run/upper", "-xdev", "-printf", "%y /%P\n").splitlines()
        paths = (line.split(" ", 1) for line in found)
        return {path for kind, path in paths if kind != "c" and not os.path.lexists(path)}

    def _booted(self) -> int:
        assert self._process is not None
        assert self._process.poll() is None, "the machine ended while it booted"
        for child in _children(self._process.pid):
            enter = self._enter(child)
            active = [*enter, "systemctl", "is-active", "--quiet", "basic.target"]
            if not subprocess.run(active, capture_output=True, check=False).returncode:
                return child
        return 0

    def _forgotten(self) -> bool:
        """Whether its control groups could be removed: its processes end in their own time."""
        remove = (
            f"mount -t cgroup2 cgroup {self.folder} && cd {self.folder}"
            f" && find . -path './{self.folder.name}*' -depth -type d -exec rmdir {{}} +"
        )
        command = ["unshare", "--mount", "sh", "-c", remove]
        return not subprocess.run(command, capture_output=True, check=False).returncode

    @staticmethod
    def _enter(init: int) -> list[str]:
        return ["nsenter", f"--target={init}", "-m", "-p", "-n", "-u", "-i", "-C", "-r", "--"]


def _children(process: int) -> list[int]:
    try:
        return [
            int(n) for n in Path(f"/proc/{process}/task/{process}/children").read_text().split()
        ]
    except FileNotFoundError:
        return []
