"""Errors as problem details (RFC 9457): those of views, models and Flask, and bugs."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from http import HTTPStatus
from types import MappingProxyType
from typing import Any

from flask import Flask, Response, request
from pydantic import BaseModel, Field, ValidationError
from werkzeug.exceptions import HTTPException

from ofapp.api.base import Input
from ofapp.api.openapi import APIBlueprint, Tag
from ofapp.api.responses import security_headers
from ofapp.bridge.input_error import InputError
from ofapp.bridge.multicast import ParamError
from ofapp.bridge.stp import ParameterError
from ofapp.config.errors import findings
from ofapp.controller.state import NotSavedError

LOG = logging.getLogger(__name__)

TYPE = "application/problem+json"

AGAIN = {"Retry-After": "1"}
"""Headers of a 503 that is temporary."""

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
    errors: list[ProblemField] = Field(description="the wrong fields, if any")


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
    """Make the answer for a problem; its type is the status (RFC 9457 4.2.1)."""
    return Response(_text(status, detail, fields), status, content_type=TYPE)


def error_response(status: int, detail: str, secure: bool = False) -> bytes:
    """The octets of an error response that closes a connection without a request to answer.

    secure: over TLS.
    """
    body = _text(status, detail, ()).encode()
    headers = {
        "Connection": "close",
        "Content-Type": TYPE,
        "Content-Length": len(body),
        **security_headers(secure),
    }
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


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
    """The answer for a model's errors, in the words of the configuration file's errors."""
    fields = [
        (_place((*finding.path, *finding.missing)), _as_json(finding.what))
        for finding in findings(error, _model(error.title))
    ]
    return problem(422, "; ".join(f"{field}: {what}" for field, what in fields), fields)


def _place(path: tuple[str | int, ...]) -> str:
    """A field in words; "" has quotes, as a query `?=1` has that name."""
    return ".".join(str(part) or '""' for part in path) or "body"


def documented(*statuses: int) -> dict[int | str, Any]:
    """The `responses` of an operation that may return these statuses."""
    content = {TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {
        status: {"description": HTTPStatus(status).phrase, "content": content}
        for status in statuses
    }


COMMON = documented(400, 401, 403, 413, 414, 421, 422, 429, 431, 500, 503)
"""Errors that all operations may return."""


def resource(name: str, tag: Tag, path: str | None = None) -> APIBlueprint:
    """A blueprint for the operations below a path, which may all return the errors of `COMMON`.

    It is without descriptions for /openapi.json, unless it is made within `described()`.
    """
    return APIBlueprint(
        name,
        __name__,
        url_prefix=path,
        abp_tags=[tag],
        abp_responses=COMMON,
        doc_ui=_described.get(),
    )


_described = ContextVar("described", default=False)


@contextmanager
def described() -> Iterator[None]:
    """Within this, `resource` makes blueprints with descriptions, which takes 0.6 s for all."""
    before = _described.set(True)
    try:
        yield
    finally:
        _described.reset(before)


UNSAVED = documented(503, 507)
"""Errors of operations that change saved state: it is not saved; the answer says what applies."""


CHANGE = {**documented(400, 404, 409, 413, 415), **UNSAVED}
"""Errors of operations that set parameters."""


@contextmanager
def refused(status: int) -> Iterator[None]:
    """Convert a refusal by the controller into a problem with this status.

    422 for one value of spanning tree that is out of range.
    """
    try:
        yield
    except InputError as error:
        raise field_problem(status, error.field, str(error)) from None
    except ParamError as error:
        hint = "values that depend on each other can be set in one go"
        raise field_problem(status, error.field, f"{error}; {hint}") from None
    except ParameterError as error:
        fields = [(field, str(error)) for field in error.fields]
        raise ProblemError(422 if len(fields) == 1 else status, str(error), fields) from None


def install(app: Flask) -> None:
    """Register handlers for all errors of the app."""
    app.register_error_handler(ProblemError, _answer)
    app.register_error_handler(NotSavedError, _not_saved)
    app.register_error_handler(HTTPException, _http)
    app.register_error_handler(Exception, _bug)


def _model(name: str) -> type[BaseModel]:
    """The model of requests of that name: pydantic's errors contain only the name."""
    models: list[type[BaseModel]] = [Input]
    for model in models:
        if model.__name__ == name:
            return model
        models += model.__subclasses__()
    return BaseModel


def _as_json(what: str) -> str:
    """Replace the file's terms by JSON's: a section is an object."""
    what = what.replace("a section of `key: value` lines", "an object")
    return re.sub("not a section$", "not an object", what)


def _answer(error: ProblemError) -> Response:
    answer = problem(error.status, error.detail, error.fields)
    answer.headers.update(error.headers)
    return answer


def _not_saved(error: NotSavedError) -> Response:
    answer = problem(507 if error.full else 503, str(error))
    if not error.full:
        answer.headers.update(AGAIN)
    return answer


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
