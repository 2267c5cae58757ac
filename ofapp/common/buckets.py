"""Token buckets by key: how often something may happen."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

MOST = 4096
"""Keys known; the least recently used one is forgotten, and has a full bucket again."""


class Buckets:
    """A token bucket for each key.

    burst: how many may happen at once; rate: how many each second from then on.
    """

    def __init__(self, burst: float, rate: float) -> None:
        self._burst = burst
        self._rate = rate
        self._left: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()  # tokens, when

    def take(self, key: Hashable, now: float) -> bool:
        """Take a token; gives whether there was one. now: monotonic seconds."""
        tokens, at = self._left.pop(key, (self._burst, now))
        tokens = min(self._burst, tokens + (now - at) * self._rate)
        allowed = tokens >= 1
        self._left[key] = tokens - allowed, now
        if len(self._left) > MOST:
            self._left.popitem(last=False)
        return allowed
