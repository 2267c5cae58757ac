"""Usage errors in two lines: the usage of the command, and the error.

typer prints them in a frame that wraps them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

Abort = typer.Abort
UsageError: Any = typer.BadParameter.__base__
"""Base class of all usage errors; typer does not export it."""


def refusal(error: Any) -> Iterator[str]:
    """The lines for a usage error."""
    if error.ctx is None:
        yield f"ofapp: {error.format_message()}"
        return
    what = error.format_message()
    if what and type(error) is typer.BadParameter:  # not that an argument is missing
        what = _what(error)
    if not what:  # the help has been printed instead
        return
    yield error.ctx.get_usage()
    yield f"ofapp: {what}"


def _what(error: Any) -> str:
    if error.param is None:
        return str(error.message)
    return f"{error.param.get_error_hint(error.ctx).replace(chr(39), '')}: {error.message}"
