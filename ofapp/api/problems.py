"""Errors as problem details (RFC 9457), whoever finds them: a view, a model, Flask or a bug."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from types import MappingProxyType
from typing import Any

from flask import Flask, Response, request
from pydantic import BaseModel, Field, ValidationError
from werkzeug.exceptions import HTTPException

from ofapp.api.base import Input
from ofapp.bridge.input_error import InputError
from ofapp.config.errors import findings
from ofapp.controller.state import NotSavedError

LOG = logging.getLogger(__name__)

TYPE = "application/problem+json"

Fields = Sequence[tuple[str, str]]
"""(field, what is wrong with it)."""


class ProblemField(BaseModel):
    """One thing that is wrong."""

    field: str
    detail: str


class Problem(BaseModel):
    """RFC 9457 problem details."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[ProblemField] = Field(description="which fields are to blame, if any")


class ProblemError(Exception):
    """Ends a request with a problem."""

    def __init__(
        self,
        status: int,
        detail: str,
        fields: Fields = (),
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        super().__init__(detail)
        self.headers = headers
        self.status = status
        self.detail = detail
        self.fields = fields


def field_problem(status: int, field: str, detail: str) -> ProblemError:
    """A problem with one field."""
    return ProblemError(status, detail, [(field, detail)])


def problem(status: int, detail: str, fields: Fields = ()) -> Response:
    """The answer that tells a problem; the status says what kind it is (RFC 9457 4.2.1)."""
    return Response(_text(status, detail, fields), status, content_type=TYPE)


def farewell(status: int, detail: str) -> bytes:
    """The same as it travels, where there is no request to answer: the connection ends with it."""
    body = _text(status, detail, ()).encode()
    head = (
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nConnection: close\r\n"
        f"Content-Type: {TYPE}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def _text(status: int, detail: str, fields: Fields) -> str:
    return json.dumps(
        {
            "type": "about:blank",
            "title": HTTPStatus(status).phrase,
            "status": status,
            "detail": detail,
            "errors": [{"field": field, "detail": what} for field, what in fields],
        }
    )


def invalid(error: ValidationError) -> Response:
    """What a model refused, in the words that the configuration file's faults are told in."""
    fields = [
        (".".join(map(str, (*found.path, *found.missing))) or "body", _as_json(found.what))
        for found in findings(error, _model(error.title))
    ]
    return problem(422, "; ".join(f"{field}: {what}" for field, what in fields), fields)


def documented(*statuses: int) -> dict[int | str, Any]:
    """The `responses` of an operation that may end with these."""
    content = {TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {
        status: {"description": HTTPStatus(status).phrase, "content": content}
        for status in statuses
    }


COMMON = documented(401, 403, 414, 421, 422, 429, 431, 500)
"""What any operation may end with."""

UNSAVED = documented(503, 507)
"""What one may that changes what is kept on disk: it is in force then, but not saved."""


CHANGE = {**documented(400, 404, 409, 413, 415), **UNSAVED}
"""What one may that sets parameters."""


@contextmanager
def refused(status: int) -> Iterator[None]:
    """What the controller refuses within is told with this status."""
    try:
        yield
    except InputError as error:
        raise field_problem(status, error.field, str(error)) from None


def install(app: Flask) -> None:
    """Have every error of the app told this way."""
    app.register_error_handler(ProblemError, _told)
    app.register_error_handler(NotSavedError, _not_saved)
    app.register_error_handler(HTTPException, _http)
    app.register_error_handler(Exception, _bug)


def _model(name: str) -> type[BaseModel]:
    """The model of requests that is called so; pydantic's errors tell no more of it."""
    found: list[type[BaseModel]] = [Input]
    for model in found:
        if model.__name__ == name:
            return model
        found += model.__subclasses__()
    return BaseModel


def _as_json(what: str) -> str:
    """The same, where a section is an object and no part of a file."""
    for words in ("a section of `key: value` lines", "a section of its own"):
        what = what.replace(words, "an object")
    return what


def _told(error: ProblemError) -> Response:
    answer = problem(error.status, error.detail, error.fields)
    answer.headers.update(error.headers)
    return answer


def _not_saved(error: NotSavedError) -> Response:
    return problem(507 if error.full else 503, str(error))


def _http(error: HTTPException) -> Any:
    if error.response is not None:  # made by `invalid`
        return error.response
    answer = problem(error.code or 500, error.description or error.name)
    for name, value in error.get_headers():  # Allow, of 405
        if name.lower() not in ("content-type", "content-length"):
            answer.headers[name] = value
    return answer


def _bug(error: Exception) -> Response:
    LOG.exception("%s %s failed", request.method, request.path)
    return problem(500, f"a defect of ofapp: {type(error).__name__}, see its log")
