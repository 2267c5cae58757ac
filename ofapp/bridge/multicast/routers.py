"""Ports behind which a multicast router was heard, and until when to believe it.

Kept per router, not only per port: with two routers behind one port, the goodbye of one must not
cut off the other.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from ofapp.bridge.multicast.timers import Timed

if TYPE_CHECKING:
    from ofapp.bridge.multicast.context import Context

MAX_ROUTERS = 16
"""Routers remembered on one port; a host that makes up more displaces the soonest to expire."""


class RouterPort(Timed):
    """One port of one VLAN and family; gone when its last router is."""

    __slots__ = ("context", "heard", "port")

    def __init__(self, context: Context, port: int) -> None:
        super().__init__()
        self.context = context
        self.port = port
        self.heard: dict[tuple[str, bytes], float] = {}

    def hear(self, kind: str, router: bytes, until: float) -> None:
        """A router said it is there until then; kinds are told apart, each has its own time."""
        key = (kind, router)
        if key not in self.heard and len(self.heard) >= MAX_ROUTERS:
            del self.heard[min(self.heard, key=self.heard.__getitem__)]
        self.heard[key] = until
        self.context.core.timers.update(self)

    def leave(self, kind: str, router: bytes, until: float) -> None:
        """A router said goodbye.

        The port stays until `until`: a member list or a hello of another may be on its way, and a
        host cannot make every group of the VLAN change more often than that.
        """
        key = (kind, router)
        if key in self.heard:
            self.heard[key] = min(self.heard[key], until)
            self.context.core.timers.update(self)

    @property
    def until(self) -> float:
        """When the port stops being a router port, if nothing more is heard."""
        return max(self.heard.values(), default=-inf)

    def deadline(self) -> float:
        """See Timed."""
        return min(self.heard.values(), default=inf)

    def expire(self, now: float) -> None:
        """See Timed."""
        self.heard = {key: until for key, until in self.heard.items() if until > now}
        if not self.heard:
            self.context.router_gone(self)
