"""ETags and compression of answers.

Answers that are polled (the OpenAPI document, the running configuration, bridges) have an ETag (RFC
9110, 8.8.3), a hash of the content, so that no state is needed to detect changes.  Pages of a
database contain ages and differ each time: they have none.  If there are settings, the ETag begins
with their hash, for If-Match (`api.preconditions`).

Compressing a page of ten thousand entries takes as long as writing it: it is also done in pieces,
and other greenlets run in between.
"""

from __future__ import annotations

import zlib

from flask import Flask, Response, request
from werkzeug.http import generate_etag

from ofapp.api.answers import security_headers
from ofapp.api.preconditions import Settings
from ofapp.common import hub

LONG = 4096
"""Bytes; compression saves next to no packets for shorter answers."""

_PIECE = 64 * 1024  # bytes compressed at a time: about a millisecond
_GZIP = 16 + zlib.MAX_WBITS
_FAST = 1
_LASTING = ("application/json", "text/html", "text/css", "text/javascript")


def install(app: Flask, settings: Settings) -> None:
    """Handle all answers of the application; streams have no ETag and are not compressed."""

    @app.after_request
    def sent(response: Response) -> Response:
        response.headers.update(security_headers(request.is_secure))
        return _sent(response, settings)


def _sent(response: Response, settings: Settings) -> Response:
    if response.is_streamed or response.status_code != 200 or request.method not in ("GET", "HEAD"):
        return response
    tagged = "ETag" in response.headers
    if tagged and request.blueprint is None:  # the page: its static files are compressed already
        return response
    response.vary.add("Accept-Encoding")
    if response.mimetype in _LASTING and not response.cache_control.no_store:
        if not tagged:  # not set already by the member that owns the bridge
            own, whole = settings.tag(), generate_etag(response.get_data())
            tag = whole if own is None else f"{own}-{whole}"
            response.set_etag(tag, weak=True)  # the same for both codings
        response.cache_control.private = response.cache_control.no_cache = True
        response.make_conditional(request)
    if (
        response.status_code == 200
        and len(response.data) >= LONG
        and request.accept_encodings.quality("gzip") > 0
    ):
        response.data = packed(response.data)
        response.headers["Content-Encoding"] = "gzip"
    return response


def packed(data: bytes) -> bytes:
    """Compress data with gzip."""
    packer = zlib.compressobj(_FAST, wbits=_GZIP)
    pieces = []
    for start in range(0, len(data), _PIECE):
        if start:
            hub.sleep(0)
        pieces.append(packer.compress(data[start : start + _PIECE]))
    return b"".join([*pieces, packer.flush()])
