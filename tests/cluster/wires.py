"""Networks of a cluster's site: a namespace each for who is on them, so that any can be cut off.

Three of them, as one would have them: by `sw` members reach switches, by `et` they reach etcd, and
by `mm` each other.  Each is a bridge of Linux in its own namespace.  To cut a machine off is to
take its cable out of the bridge: no end is notified, frames just do not arrive any more.
"""

from __future__ import annotations

import collections
import itertools
import os
import socket
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from tests.support.background import Background, Closable
from tests.support.lab import _in_namespace, sh

NETS = {"sw": "10.64.0", "et": "10.65.0", "mm": "10.66.0"}
_made = itertools.count(1)


class Wires:
    """The networks, and the namespaces on them."""

    def __init__(self) -> None:
        self.tag = f"oc{os.getpid() % 65536:04x}{next(_made)}"
        self._hub = f"{self.tag}hub"
        self._spaces = [self._hub]
        self._ends: dict[tuple[str, str], str] = {}  # (namespace, network) -> the hub's end
        sh("ip", "netns", "add", self._hub)
        for net in NETS:
            self._in_hub("ip", "link", "add", net, "type", "bridge", "forward_delay", 0)
            self._in_hub("ip", "link", "set", net, "up")

    def space(self, name: str) -> str:
        """A new namespace."""
        space = f"{self.tag}{name}"
        sh("ip", "netns", "add", space)
        self._spaces.append(space)
        sh("ip", "-n", space, "link", "set", "lo", "up")
        return space

    def attach(self, space: str, net: str, host: int) -> str:
        """Put a namespace on a network; gives its address there."""
        end = f"{net}{len(self._ends)}"
        self._ends[space, net] = end
        self._in_hub(
            *("ip", "link", "add", end, "up", "master", net, "type", "veth"),
            *("peer", "name", net, "netns", space),
        )
        address = f"{NETS[net]}.{host}"
        sh("ip", "-n", space, "addr", "add", f"{address}/24", "dev", net)
        sh("ip", "-n", space, "link", "set", net, "up")
        # No device fills in checksums on the way.
        sh("ip", "netns", "exec", space, "ethtool", "-K", net, "tx", "off")
        return address

    def cut(self, space: str, *nets: str) -> None:
        """From now on nothing passes between a namespace and these networks."""
        for net in nets:
            self._in_hub("ip", "link", "set", self._ends[space, net], "nomaster")

    def heal(self, space: str, *nets: str) -> None:
        """Put it back."""
        for net in nets:
            self._in_hub("ip", "link", "set", self._ends[space, net], "master", net)

    @contextmanager
    def delayed(self, space: str, net: str, seconds: float) -> Iterator[None]:
        """What passes between a namespace and that network takes so long, each way."""
        end, near, far = self._ends[space, net], f"{net}near", f"{net}far"
        self._in_hub("ip", "link", "add", near, "up", "type", "veth", "peer", "name", far)
        try:
            self._in_hub("ip", "link", "set", far, "up", "master", net)
            self._in_hub("ip", "link", "set", end, "nomaster")
            with _in_namespace(self._hub, lambda: Delay(end, near, seconds)):
                yield
        finally:
            self._in_hub("ip", "link", "set", end, "master", net)
            self._in_hub("ip", "link", "del", near)

    def close(self) -> None:
        """Remove the namespaces, as far as they are there."""
        for space in self._spaces:
            sh("ip", "netns", "del", space, check=False)

    def _in_hub(self, *command: object) -> None:
        sh("ip", "netns", "exec", self._hub, *command)


class Delay(Background):
    """Passes frames between two interfaces of this namespace, each so many seconds later."""

    def __init__(self, one: str, other: str, seconds: float) -> None:
        self._seconds = seconds
        self._sockets = [_raw(one), _raw(other)]
        super().__init__(self._pass)

    def _to_close(self) -> Iterable[Closable]:
        return self._sockets

    def _pass(self) -> None:
        waiting: collections.deque[tuple[float, socket.socket, bytes]] = collections.deque()
        ways = list(zip(self._sockets, reversed(self._sockets), strict=True))
        while not self._stop.wait(0.005):
            now = time.monotonic()
            for come, go in ways:
                waiting.extend((now + self._seconds, go, frame) for frame in _arrived(come))
            while waiting and waiting[0][0] <= now:
                _, go, frame = waiting.popleft()
                go.send(frame)


def _raw(interface: str) -> socket.socket:
    made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003))
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    made.bind((interface, 0))
    return made


def _arrived(come: socket.socket) -> Iterator[bytes]:
    while True:
        try:
            data, address = come.recvfrom(65536, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        if address[2] != socket.PACKET_OUTGOING:
            yield data
