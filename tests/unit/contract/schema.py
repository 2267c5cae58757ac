"""JSON schemas as lines: one for each field, without texts for people."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]

PROSE = {"description", "title", "example", "examples", "summary", "operationId"}
"""Keys that change nothing for a program."""


def fields(name: str, schema: Schema) -> Iterator[str]:
    """Lines of a named schema: its kind, then `name.field: type` for each of its fields."""
    below = schema.get("properties", {})
    kind = {key: value for key, value in schema.items() if key not in ("properties", "required")}
    yield f"{name}: {words(kind)}"
    for field, about in below.items():
        required = " (required)" if field in schema.get("required", ()) else ""
        yield f"{name}.{field}: {words(about)}{required}"


def words(schema: Schema) -> str:
    """The type in one line; keys of the schema that this function does not know follow as they are.

    Orders without a meaning (of `enum`, `anyOf`, `required`) are sorted.
    """
    rest = {key: value for key, value in schema.items() if key not in PROSE}
    said = [rest.pop("$ref").rpartition("/")[2]] if "$ref" in rest else []
    if "enum" in rest:
        said.append("|".join(sorted(map(json.dumps, rest.pop("enum")))))
        rest.pop("type", None)
    for key, sign in (("anyOf", " or "), ("oneOf", " or "), ("allOf", " and ")):
        if key in rest:
            said.append(sign.join(sorted(map(words, rest.pop(key)))))
    if "items" in rest:
        said.append(f"[{words(rest.pop('items'))}]")
        rest.pop("type", None)
    if isinstance(rest.get("additionalProperties"), dict):
        said.append(f"{{*: {words(rest.pop('additionalProperties'))}}}")
        rest.pop("type", None)
    if "properties" in rest:
        inner = sorted(f"{key}: {words(value)}" for key, value in rest.pop("properties").items())
        said.append(f"{{{', '.join(inner)}}}")
        rest.pop("type", None)
    said += [str(rest.pop("type"))] if "type" in rest else []
    said += [f"{key}={_value(value)}" for key, value in sorted(rest.items())]
    return " ".join(said)


def _value(value: Any) -> str:
    """Libraries differ in whether a bound is 0 or 0.0, and in the order of lists of names."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        value = sorted(value)
    return json.dumps(value, sort_keys=True)
