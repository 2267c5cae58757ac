"""The REST API as the commands see it: JSON, pages, and one line for each error."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, urlencode

from ofapp.cli.access import CREDENTIALS, LOCAL, AccessError, locate, unreachable
from ofapp.cli.output import say
from ofapp.common.words import listed

if TYPE_CHECKING:
    import http.client

Json = dict[str, Any]
Query = Mapping[str, str | int | None]

PAGE = 5000
SHOWN = 8
"""Most names that an error lists."""
MISSED = "events.missed"
"""Kind of the first event of a stream that is resumed with a gap."""

RETRY = 1.0
"""Seconds between attempts to reach the controller again."""
SILENCE = 30.0
"""Seconds without an answer after which a request of a command has failed."""


class Message(NamedTuple):
    """A message of a stream of events (`text/event-stream`); id: the last one that was given."""

    event: str
    data: str
    id: str


class ApiError(Exception):
    """The controller cannot be reached or refuses; the message is one line.

    status: HTTP status, None without an answer.
    fields: the fields of the request that are refused, each with the reason.
    """

    def __init__(
        self, what: str, status: int | None = None, fields: Sequence[tuple[str, str]] = ()
    ) -> None:
        super().__init__(what)
        self.status = status
        self.fields = fields


class LostError(ApiError):
    """The controller does not answer, or the connection was lost."""


class Client:
    """One controller.  url: http:, https:, `unix:` and the path of its socket, or `local`.

    patience: seconds without an answer after which a request has failed.
    """

    def __init__(self, url: str, patience: float = SILENCE) -> None:
        self._patience = patience
        self._url = locate(url)
        self._place = url if url != LOCAL else self._url
        credentials = CREDENTIALS.get()
        try:
            self._headers = credentials.headers()
            self._trust = credentials.trust() if self._url.startswith("https:") else None
        except AccessError as error:
            raise ApiError(str(error)) from None

    def get(self, path: str, query: Query | None = None) -> Json:
        """The answer's body.  Raises ApiError."""
        return self._call("GET", path, query)

    def text(self, path: str) -> str:
        """The answer's body as it is.  Raises ApiError."""
        return self._read("GET", path).decode("utf-8", "replace")

    def binary(self, path: str) -> bytes:
        """The answer's octets.  Raises ApiError."""
        return self._read("GET", path)

    def put(self, path: str, body: Json | None = None, query: Query | None = None) -> Json:
        """The answer's body.  Raises ApiError."""
        return self._call("PUT", path, query, body)

    def patch(self, path: str, body: Json) -> Json:
        """The answer's body; ApiError, also if another client changes the same at that time."""
        with self._request("GET", _settings_path(path)) as answer:
            seen = answer.getheader("ETag")
        headers = {} if seen is None else {"If-Match": seen}
        return self._content(self._read("PATCH", path, None, body, headers))

    def post(self, path: str, query: Query | None = None, body: Json | None = None) -> Json:
        """The answer's body.  Raises ApiError."""
        return self._call("POST", path, query, body)

    def delete(self, path: str, query: Query | None = None) -> Json:
        """The answer's body.  Raises ApiError."""
        return self._call("DELETE", path, query)

    def entries(self, path: str, query: Query) -> Iterator[Json]:
        """All entries of a listing, page after page."""
        cursor = None
        while True:
            page = self.get(path, {**query, "limit": PAGE, "cursor": cursor})
            yield from page["entries"]
            report_silent(page)
            cursor = page["next"]
            if cursor is None:
                return

    def bridges(self, name: str | None = None) -> list[Json]:
        """All bridges, or the one with this datapath id or name; ApiError unless it is one."""
        answer = self.get("/v1/bridges")
        report_silent(answer)
        known: list[Json] = answer["bridges"]
        if name is None:
            return known
        matches = [bridge for bridge in known if bridge["datapath_id"] == name.lower()]
        matches = matches or [bridge for bridge in known if bridge["name"] == name]
        if not matches:
            names = sorted({bridge["name"] for bridge in known})
            there = f"; there are: {listed(names, SHOWN)}" if names else ""
            raise ApiError(f"there is no bridge {name}{there}")
        if len(matches) > 1:
            ids = ", ".join(bridge["datapath_id"] for bridge in matches)
            raise ApiError(f"{len(matches)} bridges are called {name}, give a datapath id: {ids}")
        return matches

    def each(self, name: str | None, *below: str) -> list[Json]:
        """What is below the path of each bridge, or of this one, with the name as `bridge`."""
        return [
            self.get(path_of(bridge, *below)) | {"bridge": bridge["name"]}
            for bridge in self.bridges(name)
        ]

    def bridges_with(self, port: str | None, name: str | None = None) -> list[Json]:
        """The same bridges, only those that have this port; ApiError if none has.

        The port of a named bridge is not checked: the next request refuses an unknown one.
        """
        known = self.bridges(name)
        if port is None or name is not None:
            return known
        matches = []
        missing: ApiError | None = None
        for bridge in known:
            try:
                self.get(path_of(bridge, "ports", port))
            except ApiError as error:
                if error.status != 404:
                    raise
                missing = error
            else:
                matches.append(bridge)
        if not matches and missing is not None:
            raise missing if len(known) == 1 else ApiError(f"no bridge has a port {port!r}")
        return matches

    def path(self, name: str, *below: str | int) -> str:
        """The API's path of the bridge with this datapath id or name, or of what is below it."""
        return path_of(self.bridges(name)[0], *below)

    def events(self, query: Query) -> Iterator[Json]:
        """Events as they happen, also across a restart of the controller.

        ApiError if the first attempt fails, or if the controller refuses.
        """
        last = ""
        waiting = False
        while True:
            try:
                for message in self._stream("/v1/events/stream", query, last):
                    if waiting:
                        waiting = False
                        say("ofapp: the controller is back", err=True)
                    last = message.id
                    if message.event == MISSED:
                        say(f"ofapp: {json.loads(message.data)['message']}", err=True)
                    elif message.data:
                        yield json.loads(message.data)
            except LostError as error:
                if not last:
                    raise
                if not waiting:
                    waiting = True
                    say(f"ofapp: {error}; waiting for it", err=True)
                time.sleep(RETRY)

    def _stream(self, path: str, query: Query, last: str) -> Iterator[Message]:
        """Events of a stream; bare ids have no data."""
        headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": last} if last else {})
        with self._request("GET", path, query, None, headers) as answer:
            yield from _messages(answer, last)
        raise LostError(f"the controller at {self._place} has ended the stream")

    @contextmanager
    def _request(
        self,
        method: str,
        path: str,
        query: Query | None = None,
        body: Json | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Iterator[http.client.HTTPResponse]:
        """The answer to a request, open while the context is.  Raises ApiError."""
        from http.client import HTTPException

        from ofapp.common.http_client import connection

        whole = {**self._headers, **(headers or {}), "Connection": "close"}
        content = None
        if body is not None:
            content, whole["Content-Type"] = json.dumps(body).encode(), "application/json"
        given = urlencode({k: v for k, v in (query or {}).items() if v is not None})
        try:
            opened, base = connection(self._url, self._patience, self._trust)
            try:
                opened.request(method, f"{base}{path}{given and f'?{given}'}", content, whole)
                answer = opened.getresponse()
                if answer.status >= 400:
                    raise _refusal(f"{method} {self._url}{path}", answer)
                yield answer
            finally:
                opened.close()
        except (OSError, HTTPException, ValueError) as error:
            reason, fix = unreachable(error)
            what = f"no answer from the controller at {self._place}: {reason}"
            raise LostError(f"{what} ({fix})") from None

    def _read(self, *request: Any) -> bytes:
        with self._request(*request) as answer:
            return answer.read()

    def _call(self, method: str, path: str, query: Query | None, body: Json | None = None) -> Json:
        return self._content(self._read(method, path, query, body))

    def _content(self, answer: bytes) -> Json:
        try:
            content: Json = json.loads(answer) if answer else {}
        except ValueError:
            raise ApiError(f"the server at {self._place} is not ofapp") from None
        return content


def _messages(lines: Iterable[bytes], last: str) -> Iterator[Message]:
    """The messages of a stream of events (the fields of WHATWG HTML 9.2.6); `retry` is ignored."""
    fields: dict[str, str] = {}
    for line in lines:
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        if text:  # without a field it is a comment
            field, _, value = text.partition(":")
            value = value.removeprefix(" ")
            before = fields.get(field) if field == "data" else None
            fields[field] = value if before is None else f"{before}\n{value}"
            continue
        last = fields.get("id", last)
        if fields.keys() & {"event", "data", "id"}:
            yield Message(fields.get("event", "message"), fields.get("data", ""), last)
        fields = {}


def path_of(bridge: Json, *below: str | int) -> str:
    """The API's path of a bridge or of something below it, escaped."""
    parts = ("v1", "bridges", bridge["datapath_id"], *below)
    return "".join(f"/{quote(str(part), safe=':')}" for part in parts)


def rows_of(answers: Iterable[Json], of: str) -> list[Json]:
    """The elements of a list in answers of `Client.each`, each with its bridge."""
    return [row | {"bridge": answer["bridge"]} for answer in answers for row in answer[of]]


def _settings_path(path: str) -> str:
    """The path to read the settings that a PATCH of `path` changes: a port, a LAG or a bridge."""
    bridge, *below = path.split("/")[3:]
    for kind in ("ports", "lags"):
        if kind in below[:-1]:
            return f"/v1/bridges/{bridge}/{kind}/{below[below.index(kind) + 1]}"
    return f"/v1/bridges/{bridge}"


def report_silent(answer: Json) -> None:
    """Warn of cluster members whose part of a list is missing."""
    for one in answer.get("silent", ()):
        say(f"ofapp: without the bridges of member {one['member']}: {one['reason']}", err=True)


def _refusal(request: str, answer: http.client.HTTPResponse) -> ApiError:
    try:
        problem = json.loads(answer.read())
        fields = [(one["field"], one["detail"]) for one in problem.get("errors", ())]
        return ApiError(str(problem["detail"]), answer.status, fields)
    except (ValueError, KeyError, TypeError, AttributeError):
        return ApiError(f"{request}: {answer.status} {answer.reason}", answer.status)


CONNECT: Any = None
"""Default of a command's parameter `client`: stands for the controller that its options name."""
