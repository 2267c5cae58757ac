"""What `ofapp fabric apply` has changed, on disk: one file a fabric, as in
`ofapp.host_setup.journal`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from pydantic import TypeAdapter

from ofapp.fabric_setup import DIRECTORY
from ofapp.fabric_setup.settings import Value
from ofapp.host_setup.journal import Record, Records


@dataclass(frozen=True)
class Changed:
    """What was changed in one switch.  before: the values to go back to, in the order of the way
    back."""

    member: str
    bridge: str
    database: str
    before: tuple[Value, ...]


@dataclass(frozen=True, kw_only=True)
class Journal(Record):
    """The changes for one fabric.  `bridge` is its name, which is that of the bridge it becomes.

    changed: by the last `apply`; kept: by those before, which were confirmed.
    """

    changed: tuple[Changed, ...]
    kept: tuple[Changed, ...] = ()

    def confirmed(self) -> Self:
        """The journal of changes that stay."""
        return replace(super().confirmed(), changed=(), kept=self.all)

    @property
    def all(self) -> tuple[Changed, ...]:
        """All changes, in the order of the way back: the last ones first."""
        return self.changed + self.kept


_FORM = TypeAdapter(Journal)


class Store(Records[Journal]):
    """The journals of fabrics."""

    program = "ofapp.fabric_setup.watch"

    def __init__(self, directory: Path = DIRECTORY) -> None:
        super().__init__(directory, _FORM)
