"""Parse HTTP/1 requests strictly: llhttp's grammar, by httptools, with limits.

If a proxy and this server see the end of a request in different places, a body is taken for the
next request, with the rights of another client (request smuggling, RFC 9112, 11.2).  So nothing is
accepted that RFC 9112 only tolerates: no bare LF, no folded header, no missing Host, no chunk size
but plain hex.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass
from typing import Any

from httptools import (
    HttpParserCallbackError,
    HttpParserError,
    HttpParserInvalidMethodError,
    HttpParserUpgrade,
    HttpRequestParser,
)

MAX_TARGET = 8192
"""Octets of a request's target: its path and query."""
MAX_FIELD = 8192
"""Octets of one header."""
MAX_HEAD = 64 * 1024
"""Octets of a request without its body."""
MAX_BODY = 64 * 1024
_MAX_CHUNKED = MAX_HEAD + 8 * MAX_BODY  # with the sizes of chunks, their extensions, and trailers

_HOST = re.compile(r"([A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+(%25[A-Za-z0-9._~-]+)?\])(:[0-9]{0,5})?")
_ABSOLUTE = re.compile(r"https?://([^/?#]*)(.*)", re.IGNORECASE)
_LONG_TARGET = 414, f"the path and query are longer than {MAX_TARGET} octets"
_LONG_FIELD = 431, f"a header is longer than {MAX_FIELD} octets"
_LONG_HEAD = 431, f"the headers are longer than {MAX_HEAD} octets"
_LONG_BODY = 413, f"the body is longer than {MAX_BODY} octets"


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A complete request.  fields: its headers in order; body: without transfer encoding.

    target: a path and query, or * (RFC 9112, 3.2); a URI of this server has become its path.

    version: 1.0 or 1.1; keep_alive: the connection is for further requests.
    """

    method: str
    target: str
    version: str
    fields: tuple[tuple[str, str], ...]
    body: bytes
    keep_alive: bool

    def values(self, name: str) -> list[str]:
        """Return the values of all headers of that name, given in lower case."""
        return [value for field, value in self.fields if field.lower() == name]


class RefusedError(Exception):
    """The input is no valid request; the connection must be closed."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


class RequestReader:
    """The requests of one connection; `close` it at the end."""

    def __init__(self) -> None:
        self._message = _Message()
        self._renew()

    @property
    def begun(self) -> bool:
        """Whether a part of a request has arrived."""
        return self._message.begun

    @property
    def waiting(self) -> bool:
        """Whether the next request is complete."""
        return bool(self._message.requests)

    def feed(self, data: bytes) -> None:
        """Parse input, a few KB at a time: all requests in it are stored."""
        message, size = self._message, len(data)
        while data and message.refusal is None:
            try:
                self._parser.feed_data(data)
                data = b""
            except HttpParserUpgrade as upgrade:  # it stays HTTP/1.1 (RFC 9110, 7.8)
                data = data[upgrade.args[0] :]
                self._renew()
            except HttpParserCallbackError:
                raise  # a defect of `_Message`
            except HttpParserError as error:
                if message.last:
                    return  # what comes after the last request is not read
                message.refusal = _refusal(error)
        message.check_size(size)

    def next(self) -> HttpRequest | None:
        """The next request; None until it is complete.  Raises RefusedError."""
        if self._message.requests:
            return self._message.requests.popleft()
        if self._message.refusal is not None:
            raise RefusedError(*self._message.refusal)
        return None

    def asks_to_continue(self) -> bool:
        """Whether the client waits for 100 Continue (RFC 9110, 10.1.1); true once."""
        expected, self._message.expected = self._message.expected, False
        return expected and self._message.refusal is None

    def close(self) -> None:
        """Break a reference cycle, which only the garbage collector would free."""
        self._message.parser = None

    def _renew(self) -> None:
        self._parser = self._message.parser = HttpRequestParser(self._message)


class _Message:
    """The parser's callbacks, and the message that it is parsing."""

    parser: Any = None

    def __init__(self) -> None:
        self.requests: deque[HttpRequest] = deque()
        self.refusal: tuple[int, str] | None = None
        self.last = False
        """The last complete request closes the connection."""
        self._reset()

    def on_message_begin(self) -> None:
        self._reset()
        self.begun = True

    def on_url(self, part: bytes) -> None:
        self._target += part
        if len(self._target) > MAX_TARGET:
            self._refuse(*_LONG_TARGET)

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._head_done:
            return  # a trailer
        if len(name) + len(value) > MAX_FIELD:
            self._refuse(*_LONG_FIELD)
        self._fields.append((name.decode("latin-1"), value.decode("latin-1")))

    def on_headers_complete(self) -> None:
        self._head_done = True
        head = self._request(b"")
        if (what := _flaw(head)) is not None:
            self._refuse(*what)
            return
        length = int((head.values("content-length") or ["0"])[0])
        if length > MAX_BODY:
            self._refuse(*_LONG_BODY)
        self.expected = bool(head.values("expect")) and head.version == "1.1"

    def on_body(self, part: bytes) -> None:
        self._body_size += len(part)
        if self._body_size > MAX_BODY:
            self._refuse(*_LONG_BODY)
        elif self.refusal is None:
            self._body.append(part)

    def on_message_complete(self) -> None:
        if self.refusal is None:
            request = self._request(b"".join(self._body))
            self.requests.append(request)
            self.last = not request.keep_alive
        self._reset()

    def check_size(self, more: int) -> None:
        """Count so many more octets of the message, and refuse it if it is too long."""
        self._octets += more if self.begun else 0
        if self._octets > (_MAX_CHUNKED if self._head_done else MAX_HEAD):
            self._refuse(*(_LONG_BODY if self._head_done else _LONG_HEAD))

    def _reset(self) -> None:
        self.begun = False
        self._octets = 0
        self.expected = False
        self._head_done = False
        self._target = b""
        self._fields: list[tuple[str, str]] = []
        self._body: list[bytes] = []
        self._body_size = 0

    def _request(self, body: bytes) -> HttpRequest:
        fields = tuple(self._fields)
        return HttpRequest(
            self.parser.get_method().decode(),
            _origin_form(self._target.decode("latin-1"), fields),
            self.parser.get_http_version(),
            fields,
            body,
            self.parser.should_keep_alive(),
        )

    def _refuse(self, status: int, detail: str) -> None:
        self.refusal = self.refusal or (status, detail)


def _refusal(error: HttpParserError) -> tuple[int, str]:
    if isinstance(error, HttpParserInvalidMethodError):
        return 400, "the request does not begin with a method of HTTP"
    if "Invalid HTTP version" in str(error):
        return 505, "this server speaks HTTP/1.1 and HTTP/1.0"
    return 400, f"this is not HTTP as RFC 9112 has it: {error}"


def _origin_form(target: str, fields: tuple[tuple[str, str], ...]) -> str:
    """The path and query of an absolute URI that has the request's host; else the target itself."""
    absolute = _ABSOLUTE.fullmatch(target)
    hosts = [value.lower() for name, value in fields if name.lower() == "host"]
    if absolute is None or hosts != [absolute[1].lower()]:
        return target
    return absolute[2] if absolute[2].startswith("/") else f"/{absolute[2]}"


def _flaw(head: HttpRequest) -> tuple[int, str] | None:
    """Describe what this server refuses although the grammar allows it; None = nothing."""
    hosts, codings = head.values("host"), head.values("transfer-encoding")
    if head.version not in ("1.0", "1.1"):
        return 505, "this server speaks HTTP/1.1 and HTTP/1.0"
    if len(hosts) > 1 or (not hosts and head.version == "1.1"):
        return 400, f"a request has one Host header, not {len(hosts)}"
    if hosts and not _HOST.fullmatch(hosts[0]):
        return 400, f"{hosts[0][:80]!r} is not a host and port"
    if head.target == "*" and head.method != "OPTIONS":
        return 400, "the target * is for OPTIONS alone"
    if not head.target.startswith("/") and head.target != "*":
        return 400, "the target of a request is a path, or a URI with the host of its Host header"
    if "#" in head.target:
        return 400, "the target of a request has no #fragment"
    if codings and (head.version == "1.0" or [one.lower() for one in codings] != ["chunked"]):
        return 400, "the one Transfer-Encoding that is read is chunked, in HTTP/1.1"
    if any(value.lower() != "100-continue" for value in head.values("expect")):
        return 417, "the one thing that can be expected is 100-continue"
    return None
