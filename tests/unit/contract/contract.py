"""Names that programs of users depend on, one a line; the files beside this one are the copies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ofapp.launcher.options  # noqa: F401  (os-ken's modules in the order that works)
from ofapp.api.app import api_document
from ofapp.api.event_kinds import KINDS
from ofapp.config.model import json_schema
from ofapp.reference import metrics
from tests.unit.api.network import empty_network
from tests.unit.contract import commands
from tests.unit.contract.schema import fields, words

HERE = Path(__file__).parent


def api() -> Iterator[str]:
    """Requests, parameters and answers of `/openapi.json`, and the fields of its models."""
    document = api_document(empty_network())
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            yield from _operation(f"{method.upper()} {path}", operation)
    for name, schema in document["components"]["schemas"].items():
        yield from fields(name, schema)


def _operation(name: str, operation: dict[str, Any]) -> Iterator[str]:
    refused = []
    for status, response in operation["responses"].items():
        if status >= "400":
            refused.append(status)
            continue
        for kind, content in (response.get("content") or {"no content": {}}).items():
            yield f"{name} {status}: {kind} {words(content.get('schema', {}))}".rstrip()
    yield f"{name} errors: {' '.join(sorted(refused))}"
    for parameter in operation.get("parameters", ()):
        kind = words(parameter["schema"]) + " (required)" * parameter.get("required", False)
        yield f"{name} {parameter['in']} {parameter['name']}: {kind}"
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        yield f"{name} body: {kind} {words(content['schema'])}"


def events() -> Iterator[str]:
    """Kinds with their severities and the keys of their data."""
    for kind in KINDS.values():
        severities = " ".join(sorted(severity.value for severity in kind.severities))
        yield f"{kind.name} ({severities}): {' '.join(sorted(kind.fields.split()))}".rstrip()


def file() -> Iterator[str]:
    """Parameters of the configuration file."""
    schema = json_schema()
    kinds = schema.pop("$defs")
    for name, below in {"FILE": schema, **kinds}.items():
        yield from fields(name, below)


def measures() -> Iterator[str]:
    """Metrics with their types and labels."""
    for family in metrics.declared():
        yield f"{family.name} ({family.type}): {' '.join(family._labelnames)}".rstrip()


CONTRACTS: dict[str, Callable[[], Iterator[str]]] = {
    "api": api,
    "commands": commands.lines,
    "events": events,
    "file": file,
    "metrics": measures,
}


def copy(name: str) -> Path:
    """The stored copy of a contract."""
    return HERE / f"{name}.txt"


def text(name: str) -> str:
    """The contract as it is now, sorted."""
    return "".join(f"{line}\n" for line in sorted({*CONTRACTS[name]()}))
