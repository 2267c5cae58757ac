"""The web page, at `/`: static files only.

The page gets all data from /v1 with the session's cookie, so its files need no authentication: the
login form must be visible before the login.  There is no build step: a browser loads the ES modules
in `js/`, one module per view, and the libraries in `vendor/`, whose versions, hashes and licences
are in `vendor/manifest.json` (see `vendored`).

Text from switches, hosts and neighbours is untrusted.  The modules insert it only as text.  Should
one fail to, the policy (CSP) of each file allows only scripts from this folder, no markup from
strings (Trusted Types) and no requests to other hosts.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath

from flask import Response

from ofapp.api.openapi import OpenAPI
from ofapp.api.problems import field_problem
from ofapp.api.roles import anybody, local
from ofapp.api.static_file import TYPES, FilePath, StaticFile, headers, send, static_file
from ofapp.common.assets import PACKED, read_asset

INDEX = "index.html"

HEADERS = headers("lit-html")

_FOLDERS = ("js", "style", "vendor")


def install(app: OpenAPI) -> None:
    """Add the page and its files, which are not in the OpenAPI document."""

    @app.get("/", doc_ui=False)
    @anybody
    @local
    def page() -> Response:
        return _sent(INDEX)

    @app.get("/page/<path:name>", doc_ui=False)
    @anybody
    @local
    def page_file(path: FilePath) -> Response:
        if path.name not in names():
            raise field_problem(404, "name", "the page has no such file")
        return _sent(path.name)


@cache
def names() -> frozenset[str]:
    """The files that are served, by their relative paths."""
    paths = [INDEX]
    folders = [PurePosixPath(name) for name in _FOLDERS]
    while folders:
        folder = folders.pop()
        for item in files(__name__).joinpath(str(folder)).iterdir():
            path = folder / item.name.removesuffix(PACKED)
            if item.is_dir():
                folders.append(path)
            elif path.suffix in TYPES:
                paths.append(str(path))
    return frozenset(paths)


@cache
def file(name: str) -> StaticFile:
    """One of `names`, read once."""
    return static_file(name, read_asset(files(__name__), name))


def _sent(name: str) -> Response:
    return send(file(name), HEADERS)
