"""Files that are sent as they are: read and compressed once, and revalidated by their ETag."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from flask import Response, request
from pydantic import Field

from ofapp.api.base import Input
from ofapp.api.http.transfer import packed
from ofapp.api.resources.documentation import docs

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}
"""Content types by the end of a file's name."""


class FilePath(Input):
    """Path of a static file, below its folder's address."""

    name: str = Field(max_length=128)


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file as it is sent: plain, or compressed once in advance; tag: hash of its content."""

    content_type: str
    data: bytes
    packed: bytes
    tag: str


def headers(trusted_types: str) -> Mapping[str, str]:
    """The headers of files; trusted_types: names of the policies that scripts may create."""
    return {
        **docs.HEADERS,
        "Content-Security-Policy": docs.HEADERS["Content-Security-Policy"]
        + f"; require-trusted-types-for 'script'; trusted-types {trusted_types}",
        "X-Frame-Options": "DENY",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "no-cache",  # revalidated each time, and sent when it has changed
    }


def static_file(name: str, data: bytes) -> StaticFile:
    """The file of a name with this content."""
    tag = hashlib.sha256(data).hexdigest()[:32]
    return StaticFile(TYPES[PurePosixPath(name).suffix], data, packed(data), tag)


def send(content: StaticFile, headers: Mapping[str, str]) -> Response:
    """Answer the request with a file; with 304 if the client has it."""
    small = request.accept_encodings.quality("gzip") > 0
    answer = Response(content.packed if small else content.data, content_type=content.content_type)
    answer.headers.update(headers)
    if small:
        answer.headers["Content-Encoding"] = "gzip"
    answer.vary.add("Accept-Encoding")
    answer.set_etag(content.tag, weak=True)  # the same for both codings
    answer.make_conditional(request)
    return answer
