"""Methods for those that their object holds: no circle leads back to it.

What holds each other is found by the garbage collector alone, whose look at everything keeps all
switches waiting.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def weakly(method: Callable[P, R]) -> Callable[P, R]:
    """The bound method, for as long as somebody else has its object; ReferenceError after that."""
    found = weakref.WeakMethod(method)

    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        living = found()
        if living is None:
            raise ReferenceError("its object is gone")
        return living(*args, **kwargs)

    return call
