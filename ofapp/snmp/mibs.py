"""All objects of a bridge, in the bridge's context or without one."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Sequence

import ofapp
from ofapp.snmp import bridge_mib, q_bridge
from ofapp.snmp.cache import FRESH, FRESH_FDB, Answers
from ofapp.snmp.objects import Json, Objects, Row, Subtree, column, ordered, scalars, table
from ofapp.snmp.values import (
    NOWHERE,
    Oid,
    Value,
    counter32,
    counter64,
    gauge32,
    integer,
    mac,
    octets,
    ticks,
)

SYSTEM: Oid = (1, 3, 6, 1, 2, 1, 1)
"""The system group (RFC 3418): management stations begin with it.

It is in the context of a bridge.  Without a context snmpd has that of the host.
"""
_LAYER_2 = 2  # of sysServices: 2 to the power of the layer less one
_STARTED = time.monotonic()

INTERFACES: Oid = (1, 3, 6, 1, 2, 1, 2)
IF_X_TABLE: Oid = (1, 3, 6, 1, 2, 1, 31, 1, 1)
"""What BRIDGE-MIB refers to of IF-MIB (RFC 2863): the ports of a bridge as interfaces."""

SUBTREES: tuple[Oid, ...] = (bridge_mib.DOT1D,)
"""Objects that are registered without a context."""
OWN_SUBTREES = (*SUBTREES, SYSTEM, INTERFACES, IF_X_TABLE)
"""Objects that are registered in the context of a bridge."""


def objects_of(answers: Answers, own_context: bool) -> Objects:
    """own_context: with the bridge's ports as interfaces; without one those of the host are given,
    and ports are referred to by the numbers that the host has for interfaces of their names."""

    def indices() -> dict[int, int]:
        return {} if own_context else _host_indices(answers.ports())

    def section(prefix: Oid, make: Callable[[], Sequence[Row]], fresh: float = FRESH) -> Subtree:
        return Subtree(prefix, lambda: answers.kept(f"rows of {prefix}", fresh, make))

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
        sections.append(section(INTERFACES, lambda: interfaces(answers)))
        sections.append(section(IF_X_TABLE, lambda: extended(answers)))
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


_ETHERNET, _LAG = 6, 161
_UP, _DOWN = 1, 2
_MTU = 1500
_Column = tuple[int, Callable[[Json], Value]]

_IF_TABLE: list[_Column] = [
    (1, lambda port: integer(port["number"])),
    (2, lambda port: octets(port["name"])),
    (3, lambda port: integer(_ETHERNET if port["members"] is None else _LAG)),
    (4, lambda port: integer(_MTU)),
    (5, lambda port: gauge32(port["speed_mbps"] * 1_000_000)),
    (6, lambda port: octets(mac(port["mac"]))),
    (7, lambda port: integer(_UP)),
    (8, lambda port: integer(_UP if port["up"] else _DOWN)),
    (9, lambda port: ticks(0)),
    (10, lambda port: counter32(_counted(port, "rx_bytes"))),
    (11, lambda port: counter32(_counted(port, "rx_frames"))),
    (13, lambda port: counter32(_counted(port, "rx_dropped"))),
    (14, lambda port: counter32(_counted(port, "rx_errors"))),
    (16, lambda port: counter32(_counted(port, "tx_bytes"))),
    (17, lambda port: counter32(_counted(port, "tx_frames"))),
    (19, lambda port: counter32(_counted(port, "tx_dropped"))),
    (20, lambda port: counter32(_counted(port, "tx_errors"))),
]
_IF_X_TABLE: list[_Column] = [
    (1, lambda port: octets(port["name"])),
    (6, lambda port: counter64(_counted(port, "rx_bytes"))),
    (7, lambda port: counter64(_counted(port, "rx_frames"))),
    (10, lambda port: counter64(_counted(port, "tx_bytes"))),
    (11, lambda port: counter64(_counted(port, "tx_frames"))),
    (15, lambda port: gauge32(port["speed_mbps"])),
    (18, lambda port: octets("")),
]


def interfaces(answers: Answers) -> list[Row]:
    """ifNumber and ifTable; all frames are counted as those to one host."""
    ports = answers.ports()
    number = scalars(INTERFACES, [(1, integer(len(ports)))])
    return ordered(number, table((*INTERFACES, 2), _columns(_IF_TABLE, ports)))


def extended(answers: Answers) -> list[Row]:
    """ifXTable."""
    return ordered(table(IF_X_TABLE, _columns(_IF_X_TABLE, answers.ports())))


def _columns(
    columns: list[_Column], ports: list[Json]
) -> list[tuple[int, list[tuple[Oid, Value]]]]:
    return [(number, column(ports, of)) for number, of in columns]


def _counted(port: Json, what: str) -> int | None:
    counters = port["counters"] or {}
    count: int | None = counters.get(what)
    return count
