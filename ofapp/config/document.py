"""YAML as plain values of which each knows its line: what the models validate, and where it stands.

PyYAML's own loader is not used beyond its parser: it takes the last of two equal keys, reads
`52:54:00:12:34:56` as a number of base 60, `010` as eight and `no` as a key that is false, forgets
the lines, and lets a few lines of aliases grow to gigabytes.  Here values follow the core schema of
YAML 1.2, with `yes`, `no`, `on` and `off` as well; all keys are text; aliases and merge keys work,
and what they grow to is bounded.  ruamel.yaml knows positions, too, but takes sixteen times as long
(1.3 s for 100 KB), stops at the first key that is there twice, and reads `010` as ten.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from ofapp.config.base import Path

MAX_BYTES = 4 << 20
MAX_VALUES = 200_000
"""Values of a document, those of aliases each time that they are used."""
MAX_DEPTH = 32
MAX_FAULTS = 100

_PARSER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # of libyaml, ten times as fast
_PREFIX = "tag:yaml.org,2002:"
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_INT = re.compile(r"[-+]?(0|[1-9][0-9]{0,17})|0x[0-9a-fA-F]{1,16}|0o[0-7]{1,20}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: Mapping[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in a file: line and column, counted from one."""

    line: int = 1
    column: int = 1
    file: str = ""


class NotYamlError(Exception):
    """A YAML syntax error, with its position."""

    def __init__(self, place: Position, what: str) -> None:
        super().__init__(what)
        self.place = place
        self.what = what


@dataclass(slots=True)
class Node:
    """A value, where it begins, and the same of what is in it.

    size: values in it, itself included.
    """

    value: Any
    place: Position
    keys: dict[str, Position] = field(default_factory=dict)
    children: dict[str | int, Node] = field(default_factory=dict)
    size: int = 1


@dataclass(frozen=True, slots=True)
class Document:
    """faults: faults of keys that stand there twice; the rest can be used all the same.

    ends_marked: the document ends with a line `...`, YAML's mark for that.
    drop_ins: the files that were merged into it.
    """

    root: Node
    faults: tuple[tuple[Position, Path, str], ...] = ()
    ends_marked: bool = False
    drop_ins: tuple[str, ...] = ()

    def place(self, path: Path, of_key: bool = False, same: Callable[[str], str] = str) -> Position:
        """Return the position of the value at `path`, of its key, or of the nearest parent.

        same: makes equal what a model takes for the same key.
        """
        node, place = self.root, self.root.place
        for at, step in enumerate(path):
            if step not in node.children and (known := _alike(node, step, same)) is not None:
                step = known
            if step not in node.children:
                break
            place = node.keys[step] if isinstance(step, str) else node.children[step].place
            node = node.children[step]
            if not (of_key and at == len(path) - 1) and not node.children:
                place = node.place
        return place


def _alike(node: Node, step: str | int, same: Callable[[str], str]) -> str | None:
    return next((key for key in node.keys if same(key) == str(step)), None)


def read(text: str, file: str = "") -> Document:
    """The document of a file of that name.  Raises NotYamlError."""
    if unprintable := _UNPRINTABLE.search(text):
        what = f"character {ascii(unprintable[0])[1:-1]} cannot be in YAML"
        raise NotYamlError(_place_of(text, unprintable.start()), what)
    builder = _Builder(iter(_events(text)), file)
    return builder.document()


def merged(base: Document, over: Document, same: Callable[[Path], Path]) -> Document:
    """The document `base` with a drop-in over it.

    Mappings are merged deeply; all else is replaced.  An empty section changes nothing.
    same: makes equal what a model takes for the same path.
    """
    root = _merged(base.root, over.root, (), same)
    faults, files = (*base.faults, *over.faults), (*base.drop_ins, over.root.place.file)
    return Document(root, faults, base.ends_marked, files)


def _merged(base: Node, over: Node, path: Path, same: Callable[[Path], Path]) -> Node:
    if not isinstance(base.value, dict):
        return over
    if over.value is None:
        return base
    if not isinstance(over.value, dict):
        return over
    node = Node(dict(base.value), base.place, dict(base.keys), dict(base.children), base.size)
    known = {same((*path, key)): key for key in base.keys}
    for key, place in over.keys.items():
        inner, child = (*path, key), over.children[key]
        name = known.get(same(inner), key)
        if name in node.children:
            child = _merged(node.children[name], child, inner, same)
        _put(node, name, place, child)
    return node


def _place_of(text: str, at: int) -> Position:
    return Position(text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at))


def _events(text: str) -> Iterator[Any]:
    try:
        yield from yaml.parse(text, Loader=_PARSER)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = " ".join(part for part in (error.problem, error.context) if part)
        if mark is not None and _tab_before(text, mark.line, mark.column):
            what = "a tab cannot indent, use spaces"
        raise NotYamlError(_place(mark), f"not YAML: {what}") from None
    except yaml.YAMLError as error:
        raise NotYamlError(Position(), f"not YAML: {error}") from None


def _tab_before(text: str, line: int, column: int) -> bool:
    lines = text.splitlines()
    return line < len(lines) and "\t" in lines[line][: column + 1]


def _place(mark: Any) -> Position:
    return Position() if mark is None else Position(mark.line + 1, mark.column + 1)


class _Builder:
    """Makes nodes of the parser's events."""

    def __init__(self, events: Iterator[Any], file: str) -> None:
        self._events = events
        self._file = file
        self._anchors: dict[str, Node | None] = {}  # None while inside
        self._faults: list[tuple[Position, Path, str]] = []

    def document(self) -> Document:
        root = Node({}, Position(file=self._file))
        documents = 0
        marked = False
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    what = "a second document begins here: one file is one configuration"
                    raise NotYamlError(self._place(event.start_mark), what)
                root = self._node(next(self._events), ())
            elif isinstance(event, yaml.DocumentEndEvent):
                marked = bool(event.explicit)
        if root.value is None:
            root.value = {}
        return Document(root, tuple(self._faults), marked)

    def _node(self, event: Any, path: Path) -> Node:
        place = self._place(event.start_mark)
        if len(path) > MAX_DEPTH:
            raise NotYamlError(place, f"nested more than {MAX_DEPTH} deep")
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event.anchor, place)
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        if isinstance(event, yaml.ScalarEvent):
            node = Node(_scalar(event, place), place)
        elif isinstance(event, yaml.SequenceStartEvent):
            node = self._sequence(event, place, path)
        else:
            node = self._mapping(event, place, path)
        if node.size > MAX_VALUES:
            raise NotYamlError(place, f"with its aliases this has more than {MAX_VALUES} values")
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        return node

    def _alias(self, name: str | None, place: Position) -> Node:
        if name is None or name not in self._anchors:
            raise NotYamlError(place, f"*{name} refers to an anchor &{name} that is not there")
        node = self._anchors[name]
        if node is None:
            raise NotYamlError(place, f"*{name} refers to what it is a part of")
        return node

    def _sequence(self, event: Any, place: Position, path: Path) -> Node:
        _check_tag(event, "seq", place)
        node = Node([], place)
        for at, inner in enumerate(self._until(yaml.SequenceEndEvent)):
            child = self._node(inner, (*path, at))
            node.value.append(child.value)
            node.children[at] = child
            node.size += child.size
            _check_size(node)
        return node

    def _mapping(self, event: Any, place: Position, path: Path) -> Node:
        _check_tag(event, "map", place)
        node = Node({}, place)
        merged: list[Node] = []
        for start in self._until(yaml.MappingEndEvent):
            where = self._place(start.start_mark)
            if isinstance(start, yaml.AliasEvent):
                key = self._alias(start.anchor, where).value
            elif isinstance(start, yaml.ScalarEvent):
                key = start.value
                if start.anchor is not None:
                    self._anchors[start.anchor] = Node(key, where)
            else:
                key = None
            if not isinstance(key, str):
                raise NotYamlError(where, "a key must be text or a number")
            child = self._node(next(self._events), (*path, key))
            if key == "<<" and isinstance(start, yaml.ScalarEvent) and start.implicit[0]:
                merged += _mergeable(child, where)
            elif key in node.keys:
                self._twice(where, (*path, key), node.keys[key])
                continue
            else:
                _put(node, key, where, child)
            _check_size(node)
        for source in merged:
            for key in source.keys.keys() - node.keys.keys():
                _put(node, key, source.keys[key], source.children[key])
            _check_size(node)
        return node

    def _place(self, mark: Any) -> Position:
        return Position(mark.line + 1, mark.column + 1, self._file)

    def _twice(self, place: Position, path: Path, before: Position) -> None:
        what = f"this key is there already, in line {before.line}"
        if len(self._faults) < MAX_FAULTS:
            self._faults.append((place, path, what))

    def _until(self, end: type) -> Iterator[Any]:
        while not isinstance(event := next(self._events), end):
            yield event


def _put(node: Node, key: str, place: Position, child: Node) -> None:
    node.value[key] = child.value
    node.keys[key] = place
    node.children[key] = child
    node.size += child.size


def _check_size(node: Node) -> None:
    if node.size > MAX_VALUES:
        raise NotYamlError(node.place, f"with its aliases this has more than {MAX_VALUES} values")


def _mergeable(node: Node, place: Position) -> list[Node]:
    sources = [*node.children.values()] if isinstance(node.value, list) else [node]
    if not all(isinstance(source.value, dict) for source in sources):
        raise NotYamlError(place, "<< takes a mapping, or a list of mappings")
    return sources


def _check_tag(event: Any, kind: str, place: Position) -> None:
    if event.tag not in (None, "!", f"{_PREFIX}{kind}"):
        raise NotYamlError(place, f"the tag {event.tag} has no meaning here")


def _scalar(event: Any, place: Position) -> Any:
    text: str = event.value
    if event.tag == f"{_PREFIX}str" or event.tag == "!" or (event.tag is None and event.style):
        return text
    if event.tag is not None and event.tag not in (
        f"{_PREFIX}{kind}" for kind in ("int", "float", "bool", "null")
    ):
        raise NotYamlError(place, f"the tag {event.tag} has no meaning here")
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        return int(text, 0)
    if _FLOAT.fullmatch(text) and len(text) < 40 and not text.isdigit():
        return float(text)
    return text
