"""/docs: the document of the API as pages, by Swagger UI.

All of it comes from here, and the page may ask nobody else: its policy (CSP) names no other host
and lets nothing run that is written into the page.  So Swagger UI's files are taken from their
package, but neither its page, which holds its script, nor its check of the document by a host of
its own.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from flask import Response
from flask_openapi3.openapi import OpenAPI
from pydantic import Field

from ofapp.api.base import Input
from ofapp.api.problems import field_problem
from ofapp.api.roles import viewer

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>The API of ofapp</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<div id="docs"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
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
    "X-Content-Type-Options": "nosniff",
}


class FilePath(Input):
    """Which file of the pages."""

    name: str = Field(max_length=64)


def install(app: OpenAPI) -> None:
    """The pages, which are not in the document themselves."""

    @app.get("/docs", doc_ui=False)
    @viewer
    def docs() -> Response:
        return Response(_PAGE, content_type="text/html; charset=utf-8", headers=HEADERS)

    @app.get("/docs/<name>", doc_ui=False)
    @viewer
    def docs_file(path: FilePath) -> Response:
        if path.name == "start.js":
            return Response(_START, content_type=_SCRIPT, headers=HEADERS)
        if path.name not in _VENDORED:
            raise field_problem(404, "name", f"/docs has no file {path.name}")
        content_type = _VENDORED[path.name][1]
        return Response(_vendored(path.name), content_type=content_type, headers=HEADERS)


@cache
def _vendored(name: str) -> bytes:
    """Of Swagger UI, as its package has it."""
    folder = files("flask_openapi3_swagger") / "templates" / "swagger"
    return (folder / _VENDORED[name][0] / name).read_bytes()
