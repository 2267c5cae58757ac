"""What commands print: run now, or saved before in files of a directory."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ofapp.migrate.setting import ImportFault

SECONDS = 30
MAX_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Command:
    """A command, and the name of the file that has its output.

    optional: without the file nothing is known, which is no fault.
    """

    file: str
    words: tuple[str, ...]
    package: str
    optional: bool = False

    def __str__(self) -> str:
        return " ".join(self.words)

    @property
    def shown(self) -> str:
        """The command without its options, for messages."""
        words = [word for word in self.words if not word.startswith(("-", "OpenFlow1"))]
        return " ".join(words)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command printed; where: its name for messages."""

    where: str
    text: str

    def json(self) -> Any:
        """The value; ImportFault."""
        try:
            return json.loads(self.text or "[]")
        except ValueError as error:
            raise ImportFault(f"{self.where}: not JSON: {error}; save it again") from None


def answer(command: Command, directory: Path | None) -> Answer:
    """The output of a command, from its file if a directory is given; ImportFault."""
    if directory is None:
        return Answer(command.shown, _run(command))
    path = directory / command.file
    if command.optional and not path.exists():
        return Answer(str(path), "")
    return Answer(str(path), text_of(path, f"save it there: {command} > {path}"))


def text_of(path: Path, remedy: str) -> str:
    """The text of a file; ImportFault."""
    try:
        with path.open("rb") as file:
            octets = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ImportFault(f"{path}: {error.strerror}; {remedy}") from None
    if len(octets) > MAX_BYTES:
        raise ImportFault(f"{path}: larger than {MAX_BYTES >> 20} MiB; is it the right file?")
    try:
        return octets.decode()
    except UnicodeDecodeError as error:
        line = octets.count(b"\n", 0, error.start) + 1
        raise ImportFault(f"{path}:{line}: not UTF-8; convert the file") from None


def _run(command: Command) -> str:
    try:
        done = subprocess.run(
            command.words, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except FileNotFoundError:
        what = f"install {command.package}, or save the output elsewhere and give --from"
        raise ImportFault(f"{command.words[0]} is not installed: {what}") from None
    except subprocess.TimeoutExpired:
        raise ImportFault(f"{command}: no answer after {SECONDS} s; is the daemon alive?") from None
    if done.returncode:
        error = done.stderr.strip() or f"exit status {done.returncode}"
        raise ImportFault(f"{command}: {error}; run it by hand to see why")
    return done.stdout
