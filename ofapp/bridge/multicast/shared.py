"""State that all VLANs of one bridge's snooping share: ports, timers, limits and pending effects.

While an input is handled, effects are collected here, and changed objects are noted by their place.
The differences to the last effects are computed when the input is done. So a datapath entry changes
at most once, no matter how many records one report has.
"""

from math import inf

from ofapp.bridge.event import EventKind, PortNumber, Text
from ofapp.bridge.multicast.effects import Effect
from ofapp.bridge.multicast.events import (
    MCAST_LIMIT_REACHED,
    MCAST_LIMIT_RECOVERED,
    MCAST_ROUTER_REFUSED,
)
from ofapp.bridge.multicast.params import Params, PortParams
from ofapp.bridge.multicast.timers import ScopeKey, Timers

REFUSED_INTERVAL = 60.0
"""Seconds between events about routers' messages from one port where no router may be."""


class EntryQuota:
    """Entries charged per port. The sum never passes the limit, save by `move`."""

    __slots__ = ("_common", "_common_used", "_limit", "_reserve", "_shared", "_used")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._used: dict[int, int] = {}
        self._shared = False

    def _share(self) -> None:
        """Compute the parts; not before they are needed, as thousands of ports may be added."""
        if self._shared:
            return
        self._shared = True
        count = len(self._used)
        self._reserve = self._limit // (2 * count) if count else 0
        self._common = self._limit - self._reserve * count
        self._common_used = sum(max(0, used - self._reserve) for used in self._used.values())

    def set_limit(self, limit: int) -> None:
        """Set a new limit; existing entries stay."""
        self._limit = limit
        self._shared = False

    def add_port(self, port: int) -> None:
        """Add a port to share with."""
        self._used[port] = 0
        self._shared = False

    def remove_port(self, port: int) -> None:
        """Remove a port, which has no entries any more."""
        del self._used[port]
        self._shared = False

    def used(self, port: int) -> int:
        """Entries charged to the port."""
        return self._used[port]

    @property
    def total(self) -> int:
        """Entries charged to all ports."""
        return sum(self._used.values())

    @property
    def relaxed(self) -> bool:
        """Whether an eighth of the common part is free: enough to clear the alarm."""
        self._share()
        return self._common_used <= self._common * 7 // 8

    def charge(self, port: int) -> bool:
        """Charge one entry to the port, or refuse."""
        self._share()
        if self._used[port] >= self._reserve:
            if self._common_used >= self._common:
                return False
            self._common_used += 1
        self._used[port] += 1
        return True

    def release(self, port: int) -> None:
        """Release one entry of the port."""
        self._share()
        if self._used[port] > self._reserve:
            self._common_used -= 1
        self._used[port] -= 1

    def move(self, old: int, new: int) -> None:
        """Move a charge to another port; never refused, as the entry exists already."""
        self.release(old)
        if self._used[new] >= self._reserve:
            self._common_used += 1
        self._used[new] += 1


HASH, GROUPS, SOURCES, HOSTS = "hash_max", "max_groups", "max_sources", "eht_hosts_limit"


class SnoopedPort:
    """One port of the bridge.

    edge: spanning tree knows that no bridge is behind it; groups: it is a member of, in all VLANs;
    hosts: tracked, of all groups; truncated: members that asked for more sources than allowed.
    refused_at: when an event said last that a router's message was dropped.
    """

    __slots__ = (
        "alarms",
        "counters",
        "edge",
        "forwarding",
        "groups",
        "hosts",
        "number",
        "params",
        "refused_at",
        "truncated",
    )

    def __init__(self, number: int, params: PortParams) -> None:
        self.number = number
        self.params = params
        self.forwarding = False
        self.edge = False
        self.groups = 0
        self.hosts = 0
        self.truncated = 0
        self.refused_at = -inf
        self.counters: dict[str, int] = {}
        self.alarms: set[str] = set()

    def count(self, name: str) -> None:
        """Add one to a counter."""
        self.counters[name] = self.counters.get(name, 0) + 1


class Shared:
    """See the module's docstring.

    mac: the bridge's Ethernet address; dirty: the places where something has changed.
    """

    __slots__ = ("_limited", "dirty", "mac", "out", "params", "ports", "quota", "timers")

    def __init__(self, params: Params, mac: int) -> None:
        self.params = params
        self.mac = mac
        self.timers = Timers()
        self.quota = EntryQuota(params.mcast_hash_max)
        self.ports: dict[int, SnoopedPort] = {}
        self.out: list[Effect] = []
        self.dirty: dict[ScopeKey, None] = {}
        self._limited: dict[int, None] = {}  # ports with a HASH alarm

    def add_port(self, number: int, params: PortParams) -> None:
        """Add a port that does not exist yet."""
        self.ports[number] = SnoopedPort(number, params)
        self.quota.add_port(number)

    def remove_port(self, number: int) -> None:
        """Remove a port, which has no entries any more."""
        del self.ports[number]
        self._limited.pop(number, None)
        self.quota.remove_port(number)

    def event(self, kind: EventKind, text: Text, port: int | None, **data: object) -> None:
        """Emit an event."""
        self.out.append(kind.event(text, port, data))

    def refuse_router(self, port: SnoopedPort, vid: int, kind: str, now: float) -> None:
        """Count a router's message from a port where only hosts may be; report it once a minute."""
        port.count("drop_router_not_allowed")
        if now >= port.refused_at + REFUSED_INTERVAL:
            port.refused_at = now
            text = f"a multicast router's message ({kind}) was dropped at ", PortNumber(port.number)
            self.event(MCAST_ROUTER_REFUSED, text, port.number, message=kind, vlan=vid)

    # Limits. An alarm is raised once, and again only after it was cleared with some slack.

    def charge(self, port: SnoopedPort) -> bool:
        """Charge a datapath entry to the port, or refuse it and raise an alarm."""
        if self.quota.charge(port.number):
            return True
        self.raise_alarm(port, HASH)
        self._limited[port.number] = None
        return False

    def release(self, port: int) -> None:
        """Release one entry."""
        self.quota.release(port)
        if self._limited and self.quota.relaxed:
            for number in self._limited:
                self.clear_alarm(self.ports[number], HASH)
            self._limited.clear()

    def raise_alarm(self, port: SnoopedPort, limit: str) -> None:
        """Count a refusal, and emit an event for the first."""
        port.count(f"limit_{limit}")
        if limit not in port.alarms:
            port.alarms.add(limit)
            self.event(
                MCAST_LIMIT_REACHED,
                (
                    PortNumber(port.number),
                    f" reached mcast_{limit}; more than that is refused",
                ),
                port.number,
                limit=f"mcast_{limit}",
            )

    def clear_alarm(self, port: SnoopedPort, limit: str) -> None:
        """Clear an alarm: emit an event that the limit is no longer reached."""
        if limit in port.alarms:
            port.alarms.remove(limit)
            self.event(
                MCAST_LIMIT_RECOVERED,
                (PortNumber(port.number), f" is below mcast_{limit} again"),
                port.number,
                limit=f"mcast_{limit}",
            )
