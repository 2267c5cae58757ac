"""AgentX: what is written is read, what comes is answered, and what is no AgentX is refused."""

from __future__ import annotations

import socket
import struct
from threading import Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ofapp.snmp import pdu
from ofapp.snmp.objects import Objects, Row, Subtree
from ofapp.snmp.pdu import Error, Flag, Header, PduError, Range, Type
from ofapp.snmp.subagent import AgentXSession, SessionError
from ofapp.snmp.values import Kind, Oid, Value, bridge_id, integer, port_list

oids = st.lists(st.integers(0, 0xFFFFFFFF), max_size=20).map(tuple)
names = st.lists(st.integers(0, 3), min_size=1, max_size=4).map(tuple)


def packet(type_: int, payload: bytes, flags: int = Flag.NETWORK_ORDER) -> tuple[Header, bytes]:
    order = "!" if flags & Flag.NETWORK_ORDER else "<"
    head = struct.pack("BBBx", 1, type_, flags) + struct.pack(f"{order}IIII", 7, 8, 9, len(payload))
    return pdu.read_header(head), payload


@given(st.lists(st.tuples(oids, st.booleans(), oids), max_size=5), st.binary(max_size=9))
def test_what_is_asked_is_read(ranges: list[tuple[Oid, bool, Oid]], context: bytes) -> None:
    payload = pdu.write_octets(context)
    for start, include, end in ranges:
        payload += pdu.write_oid(start, include) + pdu.write_oid(end)
    header, _ = packet(Type.GET_NEXT, payload, Flag.NETWORK_ORDER | Flag.CONTEXT)
    read = pdu.read_request(header, payload)
    assert read.context == context
    assert read.ranges == [Range(*one) for one in ranges]


@given(st.binary(max_size=80), st.sampled_from([Type.GET, Type.GET_BULK]), st.integers(0, 255))
def test_any_octets_are_read_or_refused(payload: bytes, type_: Type, flags: int) -> None:
    header, _ = packet(type_, bytes(len(payload) // 4 * 4), flags)
    try:
        pdu.read_request(header, payload)
    except PduError:
        return


@given(st.binary(min_size=20, max_size=20))
def test_any_header_is_read_or_refused(data: bytes) -> None:
    try:
        assert pdu.read_header(data).length <= pdu.MAX_PAYLOAD
    except PduError:
        return


@given(st.lists(names, unique=True), names, st.booleans(), st.one_of(st.just(()), names))
def test_the_next_one_is_the_first_of_those_behind(
    known: list[Oid], name: Oid, include: bool, end: Oid
) -> None:
    """Against a model: all names in one list."""
    prefixes = sorted({one[:1] for one in known})
    rows: dict[Oid, list[Row]] = {
        prefix: [(one, integer(len(one))) for one in sorted(known) if one[:1] == prefix]
        for prefix in prefixes
    }
    objects = Objects(Subtree(prefix, lambda own=own: own) for prefix, own in rows.items())
    behind = [one for one in sorted(known) if (one >= name if include else one > name)]
    wanted = behind[0] if behind and (not end or behind[0] < end) else None
    found = objects.next(name, include, end)
    assert (None if found is None else found[0]) == wanted
    assert (objects.get(name) is not None) == (name in known)


def test_values_are_written_as_their_types_want_it() -> None:
    assert port_list([1, 8, 9]).content == b"\x81\x80"
    assert bridge_id("8000.02:00:00:00:00:01") == bytes.fromhex("8000020000000001")
    assert pdu.write_oid((1, 3, 6, 1, 2, 1)) == bytes.fromhex("010200000000 0001")
    assert pdu.write_octets(b"abc") == bytes.fromhex("00000003 61626300")
    bind = pdu.write_bind(pdu.VarBind((1,), Value(Kind.COUNTER64, 1)))
    assert bind.endswith(bytes(7) + b"\1")


class Master:
    """snmpd's side of a connection, as far as a test plays it."""

    def __init__(self, get: Any) -> None:
        self.end, own = socket.socketpair()
        self.ended: Exception | None = None
        self._session = AgentXSession(own, get, LookupError)
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._session.run()
        except (SessionError, PduError, OSError) as error:
            self.ended = error

    def heard(self) -> tuple[Header, bytes]:
        header = pdu.read_header(self._exactly(pdu.HEADER))
        return header, self._exactly(header.length)

    def _exactly(self, count: int) -> bytes:
        return self.end.recv(count, socket.MSG_WAITALL) if count else b""

    def agree(self, error: int = 0) -> int:
        """To what it hears next; gives the type."""
        header, _ = self.heard()
        self.end.sendall(pdu.response(header, error=error))
        return header.type

    def ask(self, type_: Type, context: bytes, payload: bytes) -> bytes:
        flags = Flag.NETWORK_ORDER | (Flag.CONTEXT if context else 0)
        body = (pdu.write_octets(context) if context else b"") + payload
        self.end.sendall(struct.pack("!BBBxIIII", 1, type_, flags, 1, 2, 3, len(body)) + body)
        return self.heard()[1]

    def finish(self) -> Exception | None:
        self.end.close()
        self._thread.join(10)
        return self.ended


def answers(path: str, query: object) -> dict[str, Any]:
    if path == "/v1/bridges":
        return {"bridges": [{"name": "br0", "datapath_id": "01"}]}
    raise LookupError("the controller is away")


def error_of(payload: bytes) -> int:
    return int(struct.unpack("!IHH", payload[:8])[1])


def test_a_session_registers_answers_and_ends() -> None:
    master = Master(answers)
    kinds = [master.agree() for _ in range(6)]
    assert kinds == [Type.OPEN, *[Type.REGISTER] * 5]  # four in the bridge's context, and one
    name = pdu.write_oid((1, 3, 6, 1, 2, 1, 17, 1, 1, 0)) + pdu.write_oid(())
    assert error_of(master.ask(Type.GET, b"br0", name)) == Error.PROCESSING  # no answer comes
    assert error_of(master.ask(Type.GET, b"br7", name)) == Error.UNSUPPORTED_CONTEXT
    assert error_of(master.ask(Type.TEST_SET, b"", b"")) == Error.NOT_WRITABLE
    nothing = pdu.write_oid((1, 3, 6, 1, 2, 1, 16)) + pdu.write_oid(())
    assert error_of(master.ask(Type.GET, b"", nothing)) == 0
    assert isinstance(master.finish(), SessionError)


def test_who_is_refused_says_why() -> None:
    master = Master(answers)
    master.agree(Error.OPEN_FAILED)
    assert "open failed" in str(master.finish())


@pytest.mark.parametrize("said", [bytes(20), b"\1" * 20])
def test_who_cannot_be_followed_is_left(said: bytes) -> None:
    master = Master(answers)
    master.heard()
    master.end.sendall(said)
    assert master.finish() is not None
