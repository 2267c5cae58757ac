"""What all VLANs of one bridge's snooping share: ports, timers, limits and the effects so far.

Contexts and groups mark themselves dirty while an input is handled; `flush` then compares what is
wanted with what was said last and emits the differences, so however many records one report has,
a datapath entry changes at most once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ofapp.bridge.event import Event, Severity
from ofapp.bridge.multicast.effects import Effect
from ofapp.bridge.multicast.ledger import Ledger
from ofapp.bridge.multicast.params import Params, PortParams
from ofapp.bridge.multicast.timers import Timers

if TYPE_CHECKING:
    from ofapp.bridge.multicast.context import Context
    from ofapp.bridge.multicast.group import Group
    from ofapp.bridge.multicast.member import Member

HASH, GROUPS, SOURCES, HOSTS = "hash_max", "max_groups", "max_sources", "eht_hosts_limit"


class Port:
    """One port of the bridge. `edge`: spanning tree knows that no bridge is behind it."""

    __slots__ = (
        "alarms",
        "counters",
        "edge",
        "forwarding",
        "hosts",
        "members",
        "number",
        "params",
        "truncated",
    )

    def __init__(self, number: int, params: PortParams) -> None:
        self.number = number
        self.params = params
        self.forwarding = False
        self.edge = False
        self.members: dict[Member, None] = {}
        self.counters: dict[str, int] = {}
        self.hosts = 0  # tracked, of all groups
        self.truncated = 0  # members that asked for more sources than allowed
        self.alarms: set[str] = set()

    def count(self, name: str) -> None:
        """Add one to a counter."""
        self.counters[name] = self.counters.get(name, 0) + 1


class Core:
    """See the module's docstring. `mac` is the bridge's Ethernet address."""

    __slots__ = (
        "dirty",
        "dirty_contexts",
        "ledger",
        "limited",
        "mac",
        "out",
        "params",
        "ports",
        "timers",
    )

    def __init__(self, params: Params, mac: int) -> None:
        self.params = params
        self.mac = mac
        self.timers = Timers()
        self.ledger = Ledger(params.mcast_hash_max)
        self.ports: dict[int, Port] = {}
        self.limited: dict[int, None] = {}  # ports with a HASH alarm
        self.out: list[Effect] = []
        self.dirty: dict[Group, None] = {}
        self.dirty_contexts: dict[Context, None] = {}

    def flush(self) -> list[Effect]:
        """The effects of the input just handled."""
        if self.dirty_contexts:
            for context in self.dirty_contexts:
                context.flush_opening(self.out)
        for group in self.dirty:
            group.flush(self.out)
        if self.dirty_contexts:
            for context in self.dirty_contexts:
                context.flush_closing(self.out)
            self.dirty_contexts.clear()
        self.dirty.clear()
        out, self.out = self.out, []
        return out

    def event(
        self, kind: str, message: str, severity: Severity, port: int | None, **data: object
    ) -> None:
        """Tell a person."""
        self.out.append(Event(f"mcast.{kind}", message, severity, port, data))

    # Limits. An alarm is raised once, and again only after it was cleared with some slack.

    def charge(self, port: Port) -> bool:
        """Charge a datapath entry to the port, or refuse it and say so."""
        if self.ledger.charge(port.number):
            return True
        self.raise_alarm(port, HASH)
        self.limited[port.number] = None
        return False

    def release(self, port: int) -> None:
        """Give back one entry."""
        self.ledger.release(port)
        if self.limited and self.ledger.relaxed:
            for number in self.limited:
                self.clear_alarm(self.ports[number], HASH)
            self.limited.clear()

    def raise_alarm(self, port: Port, limit: str) -> None:
        """Count a refusal, and tell of the first."""
        port.count(f"limit_{limit}")
        if limit not in port.alarms:
            port.alarms.add(limit)
            self.event(
                "limit.reached",
                f"port {port.number} reached mcast_{limit}; what it asks for beyond is refused",
                Severity.WARNING,
                port.number,
                limit=f"mcast_{limit}",
            )

    def clear_alarm(self, port: Port, limit: str) -> None:
        """Tell that a limit is no longer reached, if it was told that it is."""
        if limit in port.alarms:
            port.alarms.remove(limit)
            self.event(
                "limit.recovered",
                f"port {port.number} is below mcast_{limit} again",
                Severity.INFO,
                port.number,
                limit=f"mcast_{limit}",
            )
