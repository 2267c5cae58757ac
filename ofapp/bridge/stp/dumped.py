"""Checks of the values of a dump, which may be damaged: the right type and within bounds.

A bad value would fail much later, in a state machine that cannot handle it: a time that is a text,
a timer that ends in a million years, a hello time of zero.
"""

import math
from typing import Any

from ofapp.bridge.stp.vectors import NO_TIMES, PriorityVector, Times, within_table

MAX_PORT = 0xFFFF_FF00
"""OpenFlow 1.3.5, 7.2.1: OFPP_MAX."""
MAX_REASON = 200
_MAX_COUNT = (1 << 64) - 1
_MAX_INSTANT = 1e10
_LONGEST_TIMER = 100_000.0  # a little more than the longest BPDU guard recovery, a day
_MAX_AGE = 256.0  # the limit of its field in a BPDU

_VECTOR = (_MAX_COUNT, (1 << 32) - 1, _MAX_COUNT, 0xFFFF)


def flag(name: str, plain: Any) -> bool:
    """Check a bool. Raises ValueError."""
    if type(plain) is not bool:
        raise ValueError(f"{name}: {plain!r} is neither true nor false")
    return plain


def whole(name: str, plain: Any, most: int = _MAX_COUNT) -> int:
    """Check an int from 0 to `most`. Raises ValueError."""
    if type(plain) is not int or not 0 <= plain <= most:
        raise ValueError(f"{name}: not a whole number up to {most}")
    return plain


def instant(name: str, plain: Any) -> float:
    """Check an instant of the tree's time. Raises ValueError."""
    value = _number(name, plain)
    if not abs(value) <= _MAX_INSTANT:
        raise ValueError(f"{name}: {plain!r} is not an instant")
    return value


def timer(name: str, plain: Any, now: float) -> float:
    """Check the instant at which a timer expires, past or infinite included. Raises ValueError."""
    value = _number(name, plain)
    if now + _LONGEST_TIMER < value < math.inf:
        raise ValueError(f"{name}: {plain!r} is not a timer")
    return value


def vector(name: str, plain: Any) -> PriorityVector:
    """Check a priority vector. Raises ValueError."""
    if not isinstance(plain, list | tuple) or len(plain) != len(_VECTOR):
        raise ValueError(f"{name}: not a priority vector")
    return PriorityVector(*map(whole, [name] * len(_VECTOR), plain, _VECTOR))


def times(name: str, plain: Any) -> Times:
    """Check the times of a port or a bridge. Raises ValueError."""
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
