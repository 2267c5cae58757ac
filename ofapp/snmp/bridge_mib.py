"""BRIDGE-MIB (RFC 4188) and RSTP-MIB (RFC 4318), from the API's data of a bridge.

A port's number is its OpenFlow number. What the tables want and is not counted here (frames that
were too long or waited too long) is 0: Open vSwitch drops none for that.
"""

from __future__ import annotations

from collections.abc import Iterator

from ofapp.snmp.cache import Answers
from ofapp.snmp.objects import Json, Row, column, ordered, scalars, table
from ofapp.snmp.values import (
    NOWHERE,
    Oid,
    Value,
    bridge_id,
    counter32,
    integer,
    mac,
    octets,
    ticks,
    truth,
)

DOT1D: Oid = (1, 3, 6, 1, 2, 1, 17)
BASE, STP, TP = (*DOT1D, 1), (*DOT1D, 2), (*DOT1D, 4)
_TRANSPARENT_ONLY = 2
_IEEE8021D = 3
_DISABLED, _BLOCKING, _LEARNING, _FORWARDING, _BROKEN = 1, 2, 4, 5, 6
_ENABLED, _NOT_ENABLED = 1, 2
_STATES = {"discarding": _BLOCKING, "learning": _LEARNING, "forwarding": _FORWARDING}
_POINT_TO_POINT = {"force-true": 0, "force-false": 1, "auto": 2}
STATUS = {"learned": 3, "sticky": 3, "local": 4, "static": 5}
"""dot1dTpFdbStatus: learned, self, mgmt; others are other(1)."""
_NO_BRIDGE = bytes(8)
_MTU = 1500
_HOLD_TIME = 100
"""dot1dStpHoldTime, of a second: what 802.1D-1998 had in the place of the hold count."""


def base(answers: Answers, indices: dict[int, int]) -> list[Row]:
    """dot1dBase.  indices: the ifIndex of ports that have another one than their number."""
    ports = answers.ports()
    numbers = [port["number"] for port in ports]
    identifier = answers.stp()["bridge_id"]
    address = bridge_id(identifier)[2:] if identifier else _own_address(answers)
    return ordered(
        scalars(
            BASE,
            [
                (1, octets(address)),
                (2, integer(len(ports))),
                (3, integer(_TRANSPARENT_ONLY)),
            ],
        ),
        table(
            (*BASE, 4),
            [
                (1, [((n,), integer(n)) for n in numbers]),
                (2, [((n,), integer(indices.get(n, n))) for n in numbers]),
                (3, [((n,), NOWHERE) for n in numbers]),
                (4, [((n,), counter32(0)) for n in numbers]),
                (5, [((n,), counter32(0)) for n in numbers]),
            ],
        ),
    )


def _own_address(answers: Answers) -> bytes:
    """Return the address of a bridge without spanning tree: the lower half of its datapath id."""
    return bytes.fromhex(answers.bridge()["datapath_id"][4:])


def stp(answers: Answers) -> list[Row]:
    """dot1dStp with dot1dStpVersion, dot1dStpTxHoldCount and dot1dStpExtPortTable of RFC 4318."""
    tree = answers.stp()
    if not tree["enabled"] or tree["bridge_id"] is None:
        return []
    return ordered(
        scalars(STP, _tree(tree)),
        table((*STP, 15), _port_columns(tree["ports"])),
        table((*STP, 19), _extended_columns(tree["ports"])),
    )


def _tree(tree: Json) -> Iterator[tuple[int, Value]]:
    params, times, change = tree["parameters"], tree["root_times"], tree["topology_change"]
    root = tree["root_port"]
    yield 1, integer(_IEEE8021D)
    yield 2, integer(int(tree["bridge_id"][:4], 16))
    yield 3, ticks(change["since"] or 0)
    yield 4, counter32(change["count"])
    yield 5, octets(bridge_id(tree["root_id"]))
    yield 6, integer(tree["root_path_cost"])
    yield 7, integer(0 if root is None else root["number"])
    yield 8, integer(_hundredths(times["max_age"]))
    yield 9, integer(_hundredths(times["hello_time"]))
    yield 10, integer(_HOLD_TIME)
    yield 11, integer(_hundredths(times["forward_delay"]))
    yield 12, integer(_hundredths(params["max_age"]))
    yield 13, integer(_hundredths(params["hello_time"]))
    yield 14, integer(_hundredths(params["forward_delay"]))
    yield 16, integer(params["force_version"])
    yield 17, integer(params["transmit_hold_count"])


def _port_columns(ports: list[Json]) -> Iterator[tuple[int, list[tuple[Oid, Value]]]]:
    yield 1, column(ports, lambda port: integer(port["number"]))
    yield 2, column(ports, lambda port: integer(_port_id(port)[0]))
    yield 3, column(ports, lambda port: integer(_state(port)))
    enabled = {True: _ENABLED, False: _NOT_ENABLED}
    yield 4, column(ports, lambda port: integer(enabled[port["parameters"]["enabled"]]))
    yield 5, column(ports, lambda port: integer(min(port["path_cost"] or 1, 65535)))
    yield 6, column(ports, lambda port: octets(_designated(port, "root")))
    yield 7, column(ports, lambda port: integer((port["designated"] or {"cost": 0})["cost"]))
    yield 8, column(ports, lambda port: octets(_designated(port, "bridge")))
    yield 9, column(ports, lambda port: octets(_designated_port(port)))
    yield 10, column(ports, lambda port: counter32(port["forward_transitions"]))
    yield 11, column(ports, lambda port: integer(port["path_cost"] or 1))


def _extended_columns(ports: list[Json]) -> Iterator[tuple[int, list[tuple[Oid, Value]]]]:
    yield 1, column(ports, lambda port: truth(False))
    yield 2, column(ports, lambda port: truth(port["edge"]["admin"]))
    yield 3, column(ports, lambda port: truth(port["edge"]["oper"]))
    yield 4, column(ports, lambda port: integer(_POINT_TO_POINT[port["point_to_point"]["admin"]]))
    yield 5, column(ports, lambda port: truth(port["point_to_point"]["oper"]))
    yield 6, column(ports, lambda port: integer(port["parameters"]["path_cost"] or 0))


def tp(answers: Answers) -> list[Row]:
    """dot1dTp: the forwarding database of all VLANs, and what ports have passed on.

    The table knows no VLANs: of an address in several the entry of the lowest one counts.
    """
    bridge, ports = answers.bridge(), answers.ports()
    entries: dict[Oid, Json] = {}
    for entry in sorted(answers.fdb(), key=lambda entry: entry["vlan"] or 0):
        entries.setdefault(tuple(mac(entry["mac"])), entry)
    numbers = [(port["number"], port["counters"] or {}) for port in ports]
    return ordered(
        scalars(
            TP, [(1, counter32(bridge["fdb"]["refused"])), (2, integer(bridge["ageing_time"]))]
        ),
        table(
            (*TP, 3),
            [
                (1, ((index, octets(bytes(index))) for index in entries)),
                (2, ((index, integer(port_of(entry))) for index, entry in entries.items())),
                (3, ((index, integer(status_of(entry))) for index, entry in entries.items())),
            ],
        ),
        table(
            (*TP, 4),
            [
                (1, [((n,), integer(n)) for n, _ in numbers]),
                (2, [((n,), integer(_MTU)) for n, _ in numbers]),
                (3, [((n,), counter32(counters.get("rx_frames"))) for n, counters in numbers]),
                (4, [((n,), counter32(counters.get("tx_frames"))) for n, counters in numbers]),
                (5, [((n,), counter32(counters.get("rx_dropped"))) for n, counters in numbers]),
            ],
        ),
    )


def port_of(entry: Json) -> int:
    """The port of an entry: 0 where it is the bridge itself, or the port is absent."""
    number = entry["port"]["number"]
    return number if number is not None and number < 1 << 16 else 0


def status_of(entry: Json) -> int:
    """Return the kind of entry, in the MIBs' numbers."""
    return STATUS.get(entry["type"], 1)


def _hundredths(seconds: float) -> int:
    return round(seconds * 100)


def _port_id(port: Json) -> tuple[int, int]:
    """Priority and number of a port identifier as the API writes it: 8.001."""
    text = port["port_id"]
    if text is None:
        return int(port["parameters"]["priority"]), 0
    priority, _, number = text.partition(".")
    return int(priority, 16) << 4, int(number, 16)


def _state(port: Json) -> int:
    if not port["up"] or port["role"] == "disabled":
        return _DISABLED
    return _BROKEN if port["guards"] else _STATES[port["state"]]


def _designated(port: Json, what: str) -> bytes:
    designated = port["designated"]
    return _NO_BRIDGE if designated is None else bridge_id(designated[what])


def _designated_port(port: Json) -> bytes:
    designated = port["designated"]
    if designated is None:
        return bytes(2)
    priority, _, number = designated["port"].partition(".")
    return (int(priority, 16) << 12 | int(number, 16)).to_bytes(2, "big")
