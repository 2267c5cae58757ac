"""/lab/: the laboratory, where `ofapp docs build` has written it.

It contains nothing about this network, so it needs no authentication. Its files are large, and are
sent from the disk in pieces.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from flask import Response, send_from_directory
from werkzeug.exceptions import NotFound

from ofapp.api.openapi import OpenAPI
from ofapp.api.problems import field_problem
from ofapp.api.resources.documentation import docs
from ofapp.api.roles import anybody, local
from ofapp.api.static_file import TYPES, FilePath

_TYPES = {
    **TYPES,
    ".wasm": "application/wasm",
    ".zip": "application/zip",
    ".json": "application/json",
}

HEADERS = {
    **docs.HEADERS,
    "Content-Security-Policy": docs.HEADERS["Content-Security-Policy"].replace(
        "script-src 'self'", "script-src 'self' 'wasm-unsafe-eval'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def install(app: OpenAPI, site: Path) -> None:
    """Add the laboratory, which is not in the OpenAPI document.  site: see `ofapp docs build`."""

    def sent(name: str) -> Response:
        try:
            answer = send_from_directory(site / "lab", name, max_age=0)
        except NotFound:
            reason = "the laboratory has no such file"
            if not (site / "lab").is_dir():
                reason = f"the laboratory is not built: `ofapp docs build {site}` does so"
            raise field_problem(404, "name", reason) from None
        kind = _TYPES.get(PurePosixPath(name).suffix, "application/octet-stream")
        answer.headers.update({**HEADERS, "Content-Type": kind})
        return answer

    @app.get("/lab/", doc_ui=False)
    @anybody
    @local
    def lab() -> Response:
        return sent("index.html")

    @app.get("/lab/<path:name>", doc_ui=False)
    @anybody
    @local
    def lab_file(path: FilePath) -> Response:
        return sent(path.name)
