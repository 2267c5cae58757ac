"""Switches that never stop: what one says again and again, by kind, and a process that says it.

A kind is a function that makes what to say next for one switch; it is asked for more whenever there
is room to send it.  Some kinds are answers without end, which begin when the controller asks.
"""

from __future__ import annotations

import gc
import itertools
import struct
import time
from collections.abc import Callable

from tests.bench import openflow as of
from tests.bench.fleet import Fleet, Member

LEARNED_XID = 0x0FA90000
"""As if a flow-mod for a learned address had been refused."""


class Hostile(Member):
    """A switch that shakes hands like any other, and then never stops."""

    endless = b""
    """The body of a part of an answer that it repeats for ever, once asked for `endless_kind`."""
    endless_kind = -1

    def answer(self, raw: bytes) -> bytes:
        """As any switch; but where an answer without end begins it does not end."""
        kind = int.from_bytes(raw[8:10], "big")
        if raw[1] == of.MULTIPART_REQUEST and kind == self.endless_kind:
            head = struct.pack("!HH4x", kind, 1)
            xid = int.from_bytes(raw[4:8], "big")
            part = of.message(of.MULTIPART_REPLY, xid, head + self.endless)
            self.spam = lambda: part * 4
            return b""
        return super().answer(raw)


def _port_status(reason: int, number: int, down: bool = False) -> bytes:
    desc = bytearray(of.port_desc(number))
    if down:
        desc[39] = 1  # state: OFPPS_LINK_DOWN
    return of.message(of.PORT_STATUS, 0, struct.pack("!B7x", reason) + bytes(desc))


def _ports(_switch: Hostile) -> Callable[[], bytes]:
    numbers = iter(range(100, 1 << 31))
    return lambda: b"".join(_port_status(0, next(numbers)) for _ in range(500))


def _thousand(switch: Hostile) -> Callable[[], bytes]:
    """All its ports go, one by one, and come back, again and again."""
    both = [_port_status(gone, number) for gone in (1, 0) for number in switch.ports]
    parts = itertools.cycle([b"".join(both[at : at + 100]) for at in range(0, len(both), 100)])
    return lambda: next(parts)


def _flaps(_switch: Hostile) -> Callable[[], bytes]:
    both = [_port_status(2, 1 + i % 8, down) for i in range(8) for down in (True, False)]
    return lambda: b"".join(both) * 40


def _errors(_switch: Hostile) -> Callable[[], bytes]:
    body = struct.pack("!HH", 5, 1) + bytes(64)
    mixed = of.message(of.ERROR, LEARNED_XID, body) + of.message(of.ERROR, 0x12345, body)
    return lambda: mixed * 300


def _removed(_switch: Hostile) -> Callable[[], bytes]:
    fields = of.match(of.oxm(0, bytes(4)), of.oxm(4, bytes(6)))
    head = struct.pack("!QHBBIIHHQQ", 0x0FA9800100000001, 200, 0, 40, 1, 0, 300, 0, 1, 1)
    return lambda: of.message(of.FLOW_REMOVED, 0, head + fields) * 500


def _sightings(switch: Hostile) -> Callable[[], bytes]:
    numbers = iter(range(0, 1 << 31, 500))
    return lambda: switch.sightings(next(numbers), 500)


def _bpdus(switch: Hostile) -> Callable[[], bytes]:
    flow = next(flow for flow in switch.flows() if flow.cookie >> 32 & 0xFF00 == 0x0600)
    head = b"\x01\x80\xc2\0\0\0\x0e\x66\0\0\0\1\0\x27\x42\x42\x03\0\0\x02\x02"

    def part() -> bytes:
        made = []
        for i in range(300):
            root = struct.pack("!H6s", 0x1000 + (i & 15) * 0x1000 & 0xF000, b"\x0e\x66\0\0\0\1")
            rest = struct.pack("!I8sHHHHHB", 0, root, 0x8001, 0, 20 << 8, 2 << 8, 15 << 8, 0)
            frame = head + bytes([0x3C | i & 1]) + root + rest
            fields = of.match(of.oxm(0, struct.pack("!I", 1 + i % 8)))
            made.append(of.packet_in(flow.cookie, 0, of.ACTION, fields, frame.ljust(60, b"\0")))
        return b"".join(made)

    return part


def _echo_requests(_switch: Hostile) -> Callable[[], bytes]:
    return lambda: of.message(of.ECHO_REQUEST, 7, bytes(56)) * 500


def _unasked(_switch: Hostile) -> Callable[[], bytes]:
    part = of.message(of.MULTIPART_REPLY, 99, struct.pack("!HH4x", of.MP_FLOW, 1) + _flow_stats())
    return lambda: part * 4


def _flow_stats() -> bytes:
    entry = struct.pack("!HBxIIHHHH4xQQQ", 56, 40, 1, 0, 200, 0, 0, 0, 0x0FA9800100000001, 1, 1)
    return (entry + of.match()) * 1000


KINDS: dict[str, Callable[[Hostile], Callable[[], bytes]]] = {
    "ports": _ports,
    "thousand": _thousand,
    "flaps": _flaps,
    "errors": _errors,
    "removed": _removed,
    "sightings": _sightings,
    "bpdus": _bpdus,
    "echoes": _echo_requests,
    "unasked": _unasked,
}
PORTS = {"thousand": 1000}
"""How many a switch of this kind has, if not eight."""
ENDLESS = {
    "flow-replies": (of.MP_FLOW, _flow_stats()),
    "port-replies": (of.MP_PORT_DESC, b"".join(of.port_desc(n) for n in range(200, 1200))),
}


def be_hostile(port: int, kind: str, start: float, seconds: float) -> None:
    """A separate process."""
    gc.disable()
    if kind in ENDLESS:
        time.sleep(max(0.0, start - time.monotonic()))
        while time.monotonic() < start + seconds:
            _answer_without_end(port, kind, start + seconds - time.monotonic())
        return
    fleet = Fleet()
    switch = Hostile(port, 0xBAD, PORTS.get(kind, 8))
    fleet.add(switch)
    fleet.run(max(0.0, start - time.monotonic()))
    switch.spam = KINDS[kind](switch)
    fleet.run(seconds)
    fleet.close()


def _answer_without_end(port: int, kind: str, seconds: float) -> None:
    """Until it is hung up on."""
    fleet = Fleet()
    switch = Hostile(port, 0xBAD)
    switch.endless_kind, switch.endless = ENDLESS[kind]
    fleet.add(switch)
    fleet.run(seconds, lambda: switch.closed)
    fleet.close()
