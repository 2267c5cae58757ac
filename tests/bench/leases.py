"""DHCP through first-hop security: how long it holds an answer, and what bindings cost.

    tests/bench/run leases
    tests/bench/run leases --rate 1000 --seconds 10

Hosts on 32 ports of a userspace datapath get addresses from a server that answers at once, and each
sends a frame as soon as it has its ACK.  By turns with `trust: guest` and without: there the switch
forwards DHCP by itself.  The generator is one Python process and takes a core when it is fast.
"""

from __future__ import annotations

import argparse
import select
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from ipaddress import IPv4Address

from ofapp.bench.figures import percentile
from tests.bench.bridges import PLAIN, attach, own_switch
from tests.bench.table import head, row
from tests.support import dhcp_frames as dhcp
from tests.support.lab import _in_namespace
from tests.support.ownswitch import ControllerInside, OwnSwitch

PORTS = 32
DPIDS = {"open": 0xF2A, "guarded": 0xF2B}
SERVER = 0  # the number of the server's port
HELLO = 2.0
PATIENCE = 3.0  # seconds after the last exchange has begun
_BOOTP, _XID, _KIND = 42, 46, 284  # offsets in an untagged frame; option 53 comes first
_TO_PORT, _DISCARD = 36, b"\0\x09"  # UDP's destination port (RFC 863)
_RCVBUFFORCE = 33  # Linux's SO_RCVBUFFORCE
_BPDU = bytes.fromhex("0180c2000000")


@dataclass
class Turn:
    """Figures of one turn; times in seconds.

    held: from the server's ACK to the host; usable: from there until the host's frame arrives.
    """

    begun: int = 0
    held: list[float] = field(default_factory=list)
    usable: list[float] = field(default_factory=list)
    hellos: list[float] = field(default_factory=list)
    seconds: float = 0.0


class Hosts:
    """The far ends of a bridge's ports, as raw sockets in the switch's namespace."""

    def __init__(self, switch: OwnSwitch, bridge: str) -> None:
        self._sockets = []
        switch.vsctl("add-br", bridge, "--", "set", "Bridge", bridge, "datapath_type=netdev")
        for number in range(PORTS + 1):
            port, end = f"{bridge[:4]}p{number}", f"{bridge[:4]}e{number}"
            switch.inside("ip", "link", "add", port, "up", "type", "veth", "peer", "name", end)
            switch.inside("ip", "link", "set", end, "up")
            switch.vsctl("add-port", bridge, port)
            self._sockets.append(_in_namespace(switch.namespace, lambda end=end: _open(end)))
        self._poll = select.epoll()
        self._numbers = {each.fileno(): number for number, each in enumerate(self._sockets)}
        for each in self._sockets:
            self._poll.register(each.fileno(), select.EPOLLIN)

    def send(self, number: int, frame: bytes) -> None:
        """Send a frame into a port."""
        self._sockets[number].send(frame)

    def received(self, seconds: float) -> Iterator[tuple[int, bytes]]:
        """Frames that have arrived, with their ports' numbers; waits for the first."""
        for fileno, _ in self._poll.poll(seconds):
            number = self._numbers[fileno]
            try:
                while True:
                    yield number, self._sockets[number].recv(2048, socket.MSG_DONTWAIT)
            except BlockingIOError:
                pass

    def close(self) -> None:
        """Close the sockets."""
        self._poll.close()
        for each in self._sockets:
            each.close()


def _open(interface: str) -> socket.socket:
    made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    made.setsockopt(socket.SOL_SOCKET, _RCVBUFFORCE, 8 << 20)
    made.bind((interface, 0))
    return made


def exchange(hosts: Hosts, rate: float, seconds: float, first: int) -> Turn:
    """Begin exchanges at a rate, in turn on all ports; first: number of the first host."""
    turn, sent, acked = Turn(), dict[int, float](), dict[int, float]()
    begun, last_hello, ended = time.monotonic(), 0.0, float("inf")
    while time.monotonic() < ended:
        now = time.monotonic()
        wanted = min(int((now - begun) * rate), int(rate * seconds))
        while turn.begun < wanted:
            number = first + turn.begun
            hosts.send(1 + number % PORTS, dhcp.discover(_mac(number), xid=number))
            turn.begun += 1
        if wanted >= int(rate * seconds) and ended == float("inf"):
            ended = now + PATIENCE
        if len(turn.usable) == int(rate * seconds):
            break
        for port, frame in hosts.received(0.001):
            now = time.monotonic()
            if frame[:6] == _BPDU:
                if port == SERVER:
                    if last_hello:
                        turn.hellos.append(now - last_hello)
                    last_hello = now
            elif frame[12:14] == b"\x08\x00" and frame[_TO_PORT : _TO_PORT + 2] == _DISCARD:
                number = int.from_bytes(frame[_BOOTP : _BOOTP + 4], "big")
                if port == SERVER and number in acked:
                    turn.usable.append(now - acked.pop(number))
            elif frame[12:14] == b"\x08\x00" and len(frame) > _KIND:
                _answer(hosts, port, frame, sent, acked, turn)
    turn.seconds = time.monotonic() - begun
    return turn


def _answer(
    hosts: Hosts,
    port: int,
    frame: bytes,
    sent: dict[int, float],
    acked: dict[int, float],
    turn: Turn,
) -> None:
    number = int.from_bytes(frame[_XID : _XID + 4], "big")
    mac, address, kind = _mac(number), _address(number), frame[_KIND]
    if port == SERVER and frame[_BOOTP] == 1:
        if kind == dhcp.REQUEST:
            sent[number] = time.monotonic()
        answer = dhcp.ack if kind == dhcp.REQUEST else dhcp.offer
        hosts.send(SERVER, answer(mac, address, xid=number))
    elif port == 1 + number % PORTS and frame[_BOOTP] == 2:
        if kind == dhcp.OFFER:
            hosts.send(port, dhcp.request(mac, address, xid=number))
        elif number in sent:
            acked[number] = now = time.monotonic()
            turn.held.append(now - sent.pop(number))
            data = dhcp.udp(address, "10.0.0.1", (9, 9), number.to_bytes(4, "big"))
            frame = dhcp.ethernet(mac, dhcp.SERVER, 0x0800, dhcp.ipv4(address, "10.0.0.1", data))
            hosts.send(port, frame)


def _mac(number: int) -> int:
    return 0x0200_0000_0000 | number


def _address(number: int) -> str:
    return str(IPv4Address(0x0A01_0000 + number))


def file() -> str:
    """The configuration: guests do not get each other's broadcasts."""
    guests = {"trust": "guest", "bcast_flood": False, "storm": {}}
    guests |= {"first_hop": {"max_bindings": 65536}}
    bridge = {"first_hop": {"max_bindings": 65536}}
    ports = {"guarp*": guests, "openp*": {"bcast_flood": False, "stp": {"admin_edge": True}}}
    server = {"trust": "uplink", "bcast_flood": True, "stp": {"admin_edge": True}}
    ports |= {f"{name}p{SERVER}": server for name in ("guar", "open")}
    defaults = {"ports": ports, "stp": {"enabled": True}, "packet_in_rate": 100_000, **bridge}
    return repr({"defaults": defaults})


def line(name: str, turn: Turn) -> str:
    """A line of the table."""
    late = 1000 * max((gap - HELLO for gap in turn.hellos), default=0.0)
    shares = [(values, part) for values in (turn.held, turn.usable) for part in (0.5, 0.99)]
    figures = [f"{1000 * percentile(values, part):.2f}" for values, part in shares]
    acks, lost = len(turn.held), len(turn.held) - len(turn.usable)
    return row(name, turn.begun, acks, f"{acks / turn.seconds:.0f}", *figures, lost, f"{late:.0f}")


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, default=100.0, help="exchanges a second")
    parser.add_argument("--seconds", type=float, default=10.0, help="of a turn")
    parser.add_argument("--turns", type=int, default=3)
    args = parser.parse_args()
    print(f"{args.rate:g} exchanges a second; times in ms\n")
    figures = ("held p50", "held p99", "usable p50", "usable p99", "lost", "hello late")
    print(head("ports", "begun", "ACKs", "per s", *figures))
    with ExitStack() as stack:
        switch = stack.enter_context(own_switch(PLAIN))
        controller = stack.enter_context(closing(ControllerInside(switch.namespace, file())))
        both = {name: stack.enter_context(closing(Hosts(switch, name))) for name in DPIDS}
        controller.start()
        for name, dpid in DPIDS.items():
            attach(switch, controller, name, dpid)
        first = 1
        for _ in range(args.turns):
            for name, hosts in both.items():
                turn = exchange(hosts, args.rate, args.seconds, first)
                first += turn.begun
                print(line(name, turn), flush=True)


if __name__ == "__main__":
    main()
