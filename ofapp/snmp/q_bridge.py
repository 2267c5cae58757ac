"""Q-BRIDGE-MIB (RFC 4363), from the API's data of a bridge's VLANs.

There is one filtering database for each VLAN (independent learning), by its VID; 0, which is what
is untagged and in no VLAN, is none that the MIB has a number for, and is given as 4095, which no
VLAN can have.
"""

from __future__ import annotations

from collections import Counter

from ofapp.snmp.bridge_mib import DOT1D, port_of, status_of
from ofapp.snmp.cache import Answers
from ofapp.snmp.objects import Json, Row, ordered, scalars, table
from ofapp.snmp.values import Oid, counter32, gauge32, integer, mac, octets, port_list, ticks, truth

DOT1Q: Oid = (*DOT1D, 7, 1)
BASE, TP, VLAN = (*DOT1Q, 1), (*DOT1Q, 2), (*DOT1Q, 4)
MAX_VID = 4094
UNTAGGED = 4095
_VERSION1, _DISABLED, _PERMANENT, _ACTIVE = 1, 2, 2, 1
_ADMIT_ALL, _ADMIT_TAGGED = 1, 2


def base(answers: Answers) -> list[Row]:
    """dot1qBase."""
    return ordered(
        scalars(
            BASE,
            [
                (1, integer(_VERSION1)),
                (2, integer(MAX_VID)),
                (3, gauge32(MAX_VID)),
                (4, gauge32(len(_vids(answers.vlans())))),
                (5, integer(_DISABLED)),
            ],
        )
    )


def tp(answers: Answers) -> list[Row]:
    """dot1qTp: the forwarding database by VLAN; addresses that are in every VLAN are in none."""
    entries = {
        (entry["vlan"] or UNTAGGED, *mac(entry["mac"])): entry
        for entry in answers.fdb()
        if entry["vlan"] is not None
    }
    dynamic = Counter(index[0] for index, entry in entries.items() if entry["type"] == "learned")
    return ordered(
        table((*TP, 1), [(2, [((fid,), counter32(dynamic[fid])) for fid in sorted(dynamic)])]),
        table(
            (*TP, 2),
            [
                (2, ((index, integer(port_of(entry))) for index, entry in entries.items())),
                (3, ((index, integer(status_of(entry))) for index, entry in entries.items())),
            ],
        ),
    )


def vlans(answers: Answers) -> list[Row]:
    """dot1qVlan: those that are configured or in use, and what ports do with untagged frames."""
    answer = answers.vlans()
    named = {vlan["vlan"]: vlan["name"] or "" for vlan in answer["vlans"]}
    ports = [port for port in answer["ports"] if (port["port"]["number"] or 1 << 16) < 1 << 16]
    members = {vid: [port for port in ports if _has(port, vid)] for vid in _vids(answer)}
    egress = {vid: port_list(_numbers(having)) for vid, having in members.items()}
    untagged = {
        vid: port_list(_numbers(port for port in having if _pops(port, vid)))
        for vid, having in members.items()
    }
    numbers = [(port["port"]["number"], port) for port in ports]
    return ordered(
        scalars(VLAN, [(1, counter32(0))]),
        table(
            (*VLAN, 2),
            [
                (3, [((0, vid), gauge32(vid)) for vid in egress]),
                (4, [((0, vid), value) for vid, value in egress.items()]),
                (5, [((0, vid), value) for vid, value in untagged.items()]),
                (6, [((0, vid), integer(_PERMANENT)) for vid in egress]),
                (7, [((0, vid), ticks(0)) for vid in egress]),
            ],
        ),
        table(
            (*VLAN, 3),
            [
                (1, [((vid,), octets(named.get(vid, ""))) for vid in egress]),
                (2, [((vid,), value) for vid, value in egress.items()]),
                (3, [((vid,), octets(b"")) for vid in egress]),
                (4, [((vid,), value) for vid, value in untagged.items()]),
                (5, [((vid,), integer(_ACTIVE)) for vid in egress]),
            ],
        ),
        table(
            (*VLAN, 5),
            [
                (1, [((n,), gauge32(port["pvid"] or UNTAGGED)) for n, port in numbers]),
                (2, [((n,), integer(_accepts(port))) for n, port in numbers]),
                (3, [((n,), truth(port["mode"] != "transparent")) for n, port in numbers]),
                (4, [((n,), integer(_DISABLED)) for n, _ in numbers]),
                (5, [((n,), counter32(0)) for n, _ in numbers]),
                (6, [((n,), octets(bytes(6))) for n, _ in numbers]),
                (7, [((n,), truth(False)) for n, _ in numbers]),
            ],
        ),
    )


def _vids(answer: Json) -> list[int]:
    """Return VLANs that have a name or are in use, and those that few ports list."""
    vids = {vlan["vlan"] for vlan in answer["vlans"]}
    vids |= {port["pvid"] for port in answer["ports"] if port["pvid"]}
    return sorted(vids - {0})


def _numbers(ports: object) -> list[int]:
    return [port["port"]["number"] for port in ports]  # type: ignore[attr-defined]


def _has(port: Json, vid: int) -> bool:
    """Whether a port is a member, by VIDs and ranges: 1-10,20."""
    if port["vlans"] == "all":
        return True
    for part in filter(None, port["vlans"].split(",")):
        first, _, last = part.partition("-")
        if int(first) <= vid <= int(last or first):
            return True
    return False


def _pops(port: Json, vid: int) -> bool:
    return vid in port["untagged"]


def _accepts(port: Json) -> int:
    """dot1qPortAcceptableFrameTypes: a trunk without a native VLAN takes tagged frames alone."""
    return _ADMIT_TAGGED if port["mode"] == "trunk" and port["pvid"] is None else _ADMIT_ALL
