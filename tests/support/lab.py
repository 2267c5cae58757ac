"""A small network of real namespaces on the machine's own Open vSwitch (userspace datapath, unless
another is asked for: tests/guest runs this inside a machine that has the kernel's).

Plain `ip` and `ovs-vsctl`: Mininet names its switches s1, s2, ... and replaces what it finds by
that name.  Here every name begins with a tag of the run, and only what bears it is removed.
"""

from __future__ import annotations

import ctypes
import errno
import itertools
import os
import select
import socket
import struct
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from tests.support.background import Background, Closable
from tests.support.flows import Flow, parse_flow
from tests.support.waiting import during, wait_for

T = TypeVar("T")

BROADCAST = "ff:ff:ff:ff:ff:ff"
ETHERTYPE = 0x88B5  # for local experiments (IEEE 802)
_labs = itertools.count(1)
LAST, LOOK, GATHER = 0.5, 0.05, 0.005
"""Seconds of silence after which no frame of an ended stream is on its way: a switch on a
busy machine stands still for a tenth of a second.  Seconds between looks at the sender, and seconds
in which frames gather before they are read."""


def sh(*command: object, check: bool = True, seconds: float = 30) -> str:
    """Run a command; its output.  AssertionError with what it said when it fails."""
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, timeout=seconds, check=False)
    if check and done.returncode:
        raise AssertionError(f"{' '.join(words)}: {(done.stdout + done.stderr).strip()}")
    return done.stdout


def vsctl(*words: object) -> str:
    """ovs-vsctl, which returns when ovs-vswitchd has done it."""
    return sh("ovs-vsctl", "--timeout=20", *words).strip()


def quiet(interface: str) -> None:
    """Keep the machine's own IP stack out of what passes a switch port."""
    Path(f"/proc/sys/net/ipv4/conf/{interface}/arp_ignore").write_text("8")
    Path(f"/proc/sys/net/ipv6/conf/{interface}/disable_ipv6").write_text("1")


@dataclass(eq=False)
class Switch:
    """One bridge of the lab.  Has what `tests.support.controller.Controller` asks of a bridge."""

    name: str
    dpid: int
    ports: dict[str, int] = field(default_factory=dict)  # interface -> OpenFlow port
    links: dict[int, Switch | Host] = field(default_factory=dict)  # OpenFlow port -> what is there

    @property
    def dpid16(self) -> str:
        return f"{self.dpid:016x}"

    @property
    def switch(self) -> Switch:
        return self

    def step(self) -> None:
        """Time passes by itself here."""

    def in_pace(self) -> Callable[[], None]:
        """A tick for `wait_for`, as of a switch whose clock tests move."""
        return self.step

    def set_controller(self, target: str | None) -> None:
        if target is None:
            vsctl("del-controller", self.name)
            return
        vsctl("set-controller", self.name, target)
        vsctl("set", "Controller", self.name, "max_backoff=1000", "connection_mode=out-of-band")

    def add_port(self, interface: str) -> int:
        """Plug an interface in; its OpenFlow port."""
        quiet(interface)
        number = next(n for n in itertools.count(1) if n not in self.ports.values())
        vsctl(
            *("add-port", self.name, interface, "--", "set", "Interface", interface),
            f"ofport_request={number}",
        )
        found = int(vsctl("get", "Interface", interface, "ofport"))
        assert found == number
        self.ports[interface] = number
        return number

    def del_port(self, interface: str) -> None:
        vsctl("del-port", self.name, interface)
        self.links.pop(self.ports.pop(interface), None)

    def flows(self) -> list[Flow]:
        lines = sh("ovs-ofctl", "-O", "OpenFlow13", "dump-flows", "--no-names", self.name)
        return [parse_flow(line) for line in lines.splitlines() if "cookie=" in line]

    def towards(self, host: Host) -> int:
        """The port by which a host is reached, by the lab's own plan (no loops)."""
        for number, end in self.links.items():
            seen = {self}
            ends = [end]
            while ends:
                node = ends.pop()
                if node is host:
                    return number
                if isinstance(node, Switch) and node not in seen:
                    seen.add(node)
                    ends += node.links.values()
        raise AssertionError(f"{self.name} has no way to {host.namespace}")


@dataclass(eq=False)
class Host:
    """A namespace with one interface, eth0; `plug` is its other end."""

    namespace: str
    plug: str
    number: int
    home: Switch | None = None

    @property
    def mac(self) -> str:
        return f"02:0a:00:00:00:{self.number:02x}"

    @property
    def ip(self) -> str:
        return f"10.211.0.{self.number}"

    @property
    def ip6(self) -> str:
        return f"fd00:211::{self.number:x}"

    def run(self, *command: object, check: bool = True, seconds: float = 30) -> str:
        return sh("ip", "netns", "exec", self.namespace, *command, check=check, seconds=seconds)

    def mute(self) -> None:
        """Keep the host's own IP stack from speaking: what it sends by itself tells where it is."""
        self.run("ip", "link", "set", "eth0", "arp", "off")
        self.run("sysctl", "-q", "-w", "net.ipv6.conf.eth0.disable_ipv6=1")

    def reaches(self, address: str, seconds: int = 2, source: str = "") -> bool:
        """Whether one echo request is answered; source: its source address."""
        from_ = ("-I", source) if source else ()
        ping = ("ping", "-n", "-q", "-c", 1, "-W", seconds, *from_, address)
        return " 1 received" in self.run(*ping, check=False)

    def wire(self) -> Wire:
        """A raw socket on eth0."""
        return self.open(Wire)

    def open(self, make: Callable[[], T]) -> T:
        """What `make` gives, called as the host: a socket that it opens stays the host's."""
        return _in_namespace(self.namespace, make)


class Wire:
    """Raw frames of one interface, tags included: the kernel hands them over beside the frame."""

    _AUXDATA = struct.Struct("=IIIHHHH")

    def __init__(self, interface: str = "eth0") -> None:
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003))
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self.socket.setsockopt(263, 8, 1)  # SOL_PACKET, PACKET_AUXDATA
        self.socket.bind((interface, 0))

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, frame: bytes) -> None:
        self.socket.send(frame)

    def received(self) -> list[bytes]:
        """All frames that have come in, not those that were sent."""
        return [data for came_in, data in self.passed() if came_in]

    def passed(self) -> list[tuple[bool, bytes]]:
        """All frames, each with whether it has come in; those that were sent, too."""
        frames = []
        while True:
            try:
                data, extra, _, address = self.socket.recvmsg(2048, 64, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return frames
            for _, _, value in extra:
                status, _, _, _, _, tci, tpid = self._AUXDATA.unpack(value[:20])
                if status & 0x10:  # TP_STATUS_VLAN_VALID
                    data = data[:12] + struct.pack("!HH", tpid or 0x8100, tci) + data[12:]
            frames.append((address[2] != socket.PACKET_OUTGOING, data))

    def dropped(self) -> int:
        """Frames dropped for lack of room, as they were not read in time; each is reported once."""
        statistics = self.socket.getsockopt(263, 6, 8)  # SOL_PACKET, PACKET_STATISTICS
        return int(struct.unpack("=II", statistics)[1])

    def wait_for(self, frame: bytes, seconds: float = 5) -> None:
        """Return when `frame` has come in (it may be padded)."""
        wait_for(
            lambda: any(got.startswith(frame) for got in self.received()),
            f"frame {frame[:32].hex()}",
            seconds=seconds,
        )


def frame(
    destination: str,
    source: str,
    payload: bytes = b"",
    vlan: int | None = None,
    pcp: int = 0,
    ethertype: int = ETHERTYPE,
) -> bytes:
    """An Ethernet frame of the minimum size at least."""
    head = bytes.fromhex(destination.replace(":", "") + source.replace(":", ""))
    if vlan is not None:
        head += struct.pack("!HH", 0x8100, pcp << 13 | vlan)
    return (head + struct.pack("!H", ethertype) + payload).ljust(60, b"\0")


class Stream(Background):
    """Numbered frames from one host to another at a steady rate, until stopped."""

    def __init__(
        self, source: Host, destination: Host, rate: int = 400, *, flooded: bool = False
    ) -> None:
        """rate: frames a second; flooded: send broadcasts."""
        self.sent = 0
        self.rate = rate
        self._head = frame(BROADCAST if flooded else destination.mac, source.mac)[:14]
        self._out, self._in = source.wire(), destination.wire()
        self._seen: Counter[int] = Counter()
        super().__init__(self._send, self._receive)

    def _to_close(self) -> Iterable[Closable]:
        return self._out.socket, self._in.socket

    def more(self, frames: int) -> None:
        """Return when that many more have been sent."""
        target = self.sent + frames
        wait_for(lambda: self.sent >= target, f"{frames} more frames", seconds=30)

    def lost(self) -> int:
        """Stop, and count the frames that did not arrive."""
        self._stop.set()
        self._threads[0].join()
        for _ in during(3, 0.01):
            if len(self._seen) >= self.sent:
                break
        return self.sent - len(self._seen)

    def missing(self) -> list[int]:
        """The numbers of the frames that were sent and have not arrived so far."""
        return [number for number in range(self.sent) if number not in self._seen]

    def doubled(self) -> int:
        """How many have come more than once, so far."""
        return sum(times > 1 for times in self._seen.values())

    def dropped(self) -> int:
        """Frames that arrived at the host, which was too busy to take them."""
        return self._in.dropped()

    def _send(self) -> None:
        begun = time.monotonic()
        while not self._stop.wait(max(0.0, begun + self.sent / self.rate - time.monotonic())):
            payload = struct.pack("!Q", self.sent)
            try:
                self._out.send((self._head + payload).ljust(60, b"\0"))
            except OSError as error:  # Linux's bond without a member that it may use: a loss
                if error.errno != errno.ENOBUFS:
                    raise
            self.sent += 1

    def _receive(self) -> None:
        last = time.monotonic()
        while self._threads[0].is_alive() or len(self._seen) < self.sent:
            if self._threads[0].is_alive():
                last = time.monotonic()
            elif time.monotonic() - last > LAST:  # others' frames may come for ever
                return
            select.select([self._in.socket], [], [], LOOK)
            for got in self._in.received():
                if got.startswith(self._head):
                    self._seen[struct.unpack_from("!Q", got, 14)[0]] += 1
                    last = time.monotonic()
            time.sleep(GATHER)


class Lab:
    """Makes switches, hosts and links, and removes them again."""

    def __init__(self, datapath: str = "netdev") -> None:
        self.datapath = datapath
        number = next(_labs)
        self.tag = f"oa{os.getpid() % 65536:04x}{number:x}"
        self._dpids = itertools.count(0x0A00_0000_0001 + (number << 8))
        self.switches: list[Switch] = []
        self.hosts: list[Host] = []
        self._interfaces: list[str] = []

    def switch(self, dpid: int | None = None) -> Switch:
        """A bridge without a controller, without ports."""
        name = f"{self.tag}s{len(self.switches) + 1}"
        switch = Switch(name, dpid or next(self._dpids))
        self.switches.append(switch)
        self._add_bridge(switch)
        return switch

    def make_again(self, switch: Switch, mac: str) -> None:
        """Delete a bridge and make it with the same datapath id and ports, at another address."""
        vsctl("del-br", switch.name)
        self._add_bridge(switch, f"other_config:hwaddr={mac}")
        interfaces, switch.ports = list(switch.ports), {}
        for interface in interfaces:
            switch.add_port(interface)

    def _add_bridge(self, switch: Switch, *settings: str) -> None:
        vsctl(
            *("add-br", switch.name, "--", "set", "Bridge", switch.name),
            *(f"datapath_type={self.datapath}", "fail_mode=secure", "protocols=OpenFlow13"),
            "other_config:disable-in-band=true",
            *(f"other_config:datapath-id={switch.dpid16}", *settings),
        )
        quiet(switch.name)

    def host(self, home: Switch | None = None) -> Host:
        """A host, plugged into a switch by default."""
        number = len(self.hosts) + 1
        host = Host(f"{self.tag}h{number}", f"{self.tag}p{number}", number)
        self.hosts.append(host)
        sh("ip", "netns", "add", host.namespace)
        self._interfaces.append(host.plug)
        sh(
            *("ip", "link", "add", host.plug, "type", "veth", "peer", "name", "eth0"),
            *("netns", host.namespace),
        )
        quiet(host.plug)
        sh("ip", "link", "set", host.plug, "up")
        set_up = (
            "ethtool -K eth0 tx off",  # no device fills in checksums behind a userspace bridge
            "ip link set lo up",
            f"ip link set eth0 address {host.mac} up",
            f"ip addr add {host.ip}/24 dev eth0",
            f"ip addr add {host.ip6}/64 dev eth0 nodad",
        )
        host.run("sh", "-c", " && ".join(set_up))
        if home is not None:
            self.plug(host, home)
        return host

    def plug(self, host: Host, switch: Switch) -> int:
        """Put a host into a switch, out of the one where it is; its new port."""
        if host.home is not None:
            host.home.del_port(host.plug)
        host.home = switch
        number = switch.add_port(host.plug)
        switch.links[number] = host
        return number

    def link(self, left: Switch, right: Switch) -> None:
        """Join two switches."""
        count = len(self._interfaces)
        ends = (f"{self.tag}l{count}a", f"{self.tag}l{count}b")
        self._interfaces.append(ends[0])
        sh("ip", "link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
        for end in ends:
            quiet(end)
            sh("ip", "link", "set", end, "up")
        left.links[left.add_port(ends[0])] = right
        right.links[right.add_port(ends[1])] = left

    def own(self, interface: str) -> None:
        """Remove this interface as well in the end."""
        self._interfaces.append(interface)

    # --- topologies

    def single(self, hosts: int = 4) -> None:
        switch = self.switch()
        for _ in range(hosts):
            self.host(switch)

    def linear(self, switches: int = 4) -> None:
        for _ in range(switches):
            switch = self.switch()
            self.host(switch)
            if len(self.switches) > 1:
                self.link(self.switches[-2], switch)

    def tree(self, depth: int = 2, fanout: int = 2) -> None:
        self._branch(depth, fanout)

    def _branch(self, depth: int, fanout: int) -> Switch:
        switch = self.switch()
        for _ in range(fanout):
            if depth == 1:
                self.host(switch)
            else:
                self.link(switch, self._branch(depth - 1, fanout))
        return switch

    def settle(self, seconds: float = 45) -> None:
        """Wait until broadcasts pass from every host to every other: spanning tree has opened up.

        The frames come from separate addresses, so that the hosts' are not learned from them.
        """
        wires = [(host, host.wire()) for host in self.hosts]
        probes = {
            frame("ff:ff:ff:ff:ff:ff", host.mac.replace("02:0a", "02:0b"), b"probe"): host
            for host in self.hosts
        }
        missing = {(one, other) for one in self.hosts for other in self.hosts if one is not other}

        def all_pass() -> bool:
            for host, wire in wires:
                missing.difference_update(
                    (probes[got], host) for got in wire.received() if got in probes
                )
            return not missing

        def send() -> None:
            for (_, wire), probe in zip(wires, probes, strict=True):
                wire.send(probe)

        try:
            wait_for(all_pass, "spanning tree to open the ports", seconds=seconds, tick=send)
        finally:
            for _, wire in wires:
                wire.socket.close()

    def unreachable(self) -> list[tuple[int, int]]:
        """Pairs of hosts (by number) of which the first does not reach the second."""
        return [
            (one.number, other.number)
            for one, other in itertools.permutations(self.hosts, 2)
            if not one.reaches(other.ip)
        ]

    def close(self) -> None:
        """Remove everything, as far as it is there."""
        bridges = [("--", "--if-exists", "del-br", switch.name) for switch in self.switches]
        sh("ovs-vsctl", "--timeout=20", *itertools.chain(*bridges), check=False)
        for host in self.hosts:
            sh("ip", "netns", "del", host.namespace, check=False)
        for interface in self._interfaces:
            sh("ip", "link", "del", interface, check=False)


def _in_namespace(name: str, make: Callable[[], T]) -> T:
    """Call `make` in a namespace; what it opens stays there.  A thread's namespace is its own."""
    made: list[T] = []
    problem: list[BaseException] = []

    def enter() -> None:
        try:
            with open(f"/run/netns/{name}") as handle:
                if ctypes.CDLL(None, use_errno=True).setns(handle.fileno(), 0):
                    raise OSError(ctypes.get_errno(), "setns")
            made.append(make())
        except BaseException as error:
            problem.append(error)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    if problem:
        raise problem[0]
    return made[0]
