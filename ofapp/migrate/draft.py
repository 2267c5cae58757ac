"""The file that is being written, and what is to be said about it.

Each value remembers the setting that it came from.  When the configuration's model refuses a value,
it is taken out again and its setting is reported with the model's words.  So no bound of ofapp is
repeated in this package.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from pydantic import ValidationError

from ofapp.config import Config
from ofapp.config.errors import Finding, findings
from ofapp.migrate.setting import ImportFault, Setting

Path = tuple[str | int, ...]
"""Keys from the top of ofapp's file."""


class Outcome(Enum):
    """What became of a setting that was not simply translated."""

    LOST = "Without equivalent"
    CHANGED = "Translated, but not the same"
    IGNORED = "Not needed"


@dataclass(frozen=True, slots=True)
class Note:
    """One setting and the reason for its outcome."""

    outcome: Outcome
    setting: Setting
    reason: str

    def __str__(self) -> str:
        return f"{self.setting}: {self.reason}"


@dataclass(slots=True)
class _Item:
    value: Any
    setting: Setting


_Tree = dict[str | int, Any]


class _Entries(dict[str | int, Any]):
    """A list, by the numbers in which entries were added; also when all were taken out."""


@dataclass
class Draft:
    """Values of ofapp's file by path, notes, and steps for the user."""

    notes: list[Note] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)
    _root: _Tree = field(default_factory=dict)

    def put(self, path: Path, value: Any, setting: Setting) -> None:
        """Set a value; a later one replaces it."""
        self._section(path[:-1])[path[-1]] = _Item(value, setting)

    def add(self, path: Path, value: Any, setting: Setting) -> None:
        """Append to a list."""
        entries = self._section(path[:-1]).setdefault(path[-1], _Entries())
        entries[len(entries)] = _Item(value, setting)

    def open(self, path: Path) -> None:
        """Have a section, be it empty."""
        self._section(path)

    def move(self, path: Path, to: Path) -> None:
        """Move a section that is there, in place of another one."""
        self._section(to[:-1])[to[-1]] = self._section(path[:-1]).pop(path[-1])

    def remove(self, path: Path) -> None:
        """Remove a section that is there; its settings apply elsewhere."""
        del self._section(path[:-1])[path[-1]]

    def has(self, path: Path) -> bool:
        """Whether there is a value or section."""
        node: Any = self._root
        for step in path:
            if not isinstance(node, dict) or step not in node:
                return False
            node = node[step]
        return True

    def lose(self, setting: Setting, reason: str) -> None:
        """Report a setting without equivalent."""
        self._note(Outcome.LOST, setting, reason)

    def change(self, setting: Setting, reason: str) -> None:
        """Report a setting that was translated to something similar."""
        self._note(Outcome.CHANGED, setting, reason)

    def ignore(self, setting: Setting, reason: str) -> None:
        """Note a setting that the file does not need."""
        self._note(Outcome.IGNORED, setting, reason)

    def step(self, text: str) -> None:
        """Add a step for the user, once."""
        if text not in self.steps:
            self.steps.append(text)

    def of(self, outcome: Outcome) -> list[Note]:
        """The notes of one outcome."""
        return [note for note in self.notes if note.outcome is outcome]

    def config(self) -> Config:
        """The file as the configuration's model; what the model refuses becomes a note."""
        while True:
            try:
                return Config.model_validate(_values(self._root))
            except ValidationError as error:
                refused = [*findings(error, Config)]
                if not sum(self._take_out(finding) for finding in refused):
                    faults = "; ".join(f"{one.path}: {one.what}" for one in refused)
                    raise ImportFault(
                        f"the result is not valid, please report it: {faults}"
                    ) from error

    def _note(self, outcome: Outcome, setting: Setting, reason: str) -> None:
        note = Note(outcome, setting, reason)
        if note not in self.notes:
            self.notes.append(note)

    def _section(self, path: Path) -> _Tree:
        node = self._root
        for step in path:
            node = node.setdefault(step, {})
        return node

    def _take_out(self, finding: Finding) -> int:
        """Remove what a finding is about; the number of items that were removed."""
        owner, key, node = self._root, None, self._root
        for step in finding.path:
            at = _key(node, step)
            if at is None:
                break
            owner, key, node = node, at, node[at]
        items = [*_items(node)]
        if key is not None:
            del owner[key]
        for item in items:
            where = ".".join(map(str, finding.path))
            self.lose(item.setting, f"ofapp refuses it: {where}: {finding.what}")
        return len(items)


def _key(node: Any, step: str | int) -> str | int | None:
    """The key of a step: entries of lists are counted by their place."""
    if not isinstance(node, dict):
        return None
    if isinstance(step, int) and isinstance(node, _Entries):
        return [*node][step] if step < len(node) else None
    return next((key for key in (step, str(step)) if key in node), None)


def _items(node: Any) -> Iterator[_Item]:
    if isinstance(node, _Item):
        yield node
    else:
        for inner in node.values():
            yield from _items(inner)


def _values(node: Any) -> Any:
    if isinstance(node, _Item):
        return node.value
    values = {key: _values(inner) for key, inner in node.items()}
    return [*values.values()] if isinstance(node, _Entries) else values
