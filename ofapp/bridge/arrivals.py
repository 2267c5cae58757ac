"""Ports that come, change and go: many at a time, since a switch may tell of a thousand at once.

What looks at all ports (who may reach whom, who is in which VLAN) is worked out once for all of
them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ofapp.bridge.effects import Effect
from ofapp.bridge.event import Event, Severity
from ofapp.bridge.fdb import NO_PORT
from ofapp.bridge.following import followed
from ofapp.bridge.ports import LOCAL_PORT, MAX_PORTS, Port
from ofapp.bridge.spanning import Step

if TYPE_CHECKING:
    from ofapp.bridge.bridge import Bridge


def put_ports(bridge: Bridge, ports: Iterable[Port], now: float) -> list[Effect]:
    """Ports, each of another number, are new, or their names, addresses or links changed."""
    effects: list[Effect] = []
    new: list[Port] = []
    changed: list[tuple[Port, bool]] = []
    added = 0
    for port in ports:
        old = bridge.ports.get(port.number)
        if old == port:
            continue
        if old is None and not bridge.ports.has_room(added):
            effects += _refuse(bridge)
            continue
        changed.append((port, old is not None and bridge.usable(old)))
        if old is None:
            added += 1
            effects.append(port_event("port.added", port, "was added"))
        elif old.name != port.name:
            bridge.pinned.rename(old.name, port.name)
            bridge.permanent.rename(old.name, port.name)
            effects.append(port_event("port.renamed", port, f"was called {old.name} before"))
        if old is None or old.name != port.name:
            new.append(port)
    for port, _ in changed:
        bridge.ports.put(port)
    if new:
        effects += bridge.reach_anew(now)
    for port in new:
        effects += bridge.learning.set_port(port, bridge.reach.port(port.number), now)
    for port, _ in changed:
        if port.number == LOCAL_PORT:
            effects += bridge.pinned.set_local(port.mac)
    if new:
        effects += bridge.snoop(new, now)
    steps: list[Step] = []
    for port, was_up in changed:
        steps += bridge.set_link(port, was_up, now)
    effects += followed(bridge, steps, now)
    return effects + bridge.pinned.place({port.name: port.number for port in new})


def remove_ports(bridge: Bridge, numbers: Iterable[int], now: float) -> list[Effect]:
    """Ports are gone; static entries on them wait for ports of the same names."""
    gone = [port for number in numbers if (port := bridge.ports.drop(number)) is not None]
    if not gone:
        return []
    steps: list[Step] = []
    for port in gone:
        steps += bridge.relay.close(port.number)
        if bridge.spanning is not None:
            steps += bridge.spanning.remove(port.number, now)
    effects = followed(bridge, steps, now)
    if bridge.multicasting is not None:
        for port in gone:
            for entry in bridge.permanent.on(port.name):
                effects += bridge.withdraw(entry, port.number, now)
        effects += bridge.multicasting.remove_ports([port.number for port in gone], now)
    for port in gone:
        effects += bridge.learning.drop_port(port.number)
        if port.number == LOCAL_PORT:
            effects += bridge.pinned.set_local(None)
    effects += bridge.pinned.place({port.name: NO_PORT for port in gone})
    effects += bridge.reach_anew(now)
    effects += [port_event("port.removed", port, "was removed") for port in gone]
    if bridge.ports.refused:
        bridge.ports.refused = False
        effects.append(Event("port.limit.cleared", "there is room for ports again"))
    return effects


def _refuse(bridge: Bridge) -> list[Effect]:
    """There are more ports than there can be: the next look at the switch finds those left out."""
    bridge.learning.counters["ports_refused"] += 1
    if bridge.ports.refused:
        return []
    bridge.ports.refused = True
    message = f"there are {MAX_PORTS} ports, the most there can be: further ones stay closed"
    return [Event("port.limit", message, Severity.ERROR)]


def port_event(kind: str, port: Port, what: str) -> Event:
    """What people are told of a port."""
    return Event(kind, f"port {port.name} {what}", port=port.number, data={"name": port.name})
