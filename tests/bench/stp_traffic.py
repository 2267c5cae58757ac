"""Streams through a network that changes, and BPDUs on a wire, with the kernel's time stamps.

Run as a program it is a sender, so that nothing the measuring process does disturbs its pace:

    python stp_traffic.py INTERFACE stream DESTINATION SOURCE RATE
    python stp_traffic.py INTERFACE new-macs [RATE] | storm
"""

from __future__ import annotations

import itertools
import select
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

ETHERTYPE, NOT_COUNTED = 0x88B7, 0x88B5
ETH_P_802_2 = 0x0004
BPDU_GROUP = bytes.fromhex("0180c2000000")
_SO_TIMESTAMPNS = 35
_TIMESPEC = struct.Struct("@qq")
_BURST = 20_000


def stamped_socket(interface: str, protocol: int) -> socket.socket:
    """Incoming frames of one protocol, each with the time at which the kernel had it."""
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(protocol))
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
    sock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    sock.bind((interface, protocol))
    return sock


class Receiver:
    """Notes (when, frame) of everything that comes in, until closed."""

    def __init__(self, *sockets: socket.socket) -> None:
        self.frames: list[tuple[float, bytes, int]] = []
        self._sockets = sockets
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._thread.join()
        for sock in self._sockets:
            sock.close()

    def _run(self) -> None:
        poll = select.poll()
        by_fd = {}
        for number, sock in enumerate(self._sockets):
            poll.register(sock, select.POLLIN)
            by_fd[sock.fileno()] = (number, sock)
        while not self._stop.is_set():
            for fd, _ in poll.poll(50):
                number, sock = by_fd[fd]
                for _ in range(500):
                    try:
                        data, extra, _, address = sock.recvmsg(128, 64, socket.MSG_DONTWAIT)
                    except (BlockingIOError, OSError):
                        break
                    if address[2] == socket.PACKET_OUTGOING:
                        continue
                    seconds, nanoseconds = _TIMESPEC.unpack(extra[0][2][:16])
                    self.frames.append((seconds + nanoseconds / 1e9, data, number))


@dataclass(frozen=True)
class Gap:
    """What a change did to a stream: milliseconds without it, by the frames that are missing.

    lost: all missing frames; longest: those running; twice: duplicates; back: the seconds from the
    change to the last missing frame's time.
    """

    lost: int
    longest: int
    twice: int


class Stream:
    """Numbered frames from one namespace to another, a thousand a second."""

    def __init__(
        self, namespace: str, source: str, destination: str, sock: socket.socket, rate: int = 1000
    ) -> None:
        self.rate = rate
        self._receiver = Receiver(sock)
        self._sender = sender(namespace, "stream", destination, source, str(rate))

    def close(self) -> None:
        end(self._sender)
        self._receiver.close()

    def numbers(self, since: int = 0) -> list[int]:
        """The numbers of the frames that have come in, from the index `since` on."""
        return [
            struct.unpack_from("!I", data, 14)[0] for _, data, _ in self._receiver.frames[since:]
        ]

    def during(self, change: Callable[[], Any], settle: float) -> Gap:
        """Make a change, wait until `settle` seconds have been whole, and look back."""
        self._wait_steady(0.3)
        begin = len(self._receiver.frames) - 1
        change()
        self._wait_steady(settle)
        numbers = self.numbers(begin)
        return judge(numbers)

    def _wait_steady(self, seconds: float, patience: float = 60) -> None:
        """Until the last `seconds` are whole, which a stream that is cut off never is."""
        deadline = time.monotonic() + patience
        want = int(seconds * self.rate)
        start = len(self._receiver.frames)
        while time.monotonic() < deadline:
            time.sleep(0.05)
            if len(self._receiver.frames) - start < want:
                continue
            last = self.numbers(len(self._receiver.frames) - want)
            if max(last) - min(last) < want * 1.02:
                return
        raise RuntimeError("the stream does not come back")


def judge(numbers: list[int]) -> Gap:
    """The gap in what arrived."""
    seen = sorted(set(numbers))
    holes = [after - before - 1 for before, after in itertools.pairwise(seen)]
    return Gap(sum(holes), max(holes, default=0), len(numbers) - len(seen))


def sender(namespace: str, *what: str) -> subprocess.Popen[bytes]:
    """A sending process in a namespace, on its eth0."""
    command = ["ip", "netns", "exec", namespace, sys.executable, __file__, "eth0", *what]
    return subprocess.Popen(command, stdin=subprocess.PIPE)


def end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def is_hello(frame: bytes) -> bool:
    """A Configuration or RST BPDU, not a TCN."""
    return frame[:6] == BPDU_GROUP and frame[14:17] == b"\x42\x42\x03" and frame[20] in (0, 2)


# --- the sending processes ---------------------------------------------------------------------


def _stream(sock: socket.socket, destination: str, source: str, rate: str) -> None:
    head = bytes.fromhex((destination + source).replace(":", "")) + struct.pack("!H", ETHERTYPE)
    interval, begun, number = 1 / int(rate), time.monotonic(), 0
    while True:
        ahead = begun + number * interval - time.monotonic()
        if ahead > 0:
            time.sleep(ahead)
        sock.send((head + struct.pack("!I", number)).ljust(60, b"\0"))
        number += 1


def _new_macs(sock: socket.socket, rate: str = "") -> None:
    body = struct.pack("!H", NOT_COUNTED).ljust(48, b"\0")
    if rate:
        _paced(sock, body, int(rate))
    number = 0
    while True:
        burst = [
            b"\x02\x0a\x00\x00\x00\x02" + b"\x02\xee" + struct.pack("!I", n) + body
            for n in range(number, number + _BURST)
        ]
        number += _BURST
        for frame in burst:
            _send(sock, frame)


def _paced(sock: socket.socket, body: bytes, rate: int) -> None:
    begun = time.monotonic()
    for number in itertools.count():
        if (ahead := begun + number / rate - time.monotonic()) > 0:
            time.sleep(ahead)
        source = b"\x02\xee" + struct.pack("!I", number)
        _send(sock, b"\x02\x0a\x00\x00\x00\x02" + source + body)


def _storm(sock: socket.socket) -> None:
    source = bytes.fromhex("020a00000001")
    frame = b"\xff" * 6 + source + struct.pack("!H", ETHERTYPE).ljust(48, b"\0")
    while True:
        _send(sock, frame)


def _send(sock: socket.socket, frame: bytes) -> None:
    try:
        sock.send(frame)
    except OSError:  # the queue is full
        time.sleep(0)


def _main() -> None:
    interface, what, *rest = sys.argv[1:]
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    sock.bind((interface, 0))
    {"stream": _stream, "new-macs": _new_macs, "storm": _storm}[what](sock, *rest)


if __name__ == "__main__":
    _main()
