"""ETags and compression of answers.

Answers that are polled (the OpenAPI document, the running configuration, bridges) have an ETag (RFC
9110, 8.8.3), a hash of the content, so that no state is needed to detect changes.  Pages of a
database contain ages and differ each time: they have none.  If there are settings, the ETag begins
with their hash, for If-Match.

Compressing a page of ten thousand entries takes as long as writing it: it is also done in pieces,
and other greenlets run in between.

If-Match: a change is made only while the settings are those that the client has seen.  The ETag of
an answer with settings is a hash of the settings, followed by one of the whole answer.
If-None-Match compares all of it.  If-Match compares only the settings (unlike RFC 9110, 13.1.1):
counters and timers change all the time, and would make each change fail.  A path below a port uses
the settings of the port, and one below a bridge those of the bridge.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import zlib
from typing import Any

from flask import Flask, Response, request
from werkzeug.http import generate_etag

from ofapp.api.lookup import find_bridge, find_port
from ofapp.api.problems import ProblemError
from ofapp.api.responses import security_headers
from ofapp.common import hub
from ofapp.controller.network import Network

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
            settings_tag, whole = settings.tag(), generate_etag(response.get_data())
            tag = whole if settings_tag is None else f"{settings_tag}-{whole}"
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


_TAG = re.compile(r'"([^"]*)"')
_CHANGING = ("PUT", "POST", "PATCH", "DELETE")
_OF_BRIDGES = (
    *("bridges", "ports", "stp", "multicast", "lldp", "first_hop", "lags"),
    *("port_access", "loop_protect", "settings"),
)
"""Names of blueprints."""


class Settings:
    """Short hashes of the settings that requests to a path change; checks If-Match."""

    def __init__(self, network: Network) -> None:
        self._network = network

    def install(self, app: Flask) -> None:
        """Refuse changes if the settings differ from If-Match; after handlers that forward requests
        to another member."""
        app.before_request(self._check)

    def tag(self) -> str | None:
        """Hash for the path of the request; None if it has no settings, or not any more."""
        with contextlib.suppress(ProblemError):
            return self._hash()
        return None

    def _hash(self) -> str | None:
        settings = self._settings()
        return None if settings is None else hashlib.sha256(settings.encode()).hexdigest()[:16]

    def _settings(self) -> str | None:
        if request.blueprint == "access" and request.path == "/v1/tokens":
            return repr([(one.name, one.digest) for one in self._network.access.tokens])
        named: dict[str, Any] = request.view_args or {}
        if request.blueprint not in _OF_BRIDGES or "dpid" not in named:
            return None
        bridge = find_bridge(self._network, named["dpid"])
        running = self._network.running.of(bridge.datapath_id)
        if "port" in named:
            port = find_port(bridge, named["port"])
            return running.port(port.name, port.number).model_dump_json()
        if "lag" in named:
            lag = running.lags.get(named["lag"])
            return None if lag is None else lag.model_dump_json()
        everything = request.blueprint == "settings"
        return running.model_dump_json(exclude=None if everything else {"ports", "lags"})

    def _check(self) -> None:
        if request.method not in _CHANGING or "If-Match" not in request.headers:
            return
        now = self._hash()
        if now is None:
            raise ProblemError(412, "this path has no ETag, so that If-Match cannot match")
        seen = request.headers["If-Match"]
        known = [tag.partition("-")[0] for tag in _TAG.findall(seen)]
        if seen.strip() == "*" or now in known:
            return
        raise ProblemError(
            412, "the settings have been changed since that ETag was given: read them again"
        )
