"""Values from a dump, which may have been damaged: of the right type and within bounds.

A value that is not would be met much later, by a state machine that cannot know what to do with it:
a time that is a text, a timer that ends in a million years, a hello time of zero.
"""

from __future__ import annotations

import math
from typing import Any

from ofapp.bridge.stp.vectors import NO_TIMES, PriorityVector, Times, within_table

MAX_PORT = 0xFFFF_FF00
"""OpenFlow 1.3.5, 7.2.1: OFPP_MAX."""
MAX_REASON = 200
_MAX_COUNT = (1 << 64) - 1
_MAX_INSTANT = 1e10
_LONGEST_TIMER = 100_000.0  # a day, of err_disabled ports, and some
_MAX_AGE = 256.0  # what a BPDU can say

_VECTOR = (_MAX_COUNT, (1 << 32) - 1, _MAX_COUNT, 0xFFFF)


def flag(name: str, plain: Any) -> bool:
    """A bool; ValueError."""
    if type(plain) is not bool:
        raise ValueError(f"{name}: {plain!r} is neither true nor false")
    return plain


def whole(name: str, plain: Any, most: int = _MAX_COUNT) -> int:
    """An int from zero on; ValueError."""
    if type(plain) is not int or not 0 <= plain <= most:
        raise ValueError(f"{name}: not a whole number up to {most}")
    return plain


def instant(name: str, plain: Any) -> float:
    """A time of the tree; ValueError."""
    value = _number(name, plain)
    if not abs(value) <= _MAX_INSTANT:
        raise ValueError(f"{name}: {plain!r} is not an instant")
    return value


def timer(name: str, plain: Any, now: float) -> float:
    """When a timer runs out, which may be never, or have been; ValueError."""
    value = _number(name, plain)
    if now + _LONGEST_TIMER < value < math.inf:
        raise ValueError(f"{name}: {plain!r} is not a timer")
    return value


def vector(name: str, plain: Any) -> PriorityVector:
    """ValueError."""
    if not isinstance(plain, list | tuple) or len(plain) != len(_VECTOR):
        raise ValueError(f"{name}: not a priority vector")
    return PriorityVector(*map(whole, [name] * len(_VECTOR), plain, _VECTOR))


def times(name: str, plain: Any) -> Times:
    """What a port or a bridge may have; ValueError."""
    if not isinstance(plain, list | tuple) or len(plain) != len(NO_TIMES):
        raise ValueError(f"{name}: not times")
    value = Times(*(_number(name, part) for part in plain))
    if value != NO_TIMES and (value != within_table(value) or not 0 <= value[0] <= _MAX_AGE):
        raise ValueError(f"{name}: times that cannot be")
    return value


def _number(name: str, plain: Any) -> float:
    if type(plain) not in (int, float) or math.isnan(plain):
        raise ValueError(f"{name}: {plain!r} is not a number")
    return float(plain)
