"""The JSON Schema of the file, for editors (yaml-language-server and the like)."""

from __future__ import annotations

from typing import Any

from ofapp.config.model import Config


def json_schema() -> dict[str, Any]:
    """Draft 2020-12; keys of YAML, numbers too, are text here."""
    schema = Config.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "ofapp.yaml"
    for section in (schema, *schema.get("$defs", {}).values()):
        for field in section.get("properties", {}).values():
            field.pop("title", None)
    return schema
