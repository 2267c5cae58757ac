"""/openapi.json: the document that flask-openapi3 makes, with corrections."""

from __future__ import annotations

from typing import Any

from flask_openapi3.openapi import OpenAPI

from ofapp.api.problems import documented

_CHANGING = ("put", "post", "patch", "delete")
_NULL = {"type": "null"}


def document(app: OpenAPI) -> dict[str, Any]:
    """The document of an application."""
    made: dict[str, Any] = app.api_doc
    for operations in made["paths"].values():
        for method, operation in operations.items():
            for parameter in operation.get("parameters", ()):
                parameter["schema"] = _not_null(parameter["schema"])
            if method in _CHANGING:
                answers = documented(412)
                operation["responses"] |= {str(status): what for status, what in answers.items()}
    return made


def _not_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Remove null from a schema: no query, path or header can hold it."""
    if _NULL not in schema.get("anyOf", ()):
        return schema
    rest = {name: own for name, own in schema.items() if name not in ("anyOf", "default")}
    kinds = [own for own in schema["anyOf"] if own != _NULL]
    return {**kinds[0], **rest} if len(kinds) == 1 else {**rest, "anyOf": kinds}
