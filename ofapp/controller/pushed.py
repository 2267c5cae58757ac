"""A configuration that all members of a cluster do as, instead of each machine's file.

Only values and questions are here, for those who show and ask for it; `cluster.configuration`
answers, where there is a cluster.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from ofapp.config import Config, parse_config


@dataclass(frozen=True, slots=True)
class Pushed:
    """data: the file's octets; file: what it was called; by: who pushed it; at: seconds since the
    epoch; revision: etcd's, 0 for what is only offered."""

    data: bytes
    file: str
    by: str
    at: float
    revision: int = 0

    @property
    def place(self) -> str:
        """For people."""
        return f"{self.file}, revision {self.revision}" if self.revision else self.file

    def config(self) -> Config:
        """What it says; ConfigError."""
        return parse_config(self.data, self.file)


class Member(NamedTuple):
    """What a member says of the configuration.

    revision: that it does as, None: its machine's file; error: why not the last one, empty when it
    does; differs: its machine's file says something else.
    """

    name: str
    revision: int | None
    error: str = ""
    differs: bool = False


class Outcome(NamedTuple):
    """revision: None of a dry run."""

    revision: int | None
    members: tuple[Member, ...]


class PushError(Exception):
    """It was not pushed, and nothing has changed anywhere."""


class Sharing(Protocol):
    """What members do with configurations."""

    def push(self, pushed: Pushed, dry_run: bool, force: bool) -> Outcome:
        """Have all members do as it says; PushError, ConfigError.

        force: also when it looks cut short, or a member cannot.
        """

    def members(self) -> tuple[Member, ...]:
        """What each says, by name."""
