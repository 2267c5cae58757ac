"""Starting the process that puts the host back, `ofapp.host_setup.watch`.

It is started before the first step, in its own session, so that neither a kill -9 nor a lost
terminal of `ofapp deploy apply` reaches it.  Under systemd it has its own unit as well: logging
out may end everything that a session has started (KillUserProcesses).  After a reboot the boot unit
runs `ofapp deploy recover` in its place.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import ofapp
from ofapp.host_setup.journal import JournalError, R, Records

START_SECONDS = 30.0
_PACKAGES = str(Path(ofapp.__file__).resolve().parents[1])  # also of a checkout, seen from "/"


def start(store: Records[R], bridge: str) -> None:
    """Have a watcher for the bridge's journal, which is written already.  Raises JournalError."""
    ready = store.ready_path(bridge)
    ready.unlink(missing_ok=True)
    words = [sys.executable, "-m", store.program, str(store.directory.resolve()), bridge]
    process = None if _by_systemd(words, bridge) else _detached(words, store.log_path(bridge))
    deadline = time.monotonic() + START_SECONDS
    while not ready.exists():
        dead = process is not None and process.poll() is not None
        if dead or time.monotonic() > deadline:
            raise JournalError(f"the watcher does not start: see {store.log_path(bridge)}")
        time.sleep(0.02)


def _detached(words: list[str], log_path: Path) -> subprocess.Popen[bytes]:
    paths = [_PACKAGES, *filter(None, [os.environ.get("PYTHONPATH")])]
    with open(log_path, "ab") as log:
        return subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
            start_new_session=True,
        )


def _by_systemd(words: list[str], bridge: str) -> bool:
    """Start it as its own unit; whether that worked."""
    if not Path("/run/systemd/system").is_dir():
        return False
    unit = f"ofapp-watch-{bridge}-{os.getpid()}"
    command = ["systemd-run", "--quiet", "--collect", f"--unit={unit}"]
    command += ["--property=Restart=on-failure", "--property=RestartSec=1"]
    command += [f"--setenv=PYTHONPATH={_PACKAGES}", "--", *words]
    with suppress(OSError):
        return subprocess.run(command, check=False, stdin=subprocess.DEVNULL).returncode == 0
    return False
