"""/docs: the OpenAPI document as pages, by Swagger UI.

All files are served from here: the page's policy (CSP) allows no other host and no inline scripts.
So Swagger UI's files are taken from their package, but neither its page, which contains an inline
script, nor its validator, which sends the document to another host.
"""

from __future__ import annotations

from functools import cache

from flask import Response
from pydantic import Field

from ofapp.api.auth import CHALLENGE, caller
from ofapp.api.base import Input
from ofapp.api.openapi import OpenAPI, swagger_templates
from ofapp.api.problems import field_problem
from ofapp.api.roles import anybody, local, viewer
from ofapp.common.assets import read_asset
from ofapp.controller.access import UserRole

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>The API of ofapp</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="stylesheet" href="docs/frame.css">
</head>
<body>
<header><a class="brand" href="./">ofapp</a>
<nav aria-label="Views"><a href="./#/problems">Problems</a> <a href="./#/map">Map</a>
<a href="./#/switches">Switches</a> <a href="./#/hosts">Hosts</a> <a href="./#/events">Events</a>
<a href="./#/config">Configuration</a> <a href="guide/">Documentation</a></nav></header>
<div id="docs"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
"""

_LOG_IN = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Log in · ofapp</title>
<link rel="icon" href="data:,">
</head>
<body>
<h1>The API of ofapp</h1>
<p>Its description is for those who are logged in. <a href="./">Log in</a> with a token, and then
come back to this page.</p>
</body>
</html>
"""

_START = """SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#docs",
  deepLinking: true,
  validatorUrl: null,
});
"""

_FRAME = """body { margin: 0; }
header { display: flex; flex-wrap: wrap; gap: 4px 16px; align-items: center; padding: 8px 16px;
  background: #ffffff; border-bottom: 1px solid #d7dee5;
  font: 14px/1.45 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
header a { color: #18212a; text-decoration: none; padding: 4px 8px; }
header a:hover { color: #1a5fa8; }
header .brand { font-weight: 700; font-size: 16px; padding: 4px 0; }
"""
"""The header of the page; Swagger UI has a light theme alone."""

_SCRIPT = "text/javascript; charset=utf-8"
_VENDORED = {
    "swagger-ui-bundle.js": ("js", _SCRIPT),
    "swagger-ui.css": ("css", "text/css; charset=utf-8"),
}

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self';"
    " img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none';"
    " frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
}


class FilePath(Input):
    """Path of a file of the pages."""

    name: str = Field(max_length=64)


def install(app: OpenAPI) -> None:
    """Add the pages, which are not in the OpenAPI document."""

    @app.get("/docs", doc_ui=False)
    @anybody
    @local
    def docs() -> Response:
        known = caller().role >= UserRole.VIEWER
        page, status = (_PAGE, 200) if known else (_LOG_IN, 401)
        answer = Response(page, status, HEADERS, content_type="text/html; charset=utf-8")
        if not known:
            answer.headers.update(CHALLENGE)
        return answer

    @app.get("/docs/<name>", doc_ui=False)
    @viewer
    @local
    def docs_file(path: FilePath) -> Response:
        if path.name == "start.js":
            return Response(_START, content_type=_SCRIPT, headers=HEADERS)
        if path.name == "frame.css":
            return Response(_FRAME, content_type="text/css; charset=utf-8", headers=HEADERS)
        if path.name not in _VENDORED:
            raise field_problem(404, "name", f"/docs has no file {path.name}")
        content_type = _VENDORED[path.name][1]
        return Response(_vendored(path.name), content_type=content_type, headers=HEADERS)


@cache
def _vendored(name: str) -> bytes:
    """Read a file of Swagger UI's package."""
    return read_asset(swagger_templates() / _VENDORED[name][0], name)
