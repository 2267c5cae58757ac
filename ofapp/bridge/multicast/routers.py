"""Ports behind which a multicast router was heard, and when each router expires.

Kept per router, not only per port: with two routers behind one port, the leave of one must not cut
off the other.
"""

from math import inf

from ofapp.bridge.multicast.timers import ScopeKey, Timed

MAX_ROUTERS = 16
"""Most routers kept on one port; a host that forges more displaces the soonest to expire."""


class RouterPort(Timed):
    """Router port of one VLAN and family; to be forgotten when its last router is gone."""

    __slots__ = ("heard", "port")

    def __init__(self, place: ScopeKey, port: int) -> None:
        super().__init__(place)
        self.port = port
        self.heard: dict[tuple[str, bytes], float] = {}

    def hear(self, kind: str, router: bytes, until: float) -> None:
        """Note a router that is valid until then; each kind of message has its own time."""
        key = (kind, router)
        if key not in self.heard and len(self.heard) >= MAX_ROUTERS:
            del self.heard[min(self.heard, key=self.heard.__getitem__)]
        self.heard[key] = until

    def leave(self, kind: str, router: bytes, until: float) -> None:
        """Handle a router's leave.

        The port stays until `until`: a report or a hello of another router may be on its way, and a
        host cannot make every group of the VLAN change more often than that.
        """
        key = (kind, router)
        if key in self.heard:
            self.heard[key] = min(self.heard[key], until)

    @property
    def until(self) -> float:
        """When the port stops being a router port, if nothing more is heard."""
        return max(self.heard.values(), default=-inf)

    def deadline(self) -> float:
        """See Timed."""
        return min(self.heard.values(), default=inf)

    def expire(self, now: float) -> bool:
        """Forget the routers that have expired; gives whether none is left."""
        self.heard = {key: until for key, until in self.heard.items() if until > now}
        return not self.heard
