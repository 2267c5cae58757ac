"""Usage errors in two lines: the usage of the command, and the error.

typer prints pydantic's messages ("Input should be a valid integer, unable to parse string as an
integer"), in a frame that wraps them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

Abort = typer.Abort
UsageError: Any = typer.BadParameter.__base__
"""Base class of all usage errors; typer does not export it."""

_BOUNDS = {
    "greater_than_equal": ("at least", "ge"),
    "less_than_equal": ("at most", "le"),
    "greater_than": ("above", "gt"),
    "less_than": ("below", "lt"),
}


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
    errors = getattr(error.__cause__, "errors", None)
    what = str(error.message) if errors is None else _said(errors()[0])
    if error.param is None:
        return what
    return f"{error.param.get_error_hint().replace(chr(39), '')}: {what}"


def _said(fault: dict[str, Any]) -> str:
    """The message for one of pydantic's errors, in the words of `ofapp config check`."""
    type_, context, given = fault["type"], fault.get("ctx", {}), fault["input"]
    if "error" in context:
        return str(context["error"])
    if type_ in _BOUNDS:
        word, key = _BOUNDS[type_]
        return f"must be {word} {context[key]}, not {given}"
    if type_.startswith(("int", "float")):
        whole = "whole " if type_.startswith("int") else ""
        return f"must be a {whole}number, not {given}"
    return f"{fault['msg'][0].lower()}{fault['msg'][1:]}"
