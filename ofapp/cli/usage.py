"""What is wrong with a command line, in two lines: how it is used, and what to change.

typer's own messages are pydantic's ("Input should be a valid integer, unable to parse string as an
integer"), in a frame that wraps them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

Abort = typer.Abort
UsageError: Any = typer.BadParameter.__base__
"""typer exports no name for the base class of all that is wrong with a command line."""

_BOUNDS = {
    "greater_than_equal": ("at least", "ge"),
    "less_than_equal": ("at most", "le"),
    "greater_than": ("above", "gt"),
    "less_than": ("below", "lt"),
}


def refusal(error: Any) -> Iterator[str]:
    """The lines for a UsageError."""
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
    found = getattr(error.__cause__, "errors", None)
    what = str(error.message) if found is None else _said(found()[0])
    if error.param is None:
        return what
    return f"{error.param.get_error_hint().replace(chr(39), '')}: {what}"


def _said(fault: dict[str, Any]) -> str:
    """One of pydantic's faults, as `ofapp config check` puts it."""
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
