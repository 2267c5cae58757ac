"""Bound methods that hold their object weakly, so that they make no reference cycle.

Only a full garbage collection frees reference cycles, and it keeps all switches waiting.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from types import MethodType
from typing import ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")


def weakly(method: Callable[P, R]) -> Callable[P, R]:
    """The bound method, while its object is referenced elsewhere; then it raises ReferenceError."""
    found = weakref.ref(cast(MethodType, method).__self__)
    function = cast(MethodType, method).__func__

    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        living = found()
        if living is None:
            raise ReferenceError("its object is gone")
        return function(living, *args, **kwargs)  # type: ignore[no-any-return]

    return call
