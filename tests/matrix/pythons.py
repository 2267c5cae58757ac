"""Virtual environments of other Pythons, and of newer packages than the pinned ones."""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.support import roots

CLONE = Path(__file__).parents[2]
LOCKS = [CLONE / "deploy" / name for name in ("requirements.txt", "requirements-test.txt")]
VENVS = roots.FOLDER / "venvs"
# Beside Python, what unit tests start.
PACKAGES = (
    *("ca-certificates", "curl", "etcd-client", "etcd-server", "git", "iproute2", "man-db"),
    *("openssl", "procps", "python3", "python3-venv", "util-linux"),
)
RENAMED = {
    "flask-openapi3": "flask-openapi",
    "flask-openapi3-swagger": "flask-openapi-swagger",
}
"""Packages that go on under another name."""


@dataclass(frozen=True)
class Python:
    """root: where it is at home, or None for this machine; venv: its virtual environment."""

    venv: Path
    root: Path | None = None

    def command(self, *arguments: str) -> list[str]:
        """What runs this Python in the clone."""
        own = [str(self.venv / "bin/python"), *arguments]
        if self.root is None:
            return own
        return roots.inside(self.root, *own, bind=[CLONE, VENVS, Path("/tmp")], cwd=CLONE)


def of_suite(suite: str) -> Python:
    """A suite's own Python with the pinned packages."""
    folder = roots.root(suite, PACKAGES)
    python = Python(_place(folder.name, pinned()), folder)
    return _made(python, "/usr/bin/python3", pinned())


def of_pyenv(version: str) -> Path | None:
    """The newest interpreter of that version that pyenv has installed here."""
    found = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python3"))
    return found[-1] if found else None


def on_this_machine(name: str, interpreter: Path) -> Python:
    """An interpreter of this machine with the pinned packages."""
    return _made(Python(_place(name, pinned())), str(interpreter), pinned())


def newest() -> Python:
    """This machine's Python with the newest release of each package that ofapp needs."""
    needed = _needed()
    lines = [_name(line) if _name(line) in needed else line for line in pinned()]
    wanted = [RENAMED.get(line, line) for line in lines]
    return _made(Python(_place("newest", wanted)), "/usr/bin/python3", wanted)


def pinned() -> list[str]:
    """Lines of the locks."""
    lines = [line for path in LOCKS for line in path.read_text().splitlines()]
    return [line for line in lines if not line.startswith("#")]


def _needed() -> set[str]:
    """What setup.cfg names, and what eventlet stands on."""
    section = (CLONE / "setup.cfg").read_text().partition("install_requires =")[2]
    names = re.findall(r"^    ([\w.-]+)", section.partition("\n\n")[0], re.MULTILINE)
    return {name.replace("_", "-") for name in names} | {"greenlet"}


def _name(line: str) -> str:
    return line.partition("==")[0].replace("_", "-")


def _place(name: str, requirements: Iterable[str]) -> Path:
    digest = hashlib.sha256("\n".join(requirements).encode()).hexdigest()[:12]
    return VENVS / f"{name}-{digest}"


def _made(python: Python, interpreter: str, requirements: list[str]) -> Python:
    VENVS.mkdir(parents=True, exist_ok=True)
    with roots.locked(python.venv.with_name(f"{python.venv.name}.lock")):
        done = python.venv / "done"
        if not done.exists():
            listed = python.venv.with_name(f"{python.venv.name}.txt")
            listed.write_text("\n".join(requirements) + "\n")
            make = f"{interpreter} -m venv --clear {python.venv}"
            install = f"{python.venv}/bin/pip install --quiet -r {listed}"
            command = ["sh", "-c", f"{make} && {install}"]
            if python.root is None:
                subprocess.run(command, check=True, timeout=1800)
            else:
                roots.enter(python.root, *command, bind=[VENVS], seconds=1800)
            done.touch()
    return python
