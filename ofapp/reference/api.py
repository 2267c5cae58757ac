"""The routes of the REST API."""

from __future__ import annotations

from collections.abc import Iterator

from ofapp.api.app import api_document
from ofapp.config import Config
from ofapp.controller.events import EventLog
from ofapp.controller.network import Network
from ofapp.controller.state.store import State
from ofapp.reference.table import code, head, plain, table


def page() -> Iterator[str]:
    """The paragraphs of the page."""
    yield from head(
        "The REST API",
        "The routes of the API, one line each. The controller serves the whole description at"
        " [/docs](../docs), where requests can be tried, and as OpenAPI 3.1 at"
        " [/openapi.json](../openapi.json). Without tokens, and from other machines, *Security*"
        " says who may use it.",
    )
    document = api_document(Network(Config(), State(None), EventLog()))
    rows = (
        [code(f"{method.upper()} {path}"), plain(operation.get("summary", ""))]
        for path, operations in sorted(document["paths"].items())
        for method, operation in operations.items()
    )
    yield table(["Request", "Answer or effect"], rows)
