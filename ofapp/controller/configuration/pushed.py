"""A configuration that is in force in place of the local file: of all members of a cluster, or one
that a single controller was rolled back to.

Only values and interfaces are here, for the API and the reload; `cluster.configuration`
implements them, where there is a cluster.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from ofapp.config import Config, parse_config


@dataclass(frozen=True, slots=True)
class Pushed:
    """data: the file's octets; file: its name; by: who pushed it; at: seconds since the epoch;
    revision: etcd's, 0 before it is pushed; command: applies it, for advice."""

    data: bytes
    file: str
    by: str
    at: float
    revision: int = 0
    command: str = "ofapp config push"

    @property
    def place(self) -> str:
        """Name and revision, for messages."""
        return f"{self.file}, revision {self.revision}" if self.revision else self.file

    def config(self) -> Config:
        """The parsed configuration.  Raises ConfigError."""
        return parse_config(self.data, self.file)


class MemberReport(NamedTuple):
    """The configuration of a member, as it reports it.

    revision: the one that it runs, None: its local file; error: why it does not run the last one,
    empty when it does; differs: its local file differs from the pushed one.
    """

    name: str
    revision: int | None
    error: str = ""
    differs: bool = False


class Outcome(NamedTuple):
    """revision: None of a dry run."""

    revision: int | None
    members: tuple[MemberReport, ...]


class PushError(Exception):
    """The configuration was not pushed, and no member has changed."""


class UncertainError(Exception):
    """It is unknown whether the configuration was pushed; the message says why."""


class Sharing(Protocol):
    """Configuration shared by the members of a cluster.  own: this member's name."""

    @property
    def own(self) -> str: ...

    def push(self, pushed: Pushed, dry_run: bool, force: bool) -> Outcome:
        """Apply a configuration on all members.  Raises PushError, UncertainError and ConfigError.

        force: also when it looks truncated, or a member cannot run it.
        """

    def members(self) -> tuple[MemberReport, ...]:
        """The report of each member, by name."""
