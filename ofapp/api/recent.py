"""Answers that several requests share: one of the last second is as good for the web page.

A request says so by `Cache-Control: max-age=SECONDS` (RFC 9111, clause 5.2.1.1); the answer has its
age.  So twenty pages that follow a topology change cost as much as one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from typing import TypeVar

from flask import Response, request

from ofapp.common import hub

Query = TypeVar("Query")


MOST = 8
"""Different answers of a view that are kept, by path and query."""


@dataclass(frozen=True, slots=True)
class _Made:
    """The content of an answer.  at: when it was begun, of the monotonic clock."""

    at: float
    content: bytes
    kind: str


@dataclass(slots=True)
class _Shared:
    """The last answer to one path and query; making: held while the next one is made."""

    making: hub.Lock = field(default_factory=hub.Lock)
    last: _Made | None = None


def recent(view: Callable[[Query], Response]) -> Callable[[Query], Response]:
    """Let requests that accept it have the last answer of a view, or the one that is being made.

    The view's answer must depend on its path and query alone, not on its caller.
    """
    kept: dict[str, _Shared] = {}

    @wraps(view)
    def answered(query: Query) -> Response:
        oldest = request.cache_control.max_age
        if not isinstance(oldest, int) or oldest <= 0:
            return view(query)
        shared = kept.setdefault(request.full_path, _Shared())
        while len(kept) > MOST:
            del kept[next(iter(kept))]
        with shared.making:
            if shared.last is None or time.monotonic() - shared.last.at > oldest:
                began, made = time.monotonic(), view(query)
                shared.last = _Made(began, made.get_data(), made.content_type or "")
            content = shared.last
        response = Response(content.content, content_type=content.kind)
        response.headers["Age"] = str(int(time.monotonic() - content.at))
        return response

    return answered
