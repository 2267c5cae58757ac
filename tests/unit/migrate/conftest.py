"""`ofapp import` as its user meets it: the command, its file, and what it reports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from ofapp.cli.app import app
from ofapp.config import Config, parse_config


@dataclass(frozen=True)
class Imported:
    """What one import gave."""

    status: int
    out: str
    err: str

    @property
    def comments(self) -> str:
        """The comments of the file."""
        return "\n".join(line for line in self.out.splitlines() if line.startswith("#"))

    @property
    def config(self) -> Config:
        """The file, read as the controller reads it."""
        assert self.status == 0, self.err
        return parse_config(self.out.encode(), "imported")

    def bridge(self, name: str = "br0") -> dict[str, Any]:
        """The section of a bridge as it stands in the file."""
        assert self.config.bridges, self.out
        section: dict[str, Any] = yaml.safe_load(self.out)["bridges"][name]
        return section

    def reports(self, *words: str) -> bool:
        """Whether one line of the report, and one comment of the file, has all these words."""
        return all(
            any(all(word in line for word in words) for line in text.splitlines())
            for text in (self.err, self.comments)
        )


Import = Callable[..., Imported]


@pytest.fixture
def imported() -> Import:
    """Runs `ofapp import` with arguments."""

    def run(*arguments: object) -> Imported:
        done = CliRunner().invoke(app, ["import", *map(str, arguments)])
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return Imported(done.exit_code, done.stdout, done.stderr)

    return run
