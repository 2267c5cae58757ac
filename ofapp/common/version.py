"""The version with the commit that it was built from, as bug reports need it."""

import contextlib
import subprocess
from functools import cache
from pathlib import Path

import ofapp

CHECKOUT = Path(ofapp.__file__).parent.parent
GIT_SECONDS = 5


@cache
def commit() -> str | None:
    """The commit, abbreviated, with `-dirty` if files were changed; None where it is unknown.

    Builds record it (deploy/wheel/backend.py).  Only a checkout asks git, at the first call.
    """
    if (CHECKOUT / ".git").exists():
        return _described()
    try:
        from ofapp import _build  # type: ignore[attr-defined, unused-ignore]
    except ImportError:
        return None
    recorded: str | None = _build.COMMIT
    return recorded


def _described() -> str | None:
    command = ["git", "describe", "--always", "--dirty", "--abbrev=7", "--exclude=*"]
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        return subprocess.run(
            command,
            cwd=CHECKOUT,
            capture_output=True,
            text=True,
            timeout=GIT_SECONDS,
            check=True,
        ).stdout.strip()
    return None


def full_version() -> str:
    """The version and the commit, for people: `0.3.0 (commit 71af1a2)`."""
    known = commit()
    return f"{ofapp.__version__} (commit {known})" if known else ofapp.__version__
