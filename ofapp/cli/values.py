"""KEY=VALUE on a command line: any value that the configuration file may have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import typer
import yaml


def settings(texts: Iterable[str] | None, given: Mapping[str, object]) -> dict[str, object]:
    """The settings of arguments, as `isolated=true`, and of options; typer.BadParameter."""
    values = dict(map(_key_value, texts or ()))
    for name in values.keys() & given.keys():
        raise typer.BadParameter(f"{name} is given twice: as an option and as {name}=VALUE")
    if not values and not given:
        raise typer.BadParameter("nothing to set: give at least one option or KEY=VALUE")
    return {**values, **given}


def _key_value(text: str) -> tuple[str, object]:
    key, equals, value = text.partition("=")
    try:
        if not equals:
            raise ValueError("expected KEY=VALUE")
        return key, yaml.safe_load(value)
    except yaml.MarkedYAMLError as error:
        column = len(key) + 2 + (error.problem_mark.column if error.problem_mark else 0)
        what = f"not YAML at column {column}: {error.problem}"
        raise typer.BadParameter(f"{text}: {what} (quote it for the shell)") from None
    except (ValueError, yaml.YAMLError) as error:
        raise typer.BadParameter(f"{text}: {error}") from None
