"""JSON answers.  Long ones are written in pieces, and other greenlets run in between."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TypeVar

from flask import Response
from pydantic import BaseModel

from ofapp.common import hub

T = TypeVar("T")

_PIECE = 500
"""Entries written at a time: some two milliseconds."""

_YEAR = 365 * 86400

_encode = json.JSONEncoder(separators=(",", ":")).encode


def security_headers(secure: bool) -> dict[str, str]:
    """Headers of every answer; secure: over TLS, which browsers are to insist on (RFC 6797)."""
    headers = {"X-Content-Type-Options": "nosniff"}
    return headers | ({"Strict-Transport-Security": f"max-age={_YEAR}"} if secure else {})


def answer(body: BaseModel, status: int = 200) -> Response:
    """A short answer."""
    text = body.model_dump_json(ensure_ascii=True)
    return Response(text + "\n", status, content_type="application/json")


def long(body: BaseModel, items: Iterable[BaseModel]) -> Response:
    """An answer whose last field, an empty list in `body`, gets items encoded in portions."""
    head = body.model_dump_json(ensure_ascii=True).removesuffix("[]}")
    texts = (item.model_dump_json(ensure_ascii=True) for item in hub.portions().of(items))
    return Response(f"{head}[{','.join(texts)}]}}\n", content_type="application/json")


def plain(body: object, status: int = 200) -> Response:
    """An answer from a body that has JSON's types already."""
    return Response(_encode(body) + "\n", status, content_type="application/json")


def utc(moment: float) -> str:
    """Format seconds since the epoch as in RFC 3339."""
    time = datetime.fromtimestamp(moment, UTC)
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def listing(
    name: str,
    items: Sequence[T],
    to_json: Callable[[Sequence[T]], Sequence[object]],
    rest: Mapping[str, object],
) -> Response:
    """`{name: items, **rest}` of this moment; to_json converts a portion of the items."""
    pieces = []
    for start in range(0, len(items), _PIECE):
        if start:
            hub.sleep(0)
        pieces.append(_encode(to_json(items[start : start + _PIECE]))[1:-1])
    body = f'{{"{name}":[{",".join(pieces)}],{_encode(rest)[1:]}\n'
    answer = Response(body, content_type="application/json")
    answer.cache_control.no_store = True
    return answer
