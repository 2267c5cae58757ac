"""ofapp record and ofapp replay: what the bridges of a controller got and did, and once more."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import Annotated

import typer

from ofapp.cli.client import CONNECT, ApiError, Client
from ofapp.cli.output import say

_FILE = typer.Argument(metavar="FILE", help="The recording, JSON lines compressed by gzip.")


def record(file: Annotated[Path, _FILE], client: Client = CONNECT) -> None:
    """Save the recording of a controller that runs with --record.

    It has the inputs of all bridges since the controller has started, with frames of hosts. Of a
    long run it has the beginning, and the last minutes of each bridge after a gap. It has no keys,
    tokens or passwords, and no LLDP.
    """
    content = client.binary("/v1/recording")
    try:
        file.write_bytes(content)
    except OSError as error:
        raise ApiError(f"cannot write {file}: {error.strerror}") from None
    say(f"{file}: {len(content)} octets")


def replay(file: Annotated[Path, _FILE]) -> None:
    """Run a recording through the bridge again, and report the first difference.

    No controller or switch is needed. Without a difference this version decides as the one that
    made the recording. Lines after a gap can be read, but not replayed. Exit status: 0 without a
    difference, 1 with one.
    """
    from ofapp import recording

    try:
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            count, difference, left = recording.replay(lines)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise ApiError(f"cannot read {file}: {reason}") from None
    except ValueError as error:
        raise ApiError(f"{file}: {error}") from None
    if difference is None:
        rest = f"; {left} lines after a gap cannot be replayed" if left else ""
        say(f"{count} inputs: no difference{rest}")
        return
    say(f"difference at input {count}: {difference}")
    raise typer.Exit(1)
