"""Ports that come, change and go: many at a time, since a switch may tell of a thousand at once.

What looks at all ports (who may reach whom, who is in which VLAN) is worked out once for all of
them, by whoever is told what is new about them here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from ofapp.bridge.effects import BridgeNamed, Effect, PortRenamed
from ofapp.bridge.event import Event, Severity
from ofapp.bridge.port_policies import PortPolicies
from ofapp.bridge.ports import LOCAL_PORT, Port, PortTable


class Arrivals(NamedTuple):
    """What is new about ports.

    new: those of another number or name; changed: all, and whether each was up and took part;
    renamed: from which name to which.
    """

    new: list[Port]
    changed: list[tuple[Port, bool]]
    renamed: list[tuple[str, str]]
    events: list[Effect]


def take_in(
    table: PortTable, policies: PortPolicies, ports: Iterable[Port], counters: Counter[str]
) -> Arrivals:
    """Put ports into the table, each of another number."""
    found = Arrivals([], [], [], [])
    added = 0
    refused = False
    for port in ports:
        old = table.get(port.number)
        if old == port:
            continue
        if old is None and (why := table.no_room(added)):
            counters["ports_refused"] += 1
            found.events.extend(_refuse(table, why))
            refused = True
            continue
        found.changed.append((port, old is not None and usable(policies, old)))
        if old is None:
            added += 1
            found.events.append(port_event("port.added", port, "was added"))
        elif old.name != port.name:
            found.renamed.append((old.name, port.name))
            found.events.append(port_event("port.renamed", port, f"was called {old.name} before"))
            found.events.append(PortRenamed(port.number))
        if old is None or old.name != port.name:
            found.new.append(port)
            if port.number == LOCAL_PORT:
                found.events.append(BridgeNamed())
    for port, _ in found.changed:
        table.put(port)
    if added and not refused:
        found.events.extend(_room_again(table))
    return found


def departed(table: PortTable, ports: Iterable[Port]) -> list[Effect]:
    """What is told of ports that the table has lost, and of the room that there is now."""
    events: list[Effect] = [port_event("port.removed", port, "was removed") for port in ports]
    return events + _room_again(table)


def usable(policies: PortPolicies, port: Port) -> bool:
    """Whether the port is up and takes part."""
    return port.up and policies.takes_part(port.number)


def link_event(policies: PortPolicies, port: Port) -> Event:
    """What is told of a port that has become usable, or is not any more."""
    if not port.up or policies.takes_part(port.number):
        why = "is up" if port.up else "is down"
    else:
        why = "is shut down" if policies.policy(port.number).shutdown else "only listens"
    return port_event("port.up" if usable(policies, port) else "port.down", port, why)


def port_event(kind: str, port: Port, what: str) -> Event:
    """What people are told of a port."""
    return Event(kind, f"port {port.name} {what}", port=port.number, data={"name": port.name})


def _refuse(table: PortTable, why: str) -> list[Effect]:
    """There are more ports than there can be: the next look at the switch finds those left out."""
    if table.refused:
        return []
    table.refused = True
    return [Event("port.limit", f"{why}: further ones stay closed", Severity.ERROR)]


def _room_again(table: PortTable) -> list[Effect]:
    if not table.refused:
        return []
    table.refused = False
    return [Event("port.limit.cleared", "there is room for ports again")]
