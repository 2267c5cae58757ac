"""Bodies of requests: one JSON object each (RFC 8259), in a form that all parsers read alike."""

from __future__ import annotations

import json
import re
from typing import Any, cast

from flask import Flask, Request, request

from ofapp.api.problems import ProblemError, field_problem
from ofapp.api.resources import ryu

DEEPEST = 32
"""Most nesting levels of objects and arrays."""

_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"?|[][{}]', re.DOTALL)


class BodyRequest(Request):
    """A request whose body, where its route has one, has been read by `check`."""

    body: dict[str, Any] | None = None

    def get_json(self, force: bool = False, silent: bool = False, cache: bool = True) -> Any:
        """The parsed body, for the models."""
        return self.body


def install(app: Flask) -> None:
    """Read the body of each request to a route that has one."""
    app.request_class = BodyRequest

    @app.before_request
    def check() -> None:
        if request.endpoint is None:
            return
        view = app.view_functions[request.endpoint]
        if "body" in view.__annotations__:
            cast(BodyRequest, request).body = _read()


def _read() -> dict[str, Any]:
    """Parse the body as a JSON object.  Raises ProblemError."""
    coding = request.headers.get("Content-Encoding", "identity").strip().lower()
    if coding not in ("", "identity"):
        what = f"the body is encoded ({coding[:40]}): send it without Content-Encoding"
        raise ProblemError(415, what, headers={"Accept-Encoding": "identity"})
    data = request.get_data(cache=True)
    if not data.strip():
        raise ProblemError(400, "the request has no body: a JSON object is needed")
    # The scripts written for Ryu's sample use `curl -d`, which sends JSON with a form's type.
    if not request.is_json and request.blueprint != ryu.NAME:
        what = (
            f"the body is {request.mimetype[:80]}" if request.mimetype else "the body has no type"
        )
        raise ProblemError(415, f"{what}: send JSON, with Content-Type: application/json")
    body = parse(data)
    if not isinstance(body, dict):
        raise field_problem(422, "body", "the body must be a JSON object")
    return body


def parse(data: bytes) -> Any:
    """Parse JSON; ProblemError names the line and column of an error."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise ProblemError(400, f"the body is not UTF-8, at octet {error.start + 1}") from None
    _check_depth(text)
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        what = f"the body is not JSON: {where}: {error.msg[:1].lower()}{error.msg[1:]}"
        raise ProblemError(400, what) from None
    except ValueError:  # a number of thousands of digits
        raise ProblemError(400, "the body has a number that is too long") from None


def _check_depth(text: str) -> None:
    if text.count("[") + text.count("{") <= DEEPEST:
        return
    depth = 0
    for token in _STRING_OR_BRACKET.finditer(text):
        depth += (token[0] in "[{") - (token[0] in "]}")
        if depth > DEEPEST:
            where = _place(text, token.start())
            raise ProblemError(400, f"the body has more than {DEEPEST} levels: {where}")


def _place(text: str, at: int) -> str:
    line = text.count("\n", 0, at) + 1
    return f"line {line}, column {at - text.rfind(chr(10), 0, at)}"


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, value in pairs:
        if name in made:
            raise field_problem(400, name, f"an object has the key {json.dumps(name)} twice")
        made[name] = value
    return made


def _refuse_constant(name: str) -> Any:
    raise ProblemError(400, f"the body is not JSON: {name} is not a number of JSON")
