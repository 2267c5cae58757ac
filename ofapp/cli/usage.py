"""Usage errors in two lines: the usage of the command, and the error.

typer prints them in a frame that wraps them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer

Abort = typer.Abort
_NUMBERS = {"int": "a whole number", "float": "a number"}
"""What typer calls `a valid int range`, and the like."""

UsageError: Any = typer.BadParameter.__base__
"""Base class of all usage errors; typer does not export it."""


def refusal(error: Any) -> Iterator[str]:
    """The lines for a usage error; those of the help for a group without a command."""
    if type(error).__name__ == "NoArgsIsHelpError":  # typer does not export it
        yield from error.format_message().splitlines()
        return
    if error.ctx is None:
        yield f"ofapp: {error.format_message()}"
        return
    what = " ".join(error.format_message().split())  # typer has choices on several lines
    if what and type(error) is typer.BadParameter:  # not that an argument is missing
        what = _what(error)
    if not what:  # the help has been printed instead
        return
    yield error.ctx.get_usage()
    yield f"ofapp: {what}"


def _what(error: Any) -> str:
    said = re.sub(r"a valid (int|float)( range)?\.", lambda m: _NUMBERS[m[1]], str(error.message))
    if error.param is None:
        return said
    return f"{error.param.get_error_hint(error.ctx).replace(chr(39), '')}: {said}"
