"""All objects of a bridge, in the bridge's context or without one."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Sequence

import ofapp
from ofapp.snmp import bridge_mib, if_mib, q_bridge
from ofapp.snmp.answers import FRESH, FRESH_FDB, Answers
from ofapp.snmp.objects import Json, Objects, Row, Section, ordered, scalars
from ofapp.snmp.values import NOWHERE, Oid, integer, octets, ticks

SYSTEM: Oid = (1, 3, 6, 1, 2, 1, 1)
"""The system group (RFC 3418): management stations begin with it.

It is in the context of a bridge.  Without a context snmpd has that of the host.
"""
_LAYER_2 = 2  # of sysServices: 2 to the power of the layer less one
_STARTED = time.monotonic()

SUBTREES: tuple[Oid, ...] = (bridge_mib.DOT1D,)
"""What is registered without a context."""
OWN_SUBTREES = (*SUBTREES, SYSTEM, if_mib.INTERFACES, if_mib.IF_X_TABLE)
"""What is registered in the context of a bridge."""


def objects_of(answers: Answers, own_context: bool) -> Objects:
    """own_context: with the bridge's ports as interfaces; without one those of the host are given,
    and ports are referred to by the numbers that the host has for interfaces of their names."""

    def indices() -> dict[int, int]:
        return {} if own_context else _host_indices(answers.ports())

    def section(prefix: Oid, make: Callable[[], Sequence[Row]], fresh: float = FRESH) -> Section:
        return Section(prefix, lambda: answers.kept(f"rows of {prefix}", fresh, make))

    sections = [
        section(bridge_mib.BASE, lambda: bridge_mib.base(answers, indices())),
        section(bridge_mib.STP, lambda: bridge_mib.stp(answers)),
        section(bridge_mib.TP, lambda: bridge_mib.tp(answers), FRESH_FDB),
        section(q_bridge.BASE, lambda: q_bridge.base(answers)),
        section(q_bridge.TP, lambda: q_bridge.tp(answers), FRESH_FDB),
        section(q_bridge.VLAN, lambda: q_bridge.vlans(answers)),
    ]
    if own_context:
        sections.append(section(SYSTEM, lambda: system(answers)))
        sections.append(section(if_mib.INTERFACES, lambda: if_mib.interfaces(answers)))
        sections.append(section(if_mib.IF_X_TABLE, lambda: if_mib.extended(answers)))
    return Objects(sections)


def _host_indices(ports: list[Json]) -> dict[int, int]:
    indices = {}
    for port in ports:
        try:
            indices[port["number"]] = socket.if_nametoindex(port["name"])
        except OSError:
            continue
    return indices


def system(answers: Answers) -> list[Row]:
    """The scalars; sysUpTime is that of the subagent, and sysObjectID 0.0, as there is none."""
    bridge = answers.bridge()
    values = [
        (1, octets(f"ofapp {ofapp.__version__}, bridge {bridge['datapath_id']} on Open vSwitch")),
        (2, NOWHERE),
        (3, ticks(time.monotonic() - _STARTED)),
        (4, octets("")),
        (5, octets(bridge["name"])),
        (6, octets("")),
        (7, integer(_LAYER_2)),
    ]
    return ordered(scalars(SYSTEM, values))
