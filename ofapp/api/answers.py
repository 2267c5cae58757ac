"""JSON answers.  Long ones are written in pieces, with a turn for everybody else in between."""

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

_encode = json.JSONEncoder(separators=(",", ":")).encode


def answer(body: BaseModel, status: int = 200) -> Response:
    """A short answer."""
    text = body.model_dump_json(ensure_ascii=True)
    return Response(text + "\n", status, content_type="application/json")


def long(body: BaseModel, items: Iterable[BaseModel]) -> Response:
    """One whose last field, a list that is empty in `body`, has items that are made in portions."""
    head = body.model_dump_json(ensure_ascii=True).removesuffix("[]}")
    told = (item.model_dump_json(ensure_ascii=True) for item in hub.portions().of(items))
    return Response(f"{head}[{','.join(told)}]}}\n", content_type="application/json")


def plain(body: object, status: int = 200) -> Response:
    """One that is in JSON's types already."""
    return Response(_encode(body) + "\n", status, content_type="application/json")


def utc(moment: float) -> str:
    """Seconds since the epoch as RFC 3339 writes them."""
    told = datetime.fromtimestamp(moment, UTC)
    return told.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def listing(
    name: str,
    items: Sequence[T],
    to_json: Callable[[Sequence[T]], Sequence[object]],
    rest: Mapping[str, object],
) -> Response:
    """`{name: items, **rest}` of this moment, in which to_json makes of some items what is told."""
    pieces = []
    for start in range(0, len(items), _PIECE):
        if start:
            hub.sleep(0)
        pieces.append(_encode(to_json(items[start : start + _PIECE]))[1:-1])
    body = f'{{"{name}":[{",".join(pieces)}],{_encode(rest)[1:]}\n'
    answer = Response(body, content_type="application/json")
    answer.cache_control.no_store = True
    return answer
