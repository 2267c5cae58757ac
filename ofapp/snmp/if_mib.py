"""Part of IF-MIB (RFC 2863) that BRIDGE-MIB refers to: ports of a bridge as interfaces.

Only in the context of a bridge: without a context these are the host's interfaces, from snmpd.
"""

from __future__ import annotations

from collections.abc import Callable

from ofapp.snmp.answers import Answers
from ofapp.snmp.objects import Json, Row, column, ordered, scalars, table
from ofapp.snmp.values import (
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

INTERFACES: Oid = (1, 3, 6, 1, 2, 1, 2)
IF_X_TABLE: Oid = (1, 3, 6, 1, 2, 1, 31, 1, 1)
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
