"""Received frames with the kernel's time stamps, and hellos of spanning tree among them."""

from __future__ import annotations

import select
import socket
import struct
import threading
from collections.abc import Iterator

ETH_P_802_2 = 0x0004
_BPDU_GROUP = bytes.fromhex("0180c2000000")
_SO_TIMESTAMPNS = 35
_TIMESPEC = struct.Struct("@qq")


def stamped_socket(interface: str, protocol: int) -> socket.socket:
    """A socket for incoming frames of one protocol, each with the time when the kernel had it."""
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(protocol))
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
    sock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    sock.bind((interface, protocol))
    return sock


def waiting(sock: socket.socket) -> Iterator[tuple[float, bytes]]:
    """Seconds and octets of each frame that waits in the socket, some hundred at most."""
    for _ in range(500):
        try:
            data, extra, _, address = sock.recvmsg(128, 64, socket.MSG_DONTWAIT)
        except OSError:
            return
        if address[2] != socket.PACKET_OUTGOING:
            seconds, nanoseconds = _TIMESPEC.unpack(extra[0][2][:16])
            yield seconds + nanoseconds / 1e9, data


class Receiver:
    """Records (seconds, frame, number of the socket) of every frame that comes in, until closed."""

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
                self.frames += [(when, data, number) for when, data in waiting(sock)]


def is_hello(frame: bytes) -> bool:
    """Whether the frame is a Configuration BPDU or an RST BPDU, and not a TCN BPDU."""
    return frame[:6] == _BPDU_GROUP and frame[14:17] == b"\x42\x42\x03" and frame[20] in (0, 2)
