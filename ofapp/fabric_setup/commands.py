"""Settings as commands of ovs-vsctl."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ofapp.fabric_setup.settings import Controllers, Setting, Value

Words = list[str]


def commands(values: Iterable[Value]) -> list[Words]:
    """Commands that have these values set; joined by `--` they are one transaction."""
    parts: list[Words] = []
    for value in values:
        for words in _words(value):
            if parts and words[0] == "set" and parts[-1][:3] == words[:3]:
                parts[-1] += words[3:]
            else:
                parts.append(words)
    return parts


def back(values: Iterable[Value]) -> list[Words]:
    """The same commands for the way back, on which an interface may have been unplugged."""
    return [
        ["--if-exists", *words] if words[0] in ("set", "clear", "remove") else words
        for words in commands(values)
    ]


def passing(values: Iterable[Value]) -> list[Words]:
    """Commands of the way back before these: values that settings have only for a moment."""
    return back(
        replace(value, value=value.passing)
        for value in values
        if isinstance(value, Setting) and value.value is None and value.passing is not None
    )


def joined(parts: Sequence[Words]) -> Words:
    """The words of one call of ovs-vsctl."""
    return [word for number, part in enumerate(parts) for word in (["--"] if number else []) + part]


def shell(parts: Sequence[Words], database: str | None = None) -> str:
    """The line that a person types: one command below the other."""
    start = "ovs-vsctl " if database is None else f"ovs-vsctl --db={shlex.quote(database)} "
    return start + " \\\n    -- ".join(shlex.join(part) for part in parts)


def _words(value: Value) -> list[Words]:
    if isinstance(value, Controllers):
        return _controllers(value)
    column, colon, key = value.column.partition(":")
    if value.value is None:
        if colon:
            return [["remove", value.table, value.row, column, key]]
        return [["clear", value.table, value.row, column]]
    plain = column != "other_config" or re.fullmatch(r"[\w.-]+", value.value)
    text = value.value if plain else f'"{value.value}"'
    return [["set", value.table, value.row, f"{value.column}={text}"]]


def _controllers(value: Controllers) -> list[Words]:
    """New rows: those that leave a bridge are deleted by the database."""
    created = []
    for number, controller in enumerate(value.controllers):
        columns = [f'target="{controller.target}"']
        columns += [f"{name}={given}" for name, given in sorted(controller.columns.items())]
        created.append([f"--id=@c{number}", "create", "Controller", *columns])
    if not created:
        return [["del-controller", value.bridge]]
    names = ",".join(f"@c{number}" for number in range(len(created)))
    return [*created, ["set", "Bridge", value.bridge, f"controller=[{names}]"]]
