"""Reading flow statistics, and the addresses that our flows match.

Read at fixed offsets: there may be two hundred thousand.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

from ofapp.bridge.multicast import family_of
from ofapp.openflow.model.cookie import Feature, parse_cookie
from ofapp.openflow.pipeline.entries import Key
from ofapp.openflow.pipeline.group_numbers import ENTRY_GROUPS, port_of_group
from ofapp.openflow.wire.messages.oxm import (
    VLAN_VID,
    VLAN_VID_MASKED,
    AddressMatch,
    oxms,
    read_address_match,
)
from ofapp.osken import ofp


class FlowStats(NamedTuple):
    """One flow of a flow-stats reply; `match` are its OXM fields, `instructions` raw too.

    age: seconds since it was added or added again.
    """

    table: int
    priority: int
    idle_timeout: int
    flags: int
    cookie: int
    packets: int
    match: bytes
    instructions: bytes
    octets: int
    age: float


_FLOW_STATS = struct.Struct("!HBxIIHHHH4xQQQHH")


def read_flow_stats(body: bytes) -> Iterator[FlowStats]:
    """The flows in the body of a flow-stats reply; ValueError when it is malformed."""
    at = 0
    while at < len(body):
        try:
            fields = _FLOW_STATS.unpack_from(body, at)
        except struct.error as error:
            raise ValueError("truncated flow statistics") from error
        length, table, seconds, nanoseconds, priority, idle, _, flags = fields[:8]
        cookie, packets, octets, _, match_length = fields[8:]
        match_end = at + 48 + match_length
        instructions = at + 48 + match_length + (-match_length % 8)
        if match_length < 4 or not at + 56 <= instructions <= at + length <= len(body):
            raise ValueError("flow statistics with impossible lengths")
        yield FlowStats(
            table,
            priority,
            idle,
            flags,
            cookie,
            packets,
            body[at + 52 : match_end],
            body[instructions : at + length],
            octets,
            seconds + nanoseconds / 1e9,
        )
        at += length


def read_half(flow: FlowStats) -> AddressMatch | None:
    """The address in a learned flow; a destination half's port is read from its output action.

    None when it is not of the form that this code makes.
    """
    fields = read_address_match(flow.match)
    if fields is None or bool(fields.source) == bool(fields.destination):
        return None
    if fields.source:
        return fields if fields.port else None
    port = _leads_to(flow.instructions)
    return None if port is None else fields._replace(port=port)


def _leads_to(instructions: bytes) -> int | None:
    """The port of a destination half: its last action is an output, or the port's group."""
    if len(instructions) < 16:
        return None
    kind, _, number = struct.unpack_from("!HHI", instructions, len(instructions) - 8)
    if kind == ofp.OFPAT_GROUP and len(instructions) == 16:
        return port_of_group(number)
    kind, _, number = struct.unpack_from("!HHI", instructions, len(instructions) - 16)
    return int(number) if kind == ofp.OFPAT_OUTPUT else None


_DESTINATION = {0x80000606: 6, 0x80001804: 4, 0x80001908: 4, 0x80003610: 16, 0x80003720: 16}
_SOURCE = {0x80001604: 4, 0x80003410: 16}


def read_entry(flow: FlowStats) -> tuple[Key, int] | None:
    """The multicast entry of a flow, and its group; None when it is none."""
    cookie = parse_cookie(flow.cookie)
    if cookie is None or cookie.feature != Feature.MULTICAST:
        return None
    vid, source, destination = 0, None, None
    try:
        for oxm, value in oxms(flow.match):
            if oxm in (VLAN_VID, VLAN_VID_MASKED):
                vid = int.from_bytes(value[:2], "big") & 0xFFF
            elif oxm in _DESTINATION:
                destination = value[: _DESTINATION[oxm]]
            elif oxm in _SOURCE:
                source = value
    except struct.error:
        return None
    if destination is None:
        return None
    family = family_of(destination)
    group = None if flow.priority == 500 else destination
    return Key(vid, family, group, source), ENTRY_GROUPS + cookie.serial
