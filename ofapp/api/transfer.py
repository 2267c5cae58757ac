"""How an answer travels: not at all when the client has it, and compressed when it is long.

What is asked again and again (the document, the running configuration, bridges) has an ETag (RFC
9110, 8.8.3), which is of what it says, so that nothing has to remember whether it changed.  Pages
of a database, which hold ages, are new each time: they have none.

Compressing a page of ten thousand entries takes as long as writing it: it is done in pieces, too,
with a turn for everybody else in between.
"""

from __future__ import annotations

import zlib

from flask import Flask, Response, request

from ofapp.common import hub

LONG = 4096
"""Bytes; what is shorter travels in as many packets, or nearly."""

_PIECE = 64 * 1024  # bytes compressed at a time: about a millisecond
_GZIP = 16 + zlib.MAX_WBITS
_FAST = 1
_LASTING = ("application/json", "text/html", "text/css", "text/javascript")


def install(app: Flask) -> None:
    """For all answers of the application that are not streams."""
    app.after_request(_sent)


def _sent(response: Response) -> Response:
    if response.is_streamed or response.status_code != 200 or request.method not in ("GET", "HEAD"):
        return response
    if "ETag" in response.headers:  # it is packed already, as it never changes
        return response
    response.vary.add("Accept-Encoding")
    if response.mimetype in _LASTING and not response.cache_control.no_store:
        response.add_etag(weak=True)  # the same for both codings
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
    """The same as gzip packs it."""
    packer = zlib.compressobj(_FAST, wbits=_GZIP)
    pieces = []
    for start in range(0, len(data), _PIECE):
        if start:
            hub.sleep(0)
        pieces.append(packer.compress(data[start : start + _PIECE]))
    return b"".join([*pieces, packer.flush()])
