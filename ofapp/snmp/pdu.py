"""AgentX on the wire (RFC 2741 sections 5 and 6): what a subagent hears and says.

What comes is read or refused with PduError; the master agent is the machine's own snmpd, but a
session that cannot be followed any more is to end, and not to hang.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from enum import IntEnum, IntFlag
from typing import NamedTuple

from ofapp.snmp.values import Kind, Oid, Value

VERSION = 1
HEADER = 20
MAX_PAYLOAD = 1 << 20
MAX_SUBIDS = 128
_HEADER = struct.Struct("!BBBxIIII")
_INTERNET = (1, 3, 6, 1)
_NUMBERS = (Kind.INTEGER, Kind.COUNTER32, Kind.GAUGE32, Kind.TICKS)


class PduError(ValueError):
    """The received data is not supported AgentX."""


class Type(IntEnum):
    """6.1, those that matter to a subagent that is read only."""

    OPEN = 1
    CLOSE = 2
    REGISTER = 3
    UNREGISTER = 4
    GET = 5
    GET_NEXT = 6
    GET_BULK = 7
    TEST_SET = 8
    COMMIT_SET = 9
    UNDO_SET = 10
    CLEANUP_SET = 11
    PING = 13
    RESPONSE = 18


class Flag(IntFlag):
    """6.1: h.flags."""

    CONTEXT = 0x08
    NETWORK_ORDER = 0x10


class Error(IntEnum):
    """6.2.16: res.error."""

    NONE = 0
    NOT_WRITABLE = 17
    OPEN_FAILED = 256
    NOT_OPEN = 257
    UNSUPPORTED_CONTEXT = 262
    DUPLICATE = 263
    UNKNOWN_REGISTRATION = 264
    PARSE = 266
    DENIED = 267
    PROCESSING = 268


class Header(NamedTuple):
    """6.1, but for the version and the order of octets, which is the network's."""

    type: int
    flags: int
    session: int
    transaction: int
    packet: int
    length: int
    order: str = "!"


class Range(NamedTuple):
    """5.2: from `start`, itself if `include`, to before `end`, which may be empty."""

    start: Oid
    include: bool
    end: Oid


class Request(NamedTuple):
    """A Get, GetNext or GetBulk.  repeaters: how many ranges are not repeated, and the repeats."""

    context: bytes
    ranges: list[Range]
    singles: int = 0
    repeats: int = 1


class VarBind(NamedTuple):
    """5.4."""

    name: Oid
    value: Value


def read_header(data: bytes) -> Header:
    """The first 20 octets.  Raises PduError."""
    version, type_, flags = data[0], data[1], data[2]
    order = "!" if flags & Flag.NETWORK_ORDER else "<"
    session, transaction, packet, length = struct.unpack(f"{order}IIII", data[4:HEADER])
    if version != VERSION:
        raise PduError(f"version {version} of AgentX")
    if length % 4 or length > MAX_PAYLOAD:
        raise PduError(f"a payload of {length} octets")
    return Header(type_, flags, session, transaction, packet, length, order)


def read_request(header: Header, payload: bytes) -> Request:
    """Read a Get, GetNext or GetBulk request.  Raises PduError."""
    try:
        reader = _Reader(payload, header.order)
        context = reader.octets() if header.flags & Flag.CONTEXT else b""
        singles, repeats = 0, 1
        if header.type == Type.GET_BULK:
            singles, repeats = reader.unpack("HH")
        ranges = []
        while reader.left:
            start, include = reader.oid()
            end, _ = reader.oid()
            ranges.append(Range(start, include, end))
    except (struct.error, IndexError) as error:
        raise PduError(f"a request that ends too early: {error}") from None
    return Request(context, ranges, singles, repeats)


def read_response(header: Header, payload: bytes) -> int:
    """The error that the master answers with, 0 for none.  Raises PduError."""
    if len(payload) < 8:
        raise PduError("a response that ends too early")
    error: int = struct.unpack(f"{header.order}IHH", payload[:8])[1]
    return error


def open_session(description: str, timeout: int, packet: int) -> bytes:
    """agentx-Open-PDU (6.2.1).  timeout: seconds that the master waits for an answer."""
    payload = bytes((timeout, 0, 0, 0)) + write_oid(()) + write_octets(description.encode())
    return _pdu(Type.OPEN, Flag(0), (0, 0, packet), payload)


def register(type_: Type, subtree: Oid, context: bytes, ids: tuple[int, int, int]) -> bytes:
    """agentx-Register-PDU (6.2.3) or its contrary; ids: session, transaction, packet."""
    flags = Flag.CONTEXT if context else Flag(0)
    timeout_priority_range = bytes((0, 127, 0, 0))
    named = write_octets(context) if context else b""
    return _pdu(type_, flags, ids, named + timeout_priority_range + write_oid(subtree))


def response(
    to: Header, binds: Iterable[VarBind] = (), error: int = Error.NONE, index: int = 0
) -> bytes:
    """agentx-Response-PDU (6.2.16)."""
    payload = struct.pack("!IHH", 0, error, index) + b"".join(map(write_bind, binds))
    return _pdu(Type.RESPONSE, Flag(0), (to.session, to.transaction, to.packet), payload)


def write_oid(oid: Oid, include: bool = False) -> bytes:
    """5.1."""
    prefix = 0
    if len(oid) > 4 and oid[:4] == _INTERNET and 0 < oid[4] < 256:
        prefix, oid = oid[4], oid[5:]
    return struct.pack(f"!BBBx{len(oid)}I", len(oid), prefix, include, *oid)


def write_octets(octets: bytes) -> bytes:
    """5.3: with their length, filled up to a multiple of four."""
    return struct.pack("!I", len(octets)) + octets + bytes(-len(octets) % 4)


def write_bind(bind: VarBind) -> bytes:
    """5.4."""
    kind, content = bind.value
    head = struct.pack("!HH", kind, 0) + write_oid(bind.name)
    if kind in _NUMBERS:
        assert isinstance(content, int)
        return head + struct.pack("!I", content & 0xFFFFFFFF)
    if kind == Kind.COUNTER64:
        return head + struct.pack("!Q", content)
    if kind == Kind.OCTETS:
        assert isinstance(content, bytes)
        return head + write_octets(content)
    if kind == Kind.OID:
        assert isinstance(content, tuple)
        return head + write_oid(content)
    return head


def _pdu(type_: Type, flags: Flag, ids: tuple[int, int, int], payload: bytes) -> bytes:
    all_flags = flags | Flag.NETWORK_ORDER
    return _HEADER.pack(VERSION, type_, all_flags, *ids, len(payload)) + payload


class _Reader:
    """Takes one thing after another out of a payload; struct.error or IndexError at its end."""

    def __init__(self, data: bytes, order: str) -> None:
        self._data, self._order, self._at = data, order, 0

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def unpack(self, form: str) -> tuple[int, ...]:
        layout = struct.Struct(self._order + form)
        values = layout.unpack_from(self._data, self._at)
        self._at += layout.size
        return values

    def oid(self) -> tuple[Oid, bool]:
        if self.left < 4:
            raise IndexError("no object identifier")
        count, prefix, include = self._data[self._at : self._at + 3]
        self._at += 4
        if count > MAX_SUBIDS:
            raise IndexError(f"an object identifier of {count} numbers")
        rest = self.unpack(f"{count}I")
        return ((*_INTERNET, prefix, *rest) if prefix else rest), bool(include)

    def octets(self) -> bytes:
        (length,) = self.unpack("I")
        if length > self.left:
            raise IndexError(f"{length} octets")
        data = self._data[self._at : self._at + length]
        self._at += length + -length % 4
        return data
