"""/guide/: the documentation, as static files.

It contains nothing about this network, so it needs no authentication.  A file is rendered when it
is first requested, and kept; browsers revalidate it each time by its ETag, and get 304 until the
next upgrade.  Parsing all pages, for the search, is long work: other greenlets run in between.
"""

from __future__ import annotations

from flask import Response

from ofapp.api.openapi import OpenAPI
from ofapp.api.problems import field_problem
from ofapp.api.roles import anybody, local
from ofapp.api.static_file import FilePath, StaticFile, headers, send, static_file
from ofapp.common import hub
from ofapp.docs import site

HEADERS = headers("'none'")


def install(app: OpenAPI) -> None:
    """Add the documentation, which is not in the OpenAPI document."""
    kept: dict[str, StaticFile] = {}

    def sent(name: str) -> Response:
        if name not in kept:
            if name not in site.names():
                raise field_problem(404, "name", "the documentation has no such file")
            _parse_all()
            kept[name] = static_file(name, site.content(name))
        return send(kept[name], HEADERS)

    @app.get("/guide/", doc_ui=False)
    @anybody
    @local
    def guide() -> Response:
        return sent(f"{site.INDEX}.html")

    @app.get("/guide/<path:name>", doc_ui=False)
    @anybody
    @local
    def guide_file(path: FilePath) -> Response:
        return sent(path.name)


def _parse_all() -> None:
    for name in site.in_order():
        site.page(name)
        hub.pause()
