"""Numbered broadcast frames from every host, counted at every other: what a loop cannot hide from.

Once every `interval` each host sends the frame of that round.  At any time a frame may arrive at a
host once at most, and never at the host that sent it; when the network has converged, it arrives
exactly once.  The counters listen to one EtherType, so the kernel hands them nothing that the
host itself sends.
"""

from __future__ import annotations

import select
import socket
import struct
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence

from tests.support.background import Background, Closable
from tests.support.lab import Host, _in_namespace
from tests.support.waiting import during, wait_for

ETHERTYPE = 0x88B6  # for local experiments (IEEE 802), the lab's other frames have 0x88B5
STORM = 2_000
"""Surplus frames after which counting ends."""

_BODY = struct.Struct("!IHI")


class StormError(AssertionError):
    """Frames go round and round."""


class Census(Background):
    """Sends and counts from `start` to `stop`, phase by phase.

    surplus: what arrived too often, as (phase, sender, receiver, round).
    """

    def __init__(self, hosts: Sequence[Host], interval: float = 0.01) -> None:
        self.rounds = 0
        self.surplus: list[tuple[str, int, int, int]] = []
        self._hosts = hosts
        self._interval = interval
        self._tag = time.monotonic_ns() & 0xFFFFFFFF
        self._phases: list[tuple[int, str]] = [(0, "boot")]
        self._sockets = [_in_namespace(host.namespace, _socket) for host in hosts]
        self._absent: set[int] = set()
        self.sent: list[float] = []  # when, by round
        self._seen: dict[tuple[int, int], dict[int, float]] = defaultdict(dict)
        super().__init__(self._send, self._receive)

    def _to_close(self) -> Iterable[Closable]:
        return self._sockets

    def phase(self, name: str) -> None:
        """What is sent from now on belongs to that phase."""
        self._phases.append((self.rounds, name))

    def wait_whole(
        self,
        what: str,
        seconds: float = 30,
        rounds: int = 20,
        without: Sequence[Host] = (),
    ) -> float:
        """Wait until so many rounds running have reached every host once; how long that took.

        The time is from this call to the first of those rounds.  Hosts that are cut off do not
        count as missing frames, only as seeing too many.
        """
        self._absent = {host.number for host in without}
        start = first = bad = self.rounds
        for _ in during(seconds, self._interval):
            self.check()
            incomplete = self._last_incomplete(first, rounds)
            if incomplete is None:
                self._let_stragglers_arrive()
                return (first - start) * self._interval
            bad = incomplete
            first = max(bad + 1, self.rounds - rounds)  # keep up with the present
        lost = self.missing(bad)
        raise AssertionError(f"{what}: after {seconds:g} s frames are still lost: {lost}")

    def check(self) -> None:
        """AssertionError if anything has arrived too often so far."""
        if self.surplus:
            by_phase: dict[str, int] = defaultdict(int)
            for phase, *_ in self.surplus:
                by_phase[phase] += 1
            kind = StormError if len(self.surplus) >= STORM else AssertionError
            raise kind(
                f"frames that arrived too often, by phase: {dict(by_phase)};"
                f" the first (phase, sender, receiver, round): {self.surplus[:5]}"
            )

    def too_often(self, sender: int, receiver: int, number: int) -> None:
        """The frame of a round has come once more, or to its sender."""
        self.surplus.append((self._phase_of(number), sender, receiver, number))

    def missing(self, number: int) -> list[tuple[int, int]]:
        """Pairs (sender, receiver) between which the frame of that round has not arrived."""
        return [
            (one.number, other.number)
            for one in self._hosts
            for other in self._hosts
            if one is not other
            and not {one.number, other.number} & self._absent
            and number not in self._seen[one.number, other.number]
        ]

    def flights(self, rounds: range) -> list[float]:
        """How long each frame of these rounds took to each host that it has reached, in seconds."""
        rounds = range(rounds.start, min(rounds.stop, len(self.sent)))
        return [
            seen[number] - self.sent[number]
            for seen in self._seen.values()
            for number in rounds
            if number in seen
        ]

    def lost(self, sender: Host, receiver: Host, rounds: range) -> int:
        """How many of these rounds' frames of one host have not reached another."""
        seen = self._seen[sender.number, receiver.number]
        return sum(number not in seen for number in rounds)

    def _last_incomplete(self, first: int, rounds: int) -> int | None:
        """The last round of the window that has not reached everybody; None if all have."""
        if self.rounds < first + rounds:
            return first - 1
        window = range(first + rounds - 1, first - 1, -1)
        for _ in during(0.3, 0.01):
            if not any(map(self.missing, window)):
                break
        return next(filter(self.missing, window), None)

    def _let_stragglers_arrive(self) -> None:
        end = self.rounds + max(3, int(0.1 / self._interval))
        wait_for(lambda: self.rounds >= end, "more rounds", seconds=30)
        self.check()

    def _phase_of(self, number: int) -> str:
        return next(name for at, name in reversed(self._phases) if at <= number)

    def _send(self) -> None:
        begun = time.monotonic()
        while not self._stop.wait(
            max(0.0, begun + self.rounds * self._interval - time.monotonic())
        ):
            if len(self.surplus) >= STORM:
                continue
            for host, sock in zip(self._hosts, self._sockets, strict=True):
                head = b"\xff" * 6 + bytes.fromhex(host.mac.replace(":", ""))
                body = struct.pack("!H", ETHERTYPE) + _BODY.pack(
                    self._tag, host.number, self.rounds
                )
                sock.send((head + body).ljust(60, b"\0"))
            self.sent.append(time.monotonic())
            self.rounds += 1

    def _receive(self) -> None:
        poll = select.poll()
        receivers = {}
        for host, sock in zip(self._hosts, self._sockets, strict=True):
            poll.register(sock, select.POLLIN)
            receivers[sock.fileno()] = (host.number, sock)
        while not self._stop.is_set():
            for fd, _ in poll.poll(100):
                self._count(*receivers[fd])

    def _count(self, receiver: int, sock: socket.socket) -> None:
        for _ in range(200):
            try:
                data = sock.recv(64, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return
            tag, sender, number = _BODY.unpack_from(data, 14)
            if tag != self._tag:
                continue
            seen = self._seen[sender, receiver]
            if (number in seen or sender == receiver) and len(self.surplus) < STORM:
                self.too_often(sender, receiver, number)
            seen.setdefault(number, time.monotonic())


def _socket() -> socket.socket:
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE))
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    sock.bind(("eth0", ETHERTYPE))
    return sock
