"""YAML of other programs, of which each key knows its file and line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ofapp.config import document
from ofapp.config.document import Node, NotYamlError
from ofapp.migrate.command import text_of
from ofapp.migrate.setting import ImportFault, Setting


@dataclass(frozen=True, slots=True)
class Mapped:
    """A mapping.  where: its file and line; lines: those of its keys."""

    plain: Mapping[str, Any]
    where: str
    inner: Mapping[str, tuple[str, Node | None]]

    def settings(self) -> Iterator[Setting]:
        """Its keys with their values and places."""
        for key, value in self.plain.items():
            yield Setting(self._where(key), key, value)

    def __contains__(self, key: str) -> bool:
        return self.plain.get(key) is not None

    def without(self, *keys: str) -> Mapped:
        """The mapping without some of its keys."""
        plain = {key: value for key, value in self.plain.items() if key not in keys}
        return Mapped(plain, self.where, self.inner)

    def with_defaults(self, other: Mapped) -> Mapped:
        """The mapping with those keys of another one that it does not have."""
        return Mapped({**other.plain, **self.plain}, self.where, {**other.inner, **self.inner})

    def children(self, key: str) -> dict[str, Mapped]:
        """The mappings in the mapping at `key`, which an empty value stands for; ImportFault."""
        return {name: self.at(key).at(name) for name in self.at(key).plain}

    def at(self, key: str) -> Mapped:
        """The mapping at `key`; ImportFault."""
        where, node = self.inner.get(key, (self.where, None))
        value = self.plain.get(key)
        if value is None:
            return Mapped({}, where, {})
        if not isinstance(value, dict):
            raise ImportFault(f"{where}: {key}: must be a section of `key: value` lines")
        return mapped(node, where) if node is not None else Mapped(value, where, {})

    def _where(self, key: str) -> str:
        return self.inner[key][0] if key in self.inner else self.where


def mapped(node: Node, where: str) -> Mapped:
    """A mapping of a document."""
    inner = {
        key: (f"{place.file}:{place.line}", node.children[key]) for key, place in node.keys.items()
    }
    return Mapped(node.value, where, inner)


def read_yaml(path: Path) -> Mapped:
    """The mapping that a file is; ImportFault."""
    try:
        read = document.read(text_of(path, "give the path of a file that can be read"), str(path))
    except NotYamlError as error:
        raise ImportFault(f"{path}:{error.place.line}: {error.what}; correct it") from None
    for place, _, what in read.faults:
        raise ImportFault(f"{path}:{place.line}: {what}; remove one of them")
    if not isinstance(read.root.value, dict):
        raise ImportFault(f"{path}: must be sections of `key: value` lines; is it the right file?")
    return mapped(read.root, f"{path}:1")
