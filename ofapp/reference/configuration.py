"""Every parameter of the configuration file, from its JSON Schema."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from operator import itemgetter
from typing import Any

from ofapp.config.model import json_schema
from ofapp.reference.table import code, head, plain, table

Schema = dict[str, Any]
_BOUNDS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}


def page() -> Iterator[str]:
    """The paragraphs of the page."""
    whole = json_schema()
    kinds: dict[str, Schema] = whole["$defs"]
    yield from head(
        "Every parameter of the file",
        "Every parameter of `/etc/ofapp/ofapp.yaml`, with its type, bounds and default."
        " `ofapp config check` names each mistake and its line. `ofapp config schema` prints the"
        " JSON Schema for editors.",
    )
    places = _places(whole, kinds)
    yield "## The file"
    yield _parameters(whole, places, kinds)
    for name, place in sorted(places.items(), key=itemgetter(1)):
        yield f"## {code(place)}"
        if about := kinds[name].get("description"):
            yield plain(about)
        yield _parameters(kinds[name], places, kinds)


def _places(whole: Schema, kinds: dict[str, Schema]) -> dict[str, str]:
    """Where in the file each section stands first; a star is for any key."""
    waiting = [("", whole)]
    places: dict[str, str] = {}
    for above, section in waiting:  # grows meanwhile
        # What `defaults` have in common with bridges is shown as a bridge's.
        for name, about in sorted(
            section["properties"].items(), key=lambda one: one[0] == "defaults"
        ):
            keys = ".*" * ("additionalProperties" in about)
            for kind in _references(about):
                if kind not in places and "properties" in kinds[kind]:
                    places[kind] = f"{above}{name}{keys}"
                    waiting.append((f"{places[kind]}.", kinds[kind]))
    return places


def _references(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if "$ref" in part:
            yield part["$ref"].rpartition("/")[2]
        for value in part.values():
            yield from _references(value)
    elif isinstance(part, list):
        for value in part:
            yield from _references(value)


def _parameters(section: Schema, places: dict[str, str], kinds: dict[str, Schema]) -> str:
    required = section.get("required", ())
    rows = (
        [
            code(name) + (" (required)" if name in required else ""),
            _type(about, places, kinds),
            _default(about),
            plain(about.get("description", "")),
        ]
        for name, about in section["properties"].items()
    )
    return table(["Parameter", "Type", "Default", "Meaning"], rows)


def _type(about: Schema, places: dict[str, str], kinds: dict[str, Schema]) -> str:
    if "$ref" in about:
        name = about["$ref"].rpartition("/")[2]
        if name not in places:
            return _type(kinds[name], places, kinds)
        return f"[{code(places[name])}](#{re.sub(r'[^a-z0-9_]', '', places[name].lower())})"
    if "anyOf" in about:
        return " or ".join(dict.fromkeys(_type(one, places, kinds) for one in about["anyOf"]))
    if "enum" in about:
        return ", ".join(code(_word(value)) for value in about["enum"])
    if "const" in about:
        return code(_word(about["const"]))
    kind = about.get("type", "any")
    if kind == "array":
        return f"list of {_type(about.get('items', {}), places, kinds)}"
    if kind == "object":
        below = about.get("additionalProperties")
        return f"by key: {_type(below, places, kinds)}" if isinstance(below, dict) else "mapping"
    bounds = [f"{sign} {about[key]}" for key, sign in _BOUNDS.items() if key in about]
    return " ".join([str(kind), ", ".join(bounds)]).strip()


def _default(about: Schema) -> str:
    value = about.get("default")
    return code(_word(value)) if value not in (None, {}, []) and "$ref" not in about else ""


def _word(value: object) -> str:
    return value if isinstance(value, str) and value else json.dumps(value)
