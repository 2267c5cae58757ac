"""Why the launcher gives up, and a look that many options need."""

from __future__ import annotations


class StartError(Exception):
    """Why the launcher gives up: one line for a person, and the exit status."""

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status


def check_readable(option: str, path: str) -> None:
    """StartError unless the file can be read."""
    try:
        with open(path, "rb") as file:
            file.read(1)
    except OSError as error:
        raise StartError(f"cannot read {option} {path}: {error.strerror}") from None
