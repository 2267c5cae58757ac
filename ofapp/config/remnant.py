"""A document without the values that are known to be wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ofapp.config.base import Path


class Remnant:
    """Plain values (dicts and lists), of which some are left out.  Paths are the document's."""

    def __init__(self, document: Any) -> None:
        self._document = document
        self._left_out: set[Path] = set()
        self._names: set[str] = set()

    def leave_out(self, path: Path) -> None:
        """Leave out a value; if it is left out already or not there, the section around it."""
        path = self._existing(path)
        while path and path in self._left_out:
            path = path[:-1]
        self._left_out.add(path)
        self._names.update(map(str, path[-1:]), _names(self._at(path)))

    def explains(self, path: Path) -> bool:
        """Whether a fault there may be one only because of what was left out.

        It is in a section of which something was left out, or it is a name whose definition was.
        """
        if any(out[: len(path)] == path or path[: len(out)] == out for out in self._left_out):
            return True
        value = self._at(self._existing(path))
        return isinstance(value, str | list) and not self._names.isdisjoint(_words(value))

    def value(self) -> Any:
        """What remains."""
        return self._remaining((), self._document)

    def original(self, path: Path) -> Path:
        """The path in the document of what has this path in `value()`."""
        found: Path = ()
        value = self._document
        for step in path:
            if isinstance(value, list) and isinstance(step, int):
                kept = [at for at in range(len(value)) if (*found, at) not in self._left_out]
                step = kept[step] if step < len(kept) else step
            found = (*found, step)
            value = _below(value, step)
        return found

    def _remaining(self, path: Path, value: Any) -> Any:
        if isinstance(value, dict):
            return {
                key: self._remaining((*path, key), inner)
                for key, inner in value.items()
                if (*path, str(key)) not in self._left_out
            }
        if isinstance(value, list):
            return [
                self._remaining((*path, at), inner)
                for at, inner in enumerate(value)
                if (*path, at) not in self._left_out
            ]
        return value

    def _existing(self, path: Path) -> Path:
        """The longest part of a path that is in the document."""
        value = self._document
        for length, step in enumerate(path):
            if (value := _below(value, step)) is _MISSING:
                return path[:length]
        return path

    def _at(self, path: Path) -> Any:
        value = self._document
        for step in path:
            value = _below(value, step)
        return value


_MISSING = object()


def _below(value: Any, step: str | int) -> Any:
    if isinstance(value, dict):
        return value.get(str(step), _MISSING)
    if isinstance(value, list) and isinstance(step, int) and step < len(value):
        return value[step]
    return _MISSING


def _names(value: Any) -> Iterator[str]:
    """What a section may define: its keys, and what it calls its name."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield str(key)
            yield from _names(inner)
            if key == "name":
                yield str(inner)


def _words(value: str | list[Any]) -> Iterator[str]:
    for text in [value] if isinstance(value, str) else map(str, value):
        yield from text.replace(",", " ").split()
