"""KEY=VALUE on a command line: any value that the configuration file may have."""

from __future__ import annotations

from collections.abc import Iterable

import typer
import yaml


def key_values(texts: Iterable[str]) -> dict[str, object]:
    """`isolated=true`, `storm={broadcast: 100}` and the like; typer.BadParameter."""
    return dict(map(_key_value, texts))


def _key_value(text: str) -> tuple[str, object]:
    key, equals, value = text.partition("=")
    try:
        if not equals:
            raise ValueError("KEY=VALUE is wanted")
        return key, yaml.safe_load(value)
    except (ValueError, yaml.YAMLError) as error:
        raise typer.BadParameter(f"{text}: {error}") from None
