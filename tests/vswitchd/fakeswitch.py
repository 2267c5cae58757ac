"""A switch made of a raw socket: it says what no real one would."""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from types import TracebackType

VERSION = 4
HELLO, ERROR, ECHO_REQUEST, ECHO_REPLY, EXPERIMENTER = range(5)
FEATURES_REQUEST, FEATURES_REPLY = 5, 6
GET_CONFIG_REPLY = 8
PACKET_IN, FLOW_REMOVED, PORT_STATUS = 10, 11, 12
MULTIPART_REQUEST, MULTIPART_REPLY = 18, 19
BARRIER_REQUEST, BARRIER_REPLY = 20, 21
FLOW_STATS, PORT_DESC, METER_FEATURES = 1, 13, 11


def message(type_: int, body: bytes = b"", xid: int = 0, version: int = VERSION) -> bytes:
    """An OpenFlow message with a truthful length."""
    return struct.pack("!BBHI", version, type_, 8 + len(body), xid) + body


def port_desc(number: int, name: str) -> bytes:
    """One struct ofp_port, link up."""
    hw = b"\x02\x77" + number.to_bytes(4, "big")
    text = name.encode().ljust(16, b"\0")
    return struct.pack("!I4x6s2x16sIIIIIIII", number, hw, text, 0, 4, 0, 0, 0, 0, 0, 0)


class FakeSwitch:
    """A connection to the controller that can play the handshake and then misbehave."""

    def __init__(self, port: int) -> None:
        self._sock = socket.create_connection(("127.0.0.1", port), timeout=5)
        self._rest = b""

    def __enter__(self) -> FakeSwitch:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._sock.close()

    def send(self, data: bytes) -> None:
        """Send bytes as they are; a controller that has hung up is no error."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._sock.sendall(data)

    def receive(self, seconds: float = 5.0) -> tuple[int, int, bytes] | None:
        """(type, xid, body) of the next message, None at the end or after *seconds*."""
        self._sock.settimeout(seconds)
        while True:
            if len(self._rest) >= 8:
                _, type_, length, xid = struct.unpack_from("!BBHI", self._rest)
                if len(self._rest) >= length:
                    body = self._rest[8:length]
                    self._rest = self._rest[length:]
                    return type_, xid, body
            try:
                data = self._sock.recv(65536)
            except (TimeoutError, ConnectionResetError):
                return None
            if not data:
                return None
            self._rest += data

    def hung_up(self, seconds: float = 5.0) -> bool:
        """True if the controller closes the connection within *seconds*."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self._sock.settimeout(left)
            try:
                if not self._sock.recv(65536):
                    return True
            except TimeoutError:
                return False
            except ConnectionResetError:
                return True
        return False

    def handshake(self, dpid: int) -> None:
        """HELLO, FEATURES and the port list of one port, then all requests until a lull."""
        self.send(message(HELLO))
        described = False
        while not described:
            got = self.receive()
            assert got is not None, "the controller hung up in the handshake"
            type_, xid, body = got
            described = type_ == MULTIPART_REQUEST and body[:2] == struct.pack("!H", PORT_DESC)
            self.answer(type_, xid, body, dpid)

    def answer(self, type_: int, xid: int, body: bytes, dpid: int) -> None:
        """Answer one request as a well-behaved, empty switch does."""
        if type_ == FEATURES_REQUEST:
            self.send(
                message(FEATURES_REPLY, struct.pack("!QIBBxxII", dpid, 0, 254, 0, 0x4F, 0), xid)
            )
        elif type_ == ECHO_REQUEST:
            self.send(message(ECHO_REPLY, body, xid))
        elif type_ == BARRIER_REQUEST:
            self.send(message(BARRIER_REPLY, b"", xid))
        elif type_ == MULTIPART_REQUEST:
            (kind,) = struct.unpack_from("!H", body)
            reply = struct.pack("!HH4x", kind, 0)
            if kind == PORT_DESC:
                reply += port_desc(1, "fake1")
            elif kind == METER_FEATURES:
                reply += struct.pack("!IIIBBxx", 1000, 2, 0xF, 1, 0)
            self.send(message(MULTIPART_REPLY, reply, xid))

    def serve(self, dpid: int, lull: float = 0.3) -> None:
        """Answer requests until none comes for *lull* seconds."""
        while (got := self.receive(lull)) is not None:
            self.answer(*got, dpid)
