"""Multicast streams between real hosts: sockets that join, senders, and everybody's ears.

Members are sockets of the hosts' own kernels, which speak IGMP and MLD for them.  What arrives
is counted on the wire of every host, members or not, by AF_PACKET.
"""

from __future__ import annotations

import select
import socket
import struct
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from ipaddress import ip_address

from tests.support.background import Background, Closable
from tests.support.lab import Host, _in_namespace
from tests.support.waiting import during, wait_for

PORT = 5000
MCAST_BLOCK_SOURCE, MCAST_JOIN_SOURCE_GROUP = 43, 46  # linux/in.h
Stream = tuple[Host, str]
"""The sender and the group."""

_HEAD = struct.Struct("!4sIQ")


def sysctl(host: Host, name: str, value: int) -> None:
    """Set a value of eth0: `ipv4/conf/{}/force_igmp_version`, say."""
    host.run("sh", "-c", f"echo {value} > /proc/sys/net/{name.format('eth0')}")


def _family(address: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def _level(address: str) -> int:
    return socket.IPPROTO_IPV6 if ":" in address else socket.IPPROTO_IP


class Member:
    """A socket of a host that joins a group; leaves when closed.

    source: only from there (MCAST_JOIN_SOURCE_GROUP); without: not from there.
    """

    def __init__(
        self, host: Host, group: str, *, source: str | None = None, without: str | None = None
    ) -> None:
        self.host, self.group = host, group
        self._index = 0
        self._socket = _in_namespace(host.namespace, self._open)
        if source is not None:
            self._with_source(MCAST_JOIN_SOURCE_GROUP, source)
            return
        octets = ip_address(group).packed
        if len(octets) == 4:
            request = octets + struct.pack("=4xi", self._index)
            self._socket.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, request)
        else:
            request = octets + struct.pack("=i", self._index)
            self._socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, request)
        if without is not None:
            self._with_source(MCAST_BLOCK_SOURCE, without)

    def leave(self) -> None:
        """Close the socket, which makes the kernel leave."""
        self._socket.close()

    def __enter__(self) -> Member:
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()

    def _open(self) -> socket.socket:
        self._index = socket.if_nametoindex("eth0")
        return socket.socket(_family(self.group), socket.SOCK_DGRAM)

    def _with_source(self, option: int, source: str) -> None:
        """struct group_source_req: the interface, and two sockaddr_storage."""
        request = struct.pack("=I4x", self._index) + _sockaddr(self.group) + _sockaddr(source)
        self._socket.setsockopt(_level(self.group), option, request)


def _sockaddr(address: str) -> bytes:
    octets = ip_address(address).packed
    if len(octets) == 4:
        body = struct.pack("=HH", socket.AF_INET, 0) + octets
    else:
        body = struct.pack("=HHI", socket.AF_INET6, 0, 0) + octets
    return body.ljust(128, b"\0")


class Streams(Background):
    """Streams among hosts while it is open: who sends what, and what each host hears.

    A stream goes by (sender, group).  `heard[host number][stream]`: numbers of the frames.
    """

    def __init__(self, hosts: Sequence[Host], rate: int = 200) -> None:
        self.sent: dict[Stream, int] = {}
        self.heard: dict[int, dict[Stream, dict[int, int]]] = {
            host.number: defaultdict(lambda: defaultdict(int)) for host in hosts
        }
        self._hosts = {host.number: host for host in hosts}
        self._rate = rate
        self._tag = struct.pack("!I", time.monotonic_ns() & 0xFFFFFFFF)
        self._senders: dict[Stream, socket.socket] = {}
        self._ears = {host.number: _in_namespace(host.namespace, _ear) for host in hosts}
        self._groups: dict[bytes, str] = {}
        super().__init__(self._send, self._listen)

    def _to_close(self) -> Iterable[Closable]:
        return *self._senders.values(), *self._ears.values()

    def start(self, sender: Host, group: str) -> Stream:
        """Let a host send to a group from now on."""
        key = sender, group
        self._groups[ip_address(group).packed] = group
        self.sent[key] = 0
        self._senders[key] = _in_namespace(sender.namespace, lambda: _sender(group))
        return key

    def more(self, stream: Stream, frames: int) -> int:
        """Wait until so many more are sent; how many there were before."""
        first = self.sent[stream]
        target = first + frames
        wait_for(lambda: self.sent[stream] >= target, f"{frames} more frames", seconds=30)
        return first

    def expect(self, stream: Stream, members: Collection[Host], frames: int = 30) -> None:
        """Of the next frames, members get every one once, and no other host any."""
        problem = self._next(stream, members, frames, patience=2)
        assert problem is None, problem

    def wait(self, stream: Stream, members: Collection[Host], seconds: float = 5) -> float:
        """Wait until exactly these hosts get the stream, and go on to.  How long it took.

        Counted are frames, so the time is one of the wire and not of the test's own.
        """
        begun = self.sent[stream]
        deadline = time.monotonic() + seconds
        while True:
            first = self.sent[stream]
            problem = self._next(stream, members, 6, patience=0.1)
            if problem is None:
                problem = self._next(stream, members, 30, patience=2)
            if problem is None:
                return (first - begun) / self._rate
            assert time.monotonic() < deadline, f"after {seconds} s {problem}"

    def _next(
        self, stream: Stream, members: Collection[Host], frames: int, patience: float
    ) -> str | None:
        """What is wrong with the next frames, if anything; `patience` for those on their way."""
        first = self.sent[stream] + 2  # what is on its way was sent before
        self.more(stream, frames + 2)
        numbers = range(first, first + frames)
        for _ in during(patience, 0.005):
            if not any(self.missing(stream, host, numbers) for host in members):
                break
        for host in members:
            if lost := len(self.missing(stream, host, numbers)):
                return f"host {host.number} lacks {lost} of {frames} frames of {stream[1]}"
        self.more(stream, 3)  # a copy that went astray comes no later than what was sent after it
        for number, heard in self.heard.items():
            copies = [heard[stream].get(frame, 0) for frame in numbers]
            if max(copies) > (self._hosts[number] in members):
                return f"host {number} gets too many frames of {stream[1]}: {sum(copies)}"
        return None

    def missing(self, stream: Stream, host: Host, numbers: range) -> list[int]:
        """Frames that a host has not got."""
        heard = self.heard[host.number][stream]
        return [number for number in numbers if number not in heard]

    def last(self, stream: Stream, host: Host) -> int:
        """The number of the last frame that a host got; -1 for none."""
        return max(self.heard[host.number][stream], default=-1)

    def _send(self) -> None:
        begun, ticks = time.monotonic(), 0
        while not self._stop.wait(max(0.0, begun + ticks / self._rate - time.monotonic())):
            for key, sock in list(self._senders.items()):
                host, group = key
                payload = _HEAD.pack(self._tag, host.number, self.sent[key])
                sock.sendto(payload, (group, PORT))
                self.sent[key] += 1
            ticks += 1

    def _listen(self) -> None:
        poll = select.poll()
        ears = {}
        for number, sock in self._ears.items():
            poll.register(sock, select.POLLIN)
            ears[sock.fileno()] = (number, sock)
        while not self._stop.is_set():
            for fd, _ in poll.poll(100):
                self._take(*ears[fd])

    def _take(self, number: int, sock: socket.socket) -> None:
        while True:
            try:
                data, address = sock.recvfrom(256, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return
            if address[2] == socket.PACKET_OUTGOING:
                continue
            at, group = (42, data[30:34]) if address[1] == 0x0800 else (62, data[38:54])
            if data[at : at + 4] != self._tag or len(data) < at + _HEAD.size:
                continue
            _, sender, frame = _HEAD.unpack_from(data, at)
            key = self._hosts[sender], self._groups[group]
            self.heard[number][key][frame] += 1


def _ear() -> socket.socket:
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003))
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    sock.bind(("eth0", 0x0003))
    return sock


def _sender(group: str) -> socket.socket:
    index = socket.if_nametoindex("eth0")
    sock = socket.socket(_family(group), socket.SOCK_DGRAM)
    if ":" in group:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 16)
    else:
        request = struct.pack("=4s4si", b"", b"", index)
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, request)
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 16)
    return sock
