"""State that all VLANs of one bridge's snooping share: ports, timers, limits and pending effects.

While an input is handled, effects are collected here, and changed objects are noted by their place.
The differences to the last effects are computed when the input is done. So a datapath entry changes
at most once, no matter how many records one report has.
"""

from __future__ import annotations

from ofapp.bridge.event import EventKind, PortNumber, Text
from ofapp.bridge.multicast.effects import Effect
from ofapp.bridge.multicast.events import MCAST_LIMIT_REACHED, MCAST_LIMIT_RECOVERED
from ofapp.bridge.multicast.params import Params, PortParams
from ofapp.bridge.multicast.quota import EntryQuota
from ofapp.bridge.multicast.timers import Place, Timers

HASH, GROUPS, SOURCES, HOSTS = "hash_max", "max_groups", "max_sources", "eht_hosts_limit"


class SnoopedPort:
    """One port of the bridge.

    edge: spanning tree knows that no bridge is behind it; groups: it is a member of, in all VLANs;
    hosts: tracked, of all groups; truncated: members that asked for more sources than allowed.
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
        self.dirty: dict[Place, None] = {}
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
