"""Why the launcher gives up, and a look that many options need."""

from __future__ import annotations

from pathlib import Path

from ofapp.common.files import read_regular


class StartError(Exception):
    """Why the launcher gives up: one line for a person, and the exit status."""

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status


def check_readable(option: str, path: str) -> None:
    """StartError unless it is a file that can be read; a FIFO would be waited for."""
    try:
        read_regular(Path(path), 1)
    except OSError as error:
        raise StartError(f"cannot read {option} {path}: {error.strerror}") from None
