"""The generator: frames at an even pace or flat out, from one core, by sendmmsg.

Existing generators do one of both: trafgen's rate option sends bursts of milliseconds, which no
search for the highest rate without loss can use.  Spinning on the clock and handing the kernel up
to 8 frames a call paces within 0.1 % up to about 600,000 frames a second here, and sends 1.2
million flat out (trafgen 0.6).  The frames are laid out for the kernel beforehand, so Python does
the same for one address as for 100,000.
"""

from __future__ import annotations

import ctypes
import errno
import gc
import math
import os
import socket
import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ofapp.bench import BenchError
from ofapp.bench.spaces import inside

FLAT_OUT_BATCH = 32
FASTEST = 600_000
"""Frames a second: trials at higher rates are of no more frames than trials at this one."""
_RING = 1024
_MMSGHDR = struct.Struct("PIPNPNi4xI4x")
_IOVEC = struct.Struct("PN")
_BATCHES = ((100_000, 1), (200_000, 2), (450_000, 4))
_BUSY = (errno.ENOBUFS, errno.EAGAIN)
_libc = ctypes.CDLL(None, use_errno=True)
_libc.sendmmsg.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_uint, ctypes.c_int]


@dataclass(frozen=True, slots=True)
class Sent:
    """Number of frames sent, and the duration in seconds."""

    frames: int
    seconds: float

    @property
    def rate(self) -> float:
        """Frames a second."""
        return self.frames / self.seconds if self.seconds else 0.0


@dataclass(frozen=True, slots=True)
class Among:
    """Frames of another kind to send evenly among the others, and what sends one."""

    send: Callable[[bytes], None]
    frames: Sequence[bytes]


def batch(rate: float) -> int:
    """Frames a system call: as few as keep up with the rate, as these leave back to back."""
    return next((size for limit, size in _BATCHES if rate <= limit), 8)


class Sender:
    """A raw socket on an interface, and the frames that it sends over and over."""

    def __init__(self, namespace: str | None, interface: str) -> None:
        with inside(namespace):
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            self._socket.bind((interface, 0))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
        self._keep: list[object] = []
        self._headers = 0
        self._length = 0
        self._next = 0

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def load(self, frames: Sequence[bytes]) -> None:
        """Set the frames to send, in this order and repeatedly; not empty."""
        octets = ctypes.create_string_buffer(b"".join(frames))
        at, vectors = ctypes.addressof(octets), bytearray()
        for frame in frames:
            vectors += _IOVEC.pack(at, len(frame))
            at += len(frame)
        vector_buffer = ctypes.create_string_buffer(bytes(vectors))
        first = ctypes.addressof(vector_buffer)
        whole = b"".join(
            _MMSGHDR.pack(0, 0, first + _IOVEC.size * number, 1, 0, 0, 0, 0)
            for number in range(len(frames))
        )
        turns = -(-_RING // len(frames))
        headers = ctypes.create_string_buffer(whole * turns)
        self._keep = [octets, vector_buffer, headers]
        self._headers, self._length = ctypes.addressof(headers), len(frames) * turns
        self._next = 0

    def flat_out(self, seconds: float) -> Sent:
        """Send at the highest rate."""
        clock = time.perf_counter_ns
        begun = clock()
        end, sent = begun + int(seconds * 1e9), 0
        with _undisturbed():
            while clock() < end:
                sent += self.some(FLAT_OUT_BATCH)
        return Sent(sent, (clock() - begun) / 1e9)

    def burst(self, frames: int) -> Sent:
        """So many as fast as they go."""
        clock = time.perf_counter_ns
        begun, sent = clock(), 0
        with _undisturbed():
            while sent < frames:
                sent += self.some(min(FLAT_OUT_BATCH, frames - sent))
        return Sent(sent, (clock() - begun) / 1e9)

    def paced(self, rate: float, frames: int, among: Among | None = None) -> Sent:
        """So many at `rate` a second, or slower where the machine does not keep up.

        Frames sent among them count, too.
        """
        clock, gap, most = time.perf_counter_ns, 1e9 / rate, batch(rate)
        number, step = 0, frames / len(among.frames) if among else math.inf
        begun, sent = clock(), 0
        with _undisturbed():
            while sent < frames:
                due = begun + int(sent * gap)
                while clock() < due:
                    pass
                sent += self.some(min(most, frames - sent))
                if among and sent >= (number + 1) * step:
                    among.send(among.frames[number])
                    number += 1
        return Sent(sent + number, (clock() - begun) / 1e9)

    def some(self, most: int) -> int:
        """Send up to `most` frames; how many went."""
        count = min(most, self._length - self._next)
        address = self._headers + _MMSGHDR.size * self._next
        sent = int(_libc.sendmmsg(self._socket.fileno(), address, count, 0))
        if sent < 0:
            number = ctypes.get_errno()
            if number not in _BUSY:
                raise BenchError(f"sending failed: {os.strerror(number)}")
            return 0
        self._next = (self._next + sent) % self._length
        return sent


def paced_both(one: Sender, other: Sender, rate: float, frames: int) -> Sent:
    """Send so many frames at `rate` a second, or slower, from both senders in turn."""
    clock, gap, most = time.perf_counter_ns, 1e9 / rate, batch(rate)
    begun, sent, turn = clock(), 0, (one, other)
    with _undisturbed():
        while sent < frames:
            due = begun + int(sent * gap)
            while clock() < due:
                pass
            sent += turn[0].some(min(most, frames - sent))
            turn = turn[::-1]
    return Sent(sent, (clock() - begun) / 1e9)


def sparse(among: Among, rate: float) -> Sent:
    """Send frames one by one at a low rate, the first after half an interval.

    The processor sleeps in between, as it does on a quiet network, and spins for the last
    millisecond.
    """
    begun = time.perf_counter()
    for number, frame in enumerate(among.frames):
        due = begun + (number + 0.5) / rate
        time.sleep(max(0.0, due - time.perf_counter() - 0.001))
        while time.perf_counter() < due:
            pass
        among.send(frame)
    return Sent(len(among.frames), max(time.perf_counter() - begun, len(among.frames) / rate))


class _undisturbed:  # noqa: N801
    """No garbage collection meanwhile: it takes milliseconds, which is a burst afterwards."""

    def __enter__(self) -> None:
        gc.disable()

    def __exit__(self, *_: object) -> None:
        gc.enable()
