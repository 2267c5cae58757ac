"""Many emulated switches on one thread, which note when the controller's hellos and echoes come.

`switch.py` is made to measure how fast one switch is served; here it matters how late any of many
is, while some of them send without end.  So this is an epoll loop in Python: a storm is bytes that
are made beforehand and are only written.

A hello is a BPDU in a packet-out.  It is late by what its interval is longer than the hello time.
An echo that is never answered counts with the time it has waited.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import struct
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

from tests.bench import openflow as of
from tests.bench.model import Model

HELLO_TIME = 2.0
ECHO_EVERY = 0.05
WINDOW = 1_000
"""Hosts of a switch that are unanswered while it is taught."""
AGAIN = 0.5
"""Seconds without a host that was learned, after which those that are not speak again."""
PARTS = 16
"""Parts of a storm that one switch sends in a row."""

_BPDU = b"\x01\x80\xc2\0\0\0"
_LEARNED = b"\x0f\xa9\x80"  # how the cookies of learned addresses begin
_ETH_SRC = of.oxm(4, bytes(6))[:4]
_SOURCE_TABLE = 40
_BUNDLED = struct.pack("!II", of.ONF, 2301)  # a message that is carried out with others
_READ = 1 << 18
_FLOW_REMOVED = struct.Struct("!8sHBBIIHHQQ")


class Member(Model):
    """One switch of a fleet."""

    def __init__(self, port: int, dpid: int, ports: int = 8, source: str = "127.0.0.1") -> None:
        super().__init__(dpid, ports)
        self.closed = False
        self.echoing = False
        self.hellos: dict[int, list[float]] = defaultdict(list)
        """When hellos came, by port."""
        self.round_trips: list[float] = []
        self.in_line: float | None = None
        """When learned addresses were asked for, which is the end of a look."""
        self.learned: list[tuple[bytes, bytes]] = []
        """(cookie, padded match) of the source halves installed."""
        self.spam: Callable[[], bytes] | None = None
        """Makes the next part of a storm whenever there is room to send it."""
        self._asked: dict[int, float] = {}
        self._echo_at = 0.0
        self._echoes = 0
        self._out = bytearray()
        self._rest = b""
        self.socket = socket.create_connection(("127.0.0.1", port), 60, (source, 0))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)
        self.send(of.message(of.HELLO, 1, struct.pack("!HHI", 1, 8, 1 << 4)))

    @property
    def unsent(self) -> int:
        """Bytes that wait for the controller."""
        return len(self._out)

    def send(self, data: bytes) -> None:
        """Say something, as soon as there is room."""
        self._out += data

    def write(self) -> None:
        """What can be written is; or as much as leaves others of the fleet their turn."""
        for _ in range(PARTS):
            if self.closed:
                return
            if not self._out and self.spam is not None:
                self._out += self.spam()
            if not self._out:
                return
            try:
                sent = self.socket.send(memoryview(self._out)[: 1 << 20])
            except BlockingIOError:
                return
            except OSError:
                self.closed = True
                return
            del self._out[:sent]

    def read(self) -> None:
        """What has come is answered."""
        try:
            data = self.socket.recv(_READ)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.closed = True
            return
        now = time.monotonic()
        data = self._rest + data if self._rest else data
        at, end = 0, len(data)
        while end - at >= 8:
            length = int.from_bytes(data[at + 2 : at + 4], "big")
            if end - at < length:
                break
            self._heard(data, at, length, now)
            at += length
        self._rest = data[at:]

    def tick(self, now: float) -> None:
        """Ask for an echo, when one is due."""
        if self.echoing and now >= self._echo_at:
            self._echo_at = now + ECHO_EVERY
            self._echoes += 1
            self._asked[self._echoes] = now
            self.send(of.message(of.ECHO_REQUEST, self._echoes))

    def echoes(self) -> list[float]:
        """Round trips so far, in seconds."""
        now = time.monotonic()
        return self.round_trips + [now - asked for asked in self._asked.values()]

    def forget(self) -> None:
        """A measurement begins: what came before does not count, but for each port's last hello."""
        self.round_trips.clear()
        self._asked.clear()
        for times in self.hellos.values():
            del times[:-1]

    def hello_delays(self, until: float) -> Iterator[float]:
        """How late each hello came, in seconds; one that is still awaited counts until then."""
        for times in self.hellos.values():
            for before, after in zip(times, [*times[1:], until], strict=True):
                yield max(0.0, after - before - HELLO_TIME)

    def removals(self, most: int | None = None) -> bytes:
        """Notices that what it learned first has aged out, or all, as Open vSwitch words them."""
        messages = []
        for cookie, fields in self.learned[:most]:
            body = _FLOW_REMOVED.pack(cookie, 200, 0, _SOURCE_TABLE, 300, 0, 300, 0, 9, 999)
            messages.append(of.message(of.FLOW_REMOVED, 0, body + fields))
        del self.learned[:most]
        return b"".join(messages)

    def missing(self, hosts: int) -> list[int]:
        """Which of its first hosts are not learned."""
        at = (fields.index(_ETH_SRC) + 6 for _, fields in self.learned)
        known = {
            int.from_bytes(fields[begin : begin + 4], "big")
            for begin, (_, fields) in zip(at, self.learned, strict=True)
        }
        return [host for host in range(hosts) if host not in known]

    def sightings(self, first: int, count: int) -> bytes:
        """Packet-ins of so many hosts from that one on, spread over its ports."""
        return self.sightings_of(range(first, first + count))

    def sightings_of(self, hosts: Iterable[int]) -> bytes:
        """The same of any hosts."""
        flow = next(
            flow
            for port in self.ports
            if (flow := self.miss_flow(port)) is not None and of.to_controller(flow) is not None
        )
        copy = of.to_controller(flow)
        assert copy is not None
        messages = []
        for host in hosts:
            port = self.ports[host % len(self.ports)]
            fields = of.match(of.oxm(0, struct.pack("!I", port)))
            mac = b"\x02" + (self.dpid & 0xFF).to_bytes(1, "big") + host.to_bytes(4, "big")
            frame = _BROADCAST + mac + b"\x08\x06" + bytes(50)
            messages.append(of.packet_in(flow.cookie, flow.table, copy.reason, fields, frame))
        return b"".join(messages)

    def _heard(self, data: bytes, at: int, length: int, now: float) -> None:
        kind = data[at + 1]
        if kind == of.FLOW_MOD:
            if data[at + 8 : at + 11] == _LEARNED:
                if data[at + 24] == _SOURCE_TABLE and data[at + 25] == of.ADD:
                    size = int.from_bytes(data[at + 50 : at + 52], "big") + 7 & ~7
                    self.learned.append((data[at + 8 : at + 16], data[at + 48 : at + 48 + size]))
            else:
                self.flow_mod(of.parse_flow_mod(data[at : at + length]))
        elif kind == of.PACKET_OUT:
            if data.find(_BPDU, at, at + length) >= 0:
                self.hellos[int.from_bytes(data[at + 28 : at + 32], "big")].append(now)
        elif kind == of.ECHO_REPLY:
            xid = int.from_bytes(data[at + 4 : at + 8], "big")
            asked = self._asked.pop(xid, None)
            if asked is not None:
                self.round_trips.append(now - asked)
        elif kind == of.ECHO_REQUEST:
            self.send(data[at : at + 1] + b"\3" + data[at + 2 : at + length])
        elif kind == of.BARRIER_REQUEST:
            self.send(data[at : at + 1] + b"\x15" + data[at + 2 : at + length])
        elif kind == of.EXPERIMENTER and data[at + 8 : at + 16] == _BUNDLED:
            self._heard(data, at + 24, int.from_bytes(data[at + 26 : at + 28], "big"), now)
        else:
            message = data[at : at + length]
            self.send(self.answer(message))
            if kind == of.MULTIPART_REQUEST and self.in_line is None and _asks_learned(message):
                self.in_line = now


_BROADCAST = b"\xff" * 6


def _asks_learned(request: bytes) -> bool:
    """Whether this asks for learned addresses: all else was looked at before."""
    return request[8:10] == b"\0\1" and request[32:35] == _LEARNED


class Fleet:
    """Switches that are served together."""

    def __init__(self) -> None:
        self.members: list[Member] = []
        self._selector = selectors.EpollSelector()

    def add(self, member: Member) -> Member:
        """One more switch."""
        self.members.append(member)
        self._selector.register(member.socket, selectors.EVENT_READ, member)
        return member

    def dismiss(self, member: Member) -> None:
        """One switch less."""
        self.members.remove(member)
        with contextlib.suppress(KeyError):
            self._selector.unregister(member.socket)
        member.socket.close()

    def close(self) -> None:
        """Hang up."""
        self._selector.close()
        for member in self.members:
            member.socket.close()

    def run(self, seconds: float, until: Callable[[], bool] = lambda: False) -> bool:
        """Serve them all; gives whether `until` came true in that time."""
        deadline = time.monotonic() + seconds
        while not until():
            now = time.monotonic()
            if now >= deadline:
                return False
            for member in self.members:
                if not member.closed:
                    member.tick(now)
                    member.write()
            for key, _events in self._selector.select(0.005):
                member = key.data
                member.read()
                if member.closed:
                    with contextlib.suppress(KeyError):
                        self._selector.unregister(member.socket)
        return True

    def teach(self, hosts: int, seconds: float, only: Sequence[Member] = ()) -> None:
        """Each switch has so many hosts, and the controller learns them; RuntimeError if not.

        only: these members; none = all.
        """
        sent = dict.fromkeys(only or self.members, 0)
        learned, since = 0, time.monotonic()

        def taught() -> bool:
            nonlocal learned, since
            before, learned = learned, sum(len(member.learned) for member in sent)
            if learned > before:
                since = time.monotonic()
            elif time.monotonic() > since + AGAIN:  # what waited for too long was dropped
                for member in sent:
                    member.send(member.sightings_of(member.missing(sent[member])[:WINDOW]))
                since = time.monotonic()
            for member in sent:
                ahead = sent[member] - len(member.learned)
                if sent[member] < hosts and ahead < WINDOW:
                    count = min(WINDOW, hosts - sent[member])
                    member.send(member.sightings(sent[member], count))
                    sent[member] += count
            return all(len(member.learned) >= hosts for member in sent)

        if not self.run(seconds, taught):
            least = min(len(member.learned) for member in sent)
            raise RuntimeError(f"{least} of {hosts} hosts were learned in {seconds:.0f} s")
