"""Errors of a file for its author: the place, the given value, the accepted values.

pydantic finds the faults; its words are for programmers ("Extra inputs are not permitted"), so they
are replaced here, by the model that stands where the fault is.
"""

from __future__ import annotations

import json
import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Union, get_args, get_origin

from annotated_types import Ge, Gt, Interval, Le, Lt, MultipleOf
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from ofapp.bridge.params.parameter import Parameter
from ofapp.config.base import FaultsError, Path, similar
from ofapp.config.document import Position

SHOWN = 60
"""Characters of a value that are shown."""


@dataclass(frozen=True, slots=True)
class Fault:
    """path: keys, and places in lists, with dots between; empty for the file as a whole.

    place: None for a file that cannot be read.
    """

    file: str
    place: Position | None
    path: str
    what: str

    def __str__(self) -> str:
        at = self.place
        where = self.file if at is None else f"{self.file}:{at.line}:{at.column}"
        return f"{where}: {self.path}: {self.what}" if self.path else f"{where}: {self.what}"


class ConfigError(Exception):
    """The file cannot be read or is not valid; the message has a line for each fault."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = sorted(faults, key=lambda fault: (fault.file, fault.place or Position()))
        super().__init__("\n".join(map(str, self.faults)))


@dataclass(frozen=True, slots=True)
class Finding:
    """of_key: the key is to blame and not its value; missing: the key that is not there."""

    path: Path
    what: str
    of_key: bool = False
    missing: tuple[str, ...] = ()


def findings(error: ValidationError, model: type[BaseModel]) -> Iterator[Finding]:
    """Convert pydantic's errors to messages, without duplicates."""
    reported: set[tuple[Path, str]] = set()
    for item in error.errors(include_url=False):
        for finding in _findings(item, model):
            if (finding.path, finding.what) not in reported:
                reported.add((finding.path, finding.what))
                yield finding


def _findings(item: Any, model: type[BaseModel]) -> Iterator[Finding]:
    path, annotation, metadata = _walk(item["loc"], model)
    of_key = "[key]" in item["loc"]
    cause = item.get("ctx", {}).get("error")
    if isinstance(cause, FaultsError):
        for inner, what in cause.faults:
            yield Finding((*path, *inner), what)
    elif item["type"] == "extra_forbidden":
        *above, key = path
        owner = _model_of(_walk(item["loc"][:-1], model)[1])
        known = [] if owner is None else list(owner.model_fields)
        yield Finding((*above, key), _unknown_key(str(key), known), of_key=True)
    elif cause is not None:
        fields = getattr(cause, "fields", ())[:1]
        yield Finding((*path, *fields), str(cause), of_key)
    elif item["type"] == "missing":
        yield Finding(path[:-1], f"{path[-1]} is missing", missing=(str(path[-1]),))
    else:
        yield Finding(path, f"{_wanted(item, annotation, metadata)}, not {_shown(item['input'])}")


def _unknown_key(key: str, known: list[str]) -> str:
    if close := similar(key, known):
        return f"there is no such key: did you mean {close}?"
    if not known:
        return "there is no such key"
    return f"there is no such key; there are {', '.join(known)}"


def _wanted(item: Any, annotation: Any, metadata: list[Any]) -> str:
    type_ = item["type"]
    context = item.get("ctx", {})
    if type_ in ("literal_error", "enum"):
        return f"must be {context['expected'].replace(chr(39), '')}"
    declared = next(
        (constraint for constraint in metadata if isinstance(constraint, Parameter)), None
    )
    if declared is not None and declared.type in (int, float):
        return f"must be {declared.wanted}"
    if type_.startswith(("int", "float", "finite")) or type_ in _BOUNDS:
        whole = "int" in str(annotation) and "float" not in str(annotation)
        return f"must be a {'whole ' if whole else ''}number{_bounds(metadata)}"
    if type_.startswith("bool"):
        return "must be true or false"
    if type_ == "string_type":
        return "must be text (in quotes, if it looks like something else)"
    if type_ == "string_unicode":
        return "must be text without halves of surrogate pairs"
    if type_ in ("string_too_long", "too_long"):
        return f"must have at most {context['max_length']} characters"
    if type_ in ("string_too_short", "too_short"):
        return "must not be empty"
    if type_ in ("model_type", "model_attributes_type", "dict_type", "mapping_type"):
        return "must be a section of `key: value` lines"
    if type_ in ("tuple_type", "list_type"):
        return f"must be a list{_list_example(item['input'], annotation)}"
    if type_ == "string_pattern_mismatch":
        return f"must match {context['pattern']}"
    message: str = item["msg"]
    return message[0].lower() + message[1:]


def _list_example(given: Any, annotation: Any) -> str:
    """Format the given value as the list of names that was probably intended."""
    if not isinstance(given, str) or _model_of(get_args(annotation)[0]) is not None:
        return ""
    return f", as in [{_shortened(', '.join(part.strip() for part in given.split(',')))}]"


_BOUNDS = ("greater_than_equal", "less_than_equal", "greater_than", "less_than", "multiple_of")


def _bounds(metadata: list[Any]) -> str:
    low: Any = None
    high: Any = None
    above: Any = None
    steps = ""
    for bound in metadata:
        low = bound.ge if isinstance(bound, Ge | Interval) and bound.ge is not None else low
        high = bound.le if isinstance(bound, Le | Interval) and bound.le is not None else high
        above = bound.gt if isinstance(bound, Gt | Interval) and bound.gt is not None else above
        high = bound.lt if isinstance(bound, Lt) else high
        steps = f" in steps of {bound.multiple_of}" if isinstance(bound, MultipleOf) else steps
    if above is not None:
        return f" above {above}" + ("" if high is None else f", at most {high}")
    if low is not None and high is not None:
        return f" from {low} to {high}{steps}"
    return "" if low is None else f", at least {low}"


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "a section"
    if isinstance(value, list | tuple):
        return "a list"
    text = value if isinstance(value, Enum) else json.dumps(value, ensure_ascii=False, default=str)
    return _shortened(str(text))


def _shortened(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def _walk(location: Iterable[str | int], model: type[BaseModel]) -> tuple[Path, Any, list[Any]]:
    """The path in the file, and the type that is wanted there with its bounds.

    pydantic's locations have steps that are in no file: `[key]`, and members of unions.
    """
    path: list[str | int] = []
    annotation: Any = model
    metadata: list[Any] = []
    for step in location:
        annotation, more = _plain(annotation)
        owner = _model_of(annotation)
        origin = get_origin(annotation)
        if step == "[key]":
            continue
        if owner is not None:
            field: FieldInfo | None = owner.model_fields.get(str(step))
            annotation, metadata = (
                (None, []) if field is None else (field.annotation, field.metadata)
            )
        elif origin is dict:
            annotation, metadata = get_args(annotation)[1], []
        elif origin in (tuple, list) and isinstance(step, int):
            annotation, metadata = get_args(annotation)[0], []
        elif annotation is not None:
            continue
        path.append(step)
    annotation, more = _plain(annotation)
    return tuple(path), annotation, [*metadata, *more]


def _plain(annotation: Any) -> tuple[Any, list[Any]]:
    """Without Annotated and `| None`; gives Annotated's arguments, too."""
    metadata: list[Any] = []
    while True:
        if get_origin(annotation) is Annotated:
            annotation, *more = get_args(annotation)
            metadata += more
        elif get_origin(annotation) in (Union, types.UnionType):
            others = [arg for arg in get_args(annotation) if arg is not type(None)]
            if len(others) != 1:
                return annotation, metadata
            annotation = others[0]
        else:
            break
    flat: list[Any] = []
    for item in metadata:
        flat += item.metadata if isinstance(item, FieldInfo) else [item]
    return annotation, flat


def _model_of(annotation: Any) -> type[BaseModel] | None:
    plain, _ = _plain(annotation)
    return plain if isinstance(plain, type) and issubclass(plain, BaseModel) else None
