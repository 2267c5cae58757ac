"""Ports that are added, changed and removed, many at a time: a switch may report a thousand.

State that depends on all ports (which port may reach which, VLAN membership) is computed once for
all changes; the caller does that with the result from here.
"""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from ofapp.bridge.effects import BridgeNamed, Effect, PortRenamed
from ofapp.bridge.event import Event, EventKind
from ofapp.bridge.ports.events import (
    PORT_ADDED,
    PORT_DOWN,
    PORT_LIMIT,
    PORT_LIMIT_CLEARED,
    PORT_REMOVED,
    PORT_RENAMED,
    PORT_UP,
)
from ofapp.bridge.ports.port import LOCAL_PORT, Port, PortTable
from ofapp.bridge.relay.policies import PortPolicies


class Arrivals(NamedTuple):
    """Changes of ports.

    new: ports with a new number or name; changed: all of them, and whether each was usable before;
    renamed: old and new name.
    """

    new: list[Port]
    changed: list[tuple[Port, bool]]
    renamed: list[tuple[str, str]]
    events: list[Effect]


def take_in(
    table: PortTable, policies: PortPolicies, ports: Iterable[Port], counters: Counter[str]
) -> Arrivals:
    """Put ports into the table, each with a different number."""
    arrivals = Arrivals([], [], [], [])
    added = 0
    refused = False
    for port in ports:
        old = table.get(port.number)
        if old == port:
            continue
        if old is None and (why := table.no_room(added)):
            counters["ports_refused"] += 1
            arrivals.events.extend(_refuse(table, why))
            refused = True
            continue
        arrivals.changed.append((port, old is not None and usable(policies, old)))
        if old is None:
            added += 1
            arrivals.events.append(port_event(PORT_ADDED, port, "was added"))
        elif old.name != port.name:
            arrivals.renamed.append((old.name, port.name))
            arrivals.events.append(port_event(PORT_RENAMED, port, f"was called {old.name} before"))
            arrivals.events.append(PortRenamed(port.number))
        if old is None or old.name != port.name:
            arrivals.new.append(port)
            if port.number == LOCAL_PORT:
                arrivals.events.append(BridgeNamed())
    for port, _ in arrivals.changed:
        table.put(port)
    if added and not refused:
        arrivals.events.extend(_room_again(table))
    return arrivals


def departed(table: PortTable, ports: Iterable[Port]) -> list[Effect]:
    """The events for removed ports, and for the room that there is now."""
    events: list[Effect] = [port_event(PORT_REMOVED, port, "was removed") for port in ports]
    return events + _room_again(table)


def usable(policies: PortPolicies, port: Port) -> bool:
    """Whether the port is up, not held as one-way, and enabled."""
    return port.carries and policies.takes_part(port.number)


def link_event(policies: PortPolicies, port: Port) -> Event:
    """The event for a port that has become usable or unusable."""
    if not port.carries or policies.takes_part(port.number):
        why = "is up" if port.carries else "is down" if not port.up else "is closed: one-way link"
    else:
        why = "is shut down" if policies.policy(port.number).shutdown else "only listens"
    return port_event(PORT_UP if usable(policies, port) else PORT_DOWN, port, why)


def port_event(kind: EventKind, port: Port, what: str) -> Event:
    """An event about a port."""
    local = " (LOCAL)" if port.number == LOCAL_PORT else ""
    return kind.event(f"port {port.name}{local} {what}", port.number, {"name": port.name})


def _refuse(table: PortTable, why: str) -> list[Effect]:
    """Report the limit of ports once; the next sync with the switch finds those left out."""
    if table.refused:
        return []
    table.refused = True
    return [PORT_LIMIT.event(f"{why}: further ones stay closed")]


def _room_again(table: PortTable) -> list[Effect]:
    if not table.refused:
        return []
    table.refused = False
    return [PORT_LIMIT_CLEARED.event("there is room for ports again")]
