"""Received traffic: frames counted by the kernel, and probes with its time stamps.

A counter is a packet socket with next to no room: the kernel counts every frame of the protocol,
does not copy those that do not fit, and tells the sum.  Unlike an interface's counters that leaves
out BPDUs and queries, of which a bridge may send some meanwhile.
"""

from __future__ import annotations

import ctypes
import socket
import struct
import time
from dataclasses import dataclass

from ofapp.bench import BenchError
from ofapp.bench.frames import HEADERS, PROBE_PORT
from ofapp.bench.spaces import inside

ETH_P_IP = 0x0800
_SOL_PACKET, _PACKET_STATISTICS = 263, 6
_SO_TIMESTAMPNS, _SO_TIMESTAMPING, _SO_RCVBUFFORCE, _SO_ATTACH_FILTER = 35, 37, 33, 26
_TX_SOFTWARE, _REPORT_SOFTWARE = 1 << 1, 1 << 4
_MSG_ERRQUEUE = 0x2000
_TIMESPEC = struct.Struct("@qq")
_NUMBER = struct.Struct("!4sI")
_MARK = b"ofap"
_PATIENCE, _STILL = 1.0, 0.02


def _listener(namespace: str | None, interface: str) -> socket.socket:
    with inside(namespace):
        sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        sock.bind((interface, ETH_P_IP))
    return sock


class Counter:
    """Counts the IPv4 frames that come in by an interface."""

    def __init__(self, namespace: str | None, interface: str) -> None:
        self._socket = _listener(namespace, interface)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 0)
        self._total = 0

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def now(self) -> int:
        """All frames so far, what this machine sends by it not included."""
        raw = self._socket.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8)
        self._total += int(struct.unpack("II", raw)[0])
        return self._total

    def settled(self) -> int:
        """All frames, once none has come for 20 ms, after a second at the latest."""
        deadline = time.monotonic() + _PATIENCE
        count, since = self.now(), time.monotonic()
        while time.monotonic() - since < _STILL and time.monotonic() < deadline:
            time.sleep(0.002)
            if (latest := self.now()) != count:
                count, since = latest, time.monotonic()
        return count


def probe(number: int) -> bytes:
    """The payload of a probe."""
    return _NUMBER.pack(_MARK, number)


@dataclass(frozen=True, slots=True)
class Delays:
    """Delays of received probes, ascending, microseconds; and the number sent."""

    microseconds: list[float]
    sent: int


class Prober:
    """Sends numbered probes from one end and stamps them as they leave and as they arrive.

    Both stamps are the kernel's, taken in the driver and at reception, so nothing here that waits
    for a processor is part of the delay.
    """

    def __init__(self, sender: tuple[str | None, str], receiver: tuple[str | None, str]) -> None:
        namespace, self._interface = sender
        with inside(namespace):
            self._out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            self._out.bind((self._interface, 0))
        self._out.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPING, _TX_SOFTWARE | _REPORT_SOFTWARE)
        self._in = _listener(*receiver)
        self._in.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        for sock in (self._out, self._in):
            sock.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, 32 << 20)
        _only_probes(self._in)
        self._sent = 0

    def close(self) -> None:
        """Close the sockets."""
        self._out.close()
        self._in.close()

    def send(self, frame: bytes) -> None:
        """Send a probe: a frame with the payload `probe(number)`."""
        self._out.send(frame)
        self._sent += 1

    def delays(self) -> Delays:
        """Return the delays since the last call.  BenchError without the driver's stamps."""
        left = dict(self._stamps(self._out, _MSG_ERRQUEUE))
        sent, self._sent = self._sent, 0
        if sent and not left:
            raise BenchError(
                f"latency: the driver of {self._interface} stamps no frames as they leave"
                " (see `ethtool -T`); leave out --test latency"
            )
        arrived = self._stamps(self._in, 0)
        return Delays(sorted((at - left[one]) / 1e3 for one, at in arrived if one in left), sent)

    @staticmethod
    def _stamps(sock: socket.socket, flags: int) -> list[tuple[int, int]]:
        """Number and nanoseconds of every probe that waits."""
        stamps: list[tuple[int, int]] = []
        while True:
            try:
                data, extra, _, _ = sock.recvmsg(256, 256, flags | socket.MSG_DONTWAIT)
            except BlockingIOError:
                return stamps
            kinds = (_SO_TIMESTAMPNS, _SO_TIMESTAMPING)
            stamp = next((value for _, kind, value in extra if kind in kinds), None)
            if stamp is None or data[HEADERS : HEADERS + 4] != _MARK:
                continue
            seconds, nanoseconds = _TIMESPEC.unpack_from(stamp)
            number = _NUMBER.unpack_from(data, HEADERS)[1]
            stamps.append((number, seconds * 1_000_000_000 + nanoseconds))


def _only_probes(sock: socket.socket) -> None:
    """A filter: what is not to the probes' port is neither copied nor stamped."""
    program = [
        (0x28, 0, 0, 36),  # ldh [36]: UDP's destination port
        (0x15, 0, 1, PROBE_PORT),  # jeq
        (0x06, 0, 0, 0x40000),
        (0x06, 0, 0, 0),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in program))
    header = struct.pack("HP", len(program), ctypes.addressof(code))
    sock.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, header)
