"""Groups of commands."""

from __future__ import annotations

import inspect
from typing import Any

from typer.core import TyperGroup

SHOW = "show"


class Group(TyperGroup):
    """A group whose help has the first sentences of its commands in full."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a row for each command."""
        rows = [(name, self.summary(name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def summary(self, name: str) -> str:
        """The first paragraph of the help of a command."""
        return summary(self.commands[name])


class ShowByDefault(Group):
    """`ofapp docs vlans` is `ofapp docs show vlans`, and `ofapp problems` shows the problems."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put `show` before arguments that do not begin with a command."""
        if not args or args[0] not in (*self.commands, *ctx.help_option_names):
            args = [SHOW, *args]
        return super().parse_args(ctx, args)


def paragraphs(command: Any) -> list[str]:
    """The help of a command."""
    text = inspect.cleandoc(command.help or command.short_help or "")
    return [one.strip() for one in text.split("\n\n") if one.strip()] or [""]


def summary(command: Any) -> str:
    """The first paragraph of the help of a command, in one line."""
    return paragraphs(command)[0].replace("\n", " ")
