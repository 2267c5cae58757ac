"""The little OpenFlow 1.3 that the emulated switch speaks, as bytes.

Written against the specification (1.3.5) and not with os-ken, so that a mistake of os-ken's or
ofapp's is not mirrored here, and so that nothing of the controller under test runs on this side.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

HELLO, ERROR, ECHO_REQUEST, ECHO_REPLY, EXPERIMENTER = 0, 1, 2, 3, 4
FEATURES_REQUEST, FEATURES_REPLY, GET_CONFIG_REQUEST, GET_CONFIG_REPLY, SET_CONFIG = 5, 6, 7, 8, 9
PACKET_IN, FLOW_REMOVED, PORT_STATUS, PACKET_OUT = 10, 11, 12, 13
FLOW_MOD, GROUP_MOD, PORT_MOD, TABLE_MOD = 14, 15, 16, 17
MULTIPART_REQUEST, MULTIPART_REPLY, BARRIER_REQUEST, BARRIER_REPLY = 18, 19, 20, 21
ROLE_REQUEST, ROLE_REPLY, GET_ASYNC_REQUEST, GET_ASYNC_REPLY, SET_ASYNC, METER_MOD = (
    24,
    25,
    26,
    27,
    28,
    29,
)
MP_DESC, MP_FLOW, MP_AGGREGATE, MP_GROUP_DESC, MP_GROUP_FEATURES = 0, 1, 2, 7, 8
MP_METER_CONFIG, MP_METER_FEATURES, MP_PORT_DESC, MP_EXPERIMENTER = 10, 11, 13, 0xFFFF
ANY = 0xFFFFFFFF
ADD, MODIFY, MODIFY_STRICT, DELETE, DELETE_STRICT = range(5)
NO_MATCH, ACTION = 0, 1  # packet-in reasons
CONTROLLER, LOCAL = 0xFFFFFFFD, 0xFFFFFFFE
NICIRA, ONF = 0x2320, 0x4F4E4600
NO_COOKIE = 0xFFFFFFFFFFFFFFFF


def message(kind: int, xid: int, body: bytes = b"") -> bytes:
    """A whole message with its header."""
    return struct.pack("!BBHI", 4, kind, 8 + len(body), xid) + body


def match(*oxms: bytes) -> bytes:
    """An ofp_match of the given OXM TLVs, padded."""
    fields = b"".join(oxms)
    length = 4 + len(fields)
    return struct.pack("!HH", 1, length) + fields + bytes(-length % 8)


def oxm(field: int, value: bytes) -> bytes:
    """One TLV of the OpenFlow basic class without a mask."""
    return struct.pack("!HBB", 0x8000, field << 1, len(value)) + value


class FlowMod(NamedTuple):
    """What the emulator needs of one.

    oxms: the match's TLVs; tail: the instructions; body: padded match and instructions.
    """

    cookie: int
    cookie_mask: int
    table: int
    command: int
    idle: int
    hard: int
    priority: int
    flags: int
    out_port: int
    oxms: tuple[bytes, ...]
    tail: bytes
    body: bytes


def split_oxms(data: bytes) -> tuple[bytes, ...]:
    """The TLVs one after another in an unpadded match body."""
    oxms, at = [], 0
    while at + 4 <= len(data):
        end = at + 4 + data[at + 3]
        oxms.append(data[at:end])
        at = end
    return tuple(oxms)


def parse_flow_mod(raw: bytes) -> FlowMod:
    """Decode a whole flow-mod message."""
    fixed = struct.unpack_from("!QQBBHHHIIIH", raw, 8)
    cookie, mask, table, command, idle, hard, priority, _buffer, out_port, _group, flags = fixed
    length = struct.unpack_from("!H", raw, 50)[0]
    oxms = split_oxms(raw[52 : 48 + length])
    tail = raw[48 + (length + 7) // 8 * 8 :]
    return FlowMod(
        cookie, mask, table, command, idle, hard, priority, flags, out_port, oxms, tail, raw[48:]
    )


def outputs_to(flow: FlowMod, port: int) -> bool:
    """Does an output action of this flow name `port`?  (Looked up as bytes: good enough here.)"""
    return struct.pack("!HHI", 0, 16, port) in flow.tail


class ToController(NamedTuple):
    """An action that sends packet-ins: their reason, and the meter they pass if any."""

    reason: int
    meter: int | None


def to_controller(flow: FlowMod) -> ToController | None:
    """How this flow sends packet-ins, None when it does not.

    OVS reports NO_MATCH for a flow of priority 0 that matches everything, with any actions.
    """
    for kind, body in _tlvs(flow.tail, 4):
        if kind not in (3, 4):  # write and apply actions
            continue
        for action, value in _tlvs(body[4:], 4):
            found = _to_controller(action, value)
            if found is not None:
                table_miss = flow.priority == 0 and not flow.oxms
                return found._replace(reason=NO_MATCH) if table_miss else found
    return None


def _to_controller(action: int, value: bytes) -> ToController | None:
    if action == 0 and value[:4] == CONTROLLER.to_bytes(4, "big"):
        return ToController(ACTION, None)
    if action == 0xFFFF and struct.unpack_from("!IH", value) == (NICIRA, 37):  # controller2
        reason, meter = ACTION, None
        for kind, data in _tlvs(value[12:], 8):
            if kind == 2:
                reason = data[0]
            elif kind == 5:
                meter = int.from_bytes(data[:4], "big")
        return ToController(reason, meter)
    return None


def _tlvs(data: bytes, align: int) -> Iterator[tuple[int, bytes]]:
    """(type, value) of things that begin with a 16-bit type and a 16-bit length."""
    at = 0
    while at + 4 <= len(data):
        kind, length = struct.unpack_from("!HH", data, at)
        if length < 4:
            return
        yield kind, data[at + 4 : at + length]
        at += (length + align - 1) // align * align


def packet_in(cookie: int, table: int, reason: int, fields: bytes, frame: bytes) -> bytes:
    """A packet-in without a buffer, as OVS sends it; `fields` is a whole padded ofp_match."""
    head = struct.pack("!IHBBQ", 0xFFFFFFFF, len(frame), reason, table, cookie)
    return message(PACKET_IN, 0, head + fields + b"\0\0" + frame)


def port_desc(number: int) -> bytes:
    """An ofp_port that is up: 10 Gb/s copper, named benchN."""
    mac = b"\x0e\0\0\0" + (number & 0xFFFF).to_bytes(2, "big")
    name = ("bench" if number == LOCAL else f"bench-p{number}").encode().ljust(16, b"\0")
    return struct.pack("!I4x6s2x16sIIIIIIII", number, mac, name, 0, 4, 0x840, 0, 0, 0, 10**7, 10**7)
