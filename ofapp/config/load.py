"""Reading the configuration file and its drop-ins: every error at once, each with its place.

The drop-ins of `ofapp.yaml` are the files `ofapp.yaml.d/*.yaml` beside it.  They are read after it,
in lexical order, and merged: sections deeply; values and lists of a later file replace those of an
earlier one; an empty section changes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ofapp.common.files import read_regular
from ofapp.common.yaml_text import yaml_text
from ofapp.config import document
from ofapp.config.base import Path as Keys
from ofapp.config.bridge_key import bridge_key, canonical_bridges
from ofapp.config.document import Document, NotYamlError, Position
from ofapp.config.errors import ConfigError, Fault, Finding, findings
from ofapp.config.model import Config

ROUNDS = 8
"""Most validations of a document, each without the errors found so far."""


def drop_in_directory(path: Path) -> Path:
    """The directory of a configuration file's drop-ins; it need not exist."""
    return path.with_name(f"{path.name}.d")


def drop_ins(path: Path) -> list[Path]:
    """The drop-ins of a configuration file, in the order in which they are read.

    Raises OSError.
    """
    directory = drop_in_directory(path)
    try:
        names = os.listdir(directory)
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(directory / n for n in names if n.endswith(".yaml") and not n.startswith("."))


def signature(path: Path | None) -> tuple[object, ...] | None:
    """A value that changes with the file and with each drop-in; None while there is no file."""
    if path is None:
        return None
    try:
        return tuple((str(file), *_signature(file)) for file in (path, *drop_ins(path)))
    except OSError:
        return None


def _signature(file: Path) -> tuple[int, int, int]:
    stat = file.stat()
    return stat.st_ino, stat.st_mtime_ns, stat.st_size


def load_config(path: Path | None) -> Config:
    """The configuration in the file and its drop-ins, the defaults without one.

    Raises ConfigError.
    """
    if path is None:
        return Config()
    read, data = _load(path)
    return _validated(read, data, str(path))


def merged_config(path: Path) -> bytes:
    """The file as it is, or where it has drop-ins, one document with the same configuration.

    Raises ConfigError if one of the files cannot be read or is not YAML.
    """
    return _load(path)[1] if _drop_ins(path) else _octets(path)


def parse_config(data: bytes, file: str) -> Config:
    """The configuration in a file's bytes; ConfigError, with `file` as its name."""
    return _validated(_document(data, file), data, file)


def _load(path: Path) -> tuple[Document, bytes]:
    """The document of a file and its drop-ins, and its octets: see `merged_config`."""
    data = _octets(path)
    read = _document(data, str(path))
    for drop_in in _drop_ins(path):
        over = _document(_octets(drop_in), str(drop_in))
        if not isinstance(over.root.value, dict):
            what = "a drop-in must have sections of `key: value` lines"
            raise ConfigError([Fault(str(drop_in), over.root.place, "", what)])
        if isinstance(read.root.value, dict):
            read = document.merged(read, over, _same)
    if read.drop_ins:
        data = (yaml_text(read.root.value) + ("...\n" if read.ends_marked else "")).encode()
    return read, data


def _drop_ins(path: Path) -> list[Path]:
    try:
        return drop_ins(path)
    except OSError as error:
        raise _unreadable(drop_in_directory(path), error) from None


def _octets(path: Path) -> bytes:
    try:
        return read_regular(path, document.MAX_BYTES + 1)
    except OSError as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: OSError) -> ConfigError:
    return ConfigError([Fault(str(path), None, "", f"cannot be read: {error.strerror or error}")])


def _document(data: bytes, file: str) -> Document:
    try:
        return document.read(_decoded(data), file)
    except NotYamlError as error:
        raise ConfigError([Fault(file, error.place, "", error.what)]) from None


def _same(path: Keys) -> Keys:
    """The path with a bridge's datapath id in one spelling."""
    return ("bridges", _key(str(path[1]))) if len(path) == 2 and path[0] == "bridges" else path


def _validated(read: Document, data: bytes, file: str) -> Config:
    faults = [Fault(place.file, place, _text(path), what) for place, path, what in read.faults]
    values = read.root.value
    wrong: list[Finding] = []
    if isinstance(values, dict) and isinstance(values.get("bridges"), dict):
        bridges, keys = canonical_bridges(values["bridges"])
        wrong = [Finding(("bridges", *path), what, of_key=True) for path, what in keys]
        values = {**values, "bridges": bridges}
    try:
        config = Config.model_validate(values)
    except ValidationError as error:
        wrong += findings(error, Config)
        wrong += _rest(values, wrong)
    faults += [_fault(file, read, finding) for finding in wrong]
    if faults:
        raise ConfigError(faults)
    config.came_from(read.ends_marked, read.drop_ins, data)
    return config


def _decoded(data: bytes) -> str:
    if len(data) > document.MAX_BYTES:
        raise NotYamlError(Position(), f"the file is larger than {document.MAX_BYTES >> 20} MiB")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        what = f"byte {data[error.start]:#04x} is not UTF-8"
        raise NotYamlError(Position(line, column), what) from None


def _rest(values: Any, wrong: list[Finding]) -> list[Finding]:
    """Faults that pydantic finds only without those that it has found, in their document's order.

    It does not compare values with each other while one of them is wrong by itself.  So what is
    wrong is left out, and the rest is validated again.  What is missing then because it was left
    out is no fault: its section is left out as well.
    """
    remaining: list[Finding] = []
    reported = {(finding.path, finding.what) for finding in wrong}
    remnant = Remnant(values)
    new = wrong
    for _ in range(ROUNDS):
        for finding in new:
            remnant.leave_out(finding.path)
        try:
            Config.model_validate(remnant.value())
        except ValidationError as error:
            new = [replace(f, path=remnant.original(f.path)) for f in findings(error, Config)]
        else:
            break
        for finding in new:
            if (finding.path, finding.what) not in reported and not remnant.explains(finding.path):
                reported.add((finding.path, finding.what))
                remaining.append(finding)
    return remaining


def _key(given: str) -> str:
    try:
        return bridge_key(given)
    except ValueError:
        return given


def _fault(file: str, read: Document, finding: Finding) -> Fault:
    place = read.place(finding.path, finding.of_key, _key)
    return Fault(place.file or file, place, _text(finding.path), finding.what)


def _text(path: Keys) -> str:
    return ".".join(map(str, path))


class Remnant:
    """Plain values (dicts and lists), of which some are left out.  Paths are the document's."""

    def __init__(self, document: Any) -> None:
        self._document = document
        self._left_out: set[Keys] = set()
        self._names: set[str] = set()

    def leave_out(self, path: Keys) -> None:
        """Leave out a value; if it is left out already or not there, the section around it."""
        path = self._existing(path)
        while path and path in self._left_out:
            path = path[:-1]
        self._left_out.add(path)
        self._names.update(map(str, path[-1:]), _names(self._at(path)))

    def explains(self, path: Keys) -> bool:
        """Whether a fault there may be one only because of what was left out.

        It is in a section of which something was left out, or it is a name whose definition was.
        """
        if any(out[: len(path)] == path or path[: len(out)] == out for out in self._left_out):
            return True
        value = self._at(self._existing(path))
        return isinstance(value, str | list) and not self._names.isdisjoint(_words(value))

    def value(self) -> Any:
        """Return the remaining value."""
        return self._remaining((), self._document)

    def original(self, path: Keys) -> Keys:
        """The path in the document of what has this path in `value()`."""
        keys: Keys = ()
        value = self._document
        for step in path:
            if isinstance(value, list) and isinstance(step, int):
                kept = [at for at in range(len(value)) if (*keys, at) not in self._left_out]
                step = kept[step] if step < len(kept) else step
            keys = (*keys, step)
            value = _below(value, step)
        return keys

    def _remaining(self, path: Keys, value: Any) -> Any:
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

    def _existing(self, path: Keys) -> Keys:
        """The longest part of a path that is in the document."""
        value = self._document
        for length, step in enumerate(path):
            if (value := _below(value, step)) is _MISSING:
                return path[:length]
        return path

    def _at(self, path: Keys) -> Any:
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
    """Return the names that a section may define: its keys and its `name`."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield str(key)
            yield from _names(inner)
            if key == "name":
                yield str(inner)


def _words(value: str | list[Any]) -> Iterator[str]:
    for text in [value] if isinstance(value, str) else map(str, value):
        yield from text.replace(",", " ").split()
