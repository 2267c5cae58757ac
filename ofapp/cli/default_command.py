"""A group of commands in which a word that is not a command is an argument of `show`."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

SHOW = "show"


class ShowByDefault(TyperGroup):
    """`ofapp docs vlans` is `ofapp docs show vlans`, and `ofapp problems` shows the problems."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put `show` before arguments that do not begin with a command."""
        if not args or args[0] not in (*self.commands, *ctx.help_option_names):
            args = [SHOW, *args]
        return super().parse_args(ctx, args)
