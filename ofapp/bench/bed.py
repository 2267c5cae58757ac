"""The test bed: two ends and a monitor, each in its own namespace, cabled to the device.

The cables are veth pairs, new ones for every device, or interfaces that are given: those that the
generator gets are moved into the namespaces for the time of a run and come back with the MTU that
they had.  They must not carry an address: it would be lost.  All that is made here begins with the
tag of the run, and only that is removed.
"""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pyroute2 import NetlinkError

from ofapp.bench import BenchError
from ofapp.bench.frames import ADDRESS, GATEWAY, Side, mac
from ofapp.bench.processes import run
from ofapp.bench.spaces import FOLDER, command, inside, netlink, sysctl

DEVICE_SPACE = "dev"
ENDS = ("tx", "rx", "mon")
MOST = 16
"""Beds at once: more than there are devices to choose from."""
_LINK_LOCAL, _IFF_UP = 253, 1
_OFFLOADS = ("tx", "off", "tso", "off", "gso", "off", "gro", "off")


@dataclass(frozen=True, slots=True)
class Given:
    """Interfaces of the machine to use instead of veth pairs: the generator's and the device's."""

    tx: str
    rx: str
    ports: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """All of them."""
        return [self.tx, self.rx, *self.ports]


@dataclass(frozen=True, slots=True)
class Half:
    """One end of a bed, whose other end is on another machine, and the interface towards that."""

    end: str
    link: str


@dataclass(frozen=True, slots=True)
class End:
    """A measuring point: the interface eth0 (or a given one) of a namespace."""

    namespace: str
    interface: str

    @property
    def place(self) -> tuple[str, str]:
        """Return the address for a packet socket."""
        return self.namespace, self.interface

    def run(self, *words: object) -> list[str]:
        """A command's words, to run there."""
        return command(self.namespace, *words)


@dataclass
class Bed:
    """The namespaces of a run; a context manager."""

    tag: str
    given: Given | None = None
    half: Half | None = None
    mtu: int = 1500
    """Set the MTU of all interfaces of the next device."""
    machines: int = 1
    """Set to 2 for a bridge at each end of a link, as in two hosts; then without a monitor."""
    ends: dict[str, End] = field(default_factory=dict)
    _moved: list[tuple[End, str]] = field(default_factory=list)
    _found: dict[str, tuple[int, int]] = field(default_factory=dict)

    def __enter__(self) -> Bed:
        for name in (*ENDS, DEVICE_SPACE):
            if (FOLDER / self.space(name)).exists():
                raise BenchError(
                    f"the namespace {self.space(name)} exists: another ofapp bench runs, or one was"
                    " killed. Use another --tag, or remove its rests with `ofapp bench clean`"
                )
        given = [self.half.link] if self.half else self.given.names if self.given else []
        self._found = check_given(given)
        try:
            for name in (*ENDS, DEVICE_SPACE):
                run("ip", "netns", "add", self.space(name))
                self.ends[name] = End(self.space(name), "eth0")
            if self.given:
                self._take("tx", self.given.tx)
                self._take("rx", self.given.rx)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for end, name in self._moved:
            move(name, None, end.namespace)
        for name, (mtu, flags) in self._found.items():
            _restore(name, mtu, flags)
        self._moved.clear()
        self._found.clear()
        clean(self.tag)

    @property
    def monitored(self) -> bool:
        """Whether there is a third port: with veth pairs."""
        return self.given is None and self.half is None and self.machines == 1

    @property
    def ports(self) -> list[str]:
        """The names of the device's interfaces."""
        if self.half:
            return [port_names(self.tag)[ENDS.index(self.half.end)], self.half.link]
        return list(self.given.ports) if self.given else port_names(self.tag)

    @property
    def groups(self) -> list[list[str]]:
        """The ports of each bridge; with two machines the link is between the second and third."""
        if self.machines == 1 or self.half:
            return [self.ports]
        tx, rx, link = self.ports
        return [[tx, link], [f"{link}b", rx]]

    @property
    def sides(self) -> list[str]:
        """The names of the ends that are cabled."""
        if self.half:
            return [self.half.end]
        return [name for name in ENDS if name != "mon" or self.monitored]

    def space(self, name: str) -> str:
        """The name of a namespace of this run."""
        return f"{self.tag}-{name}"

    @contextlib.contextmanager
    def cabled(self, space: str | None) -> Iterator[list[str]]:
        """The device's ports in the namespace `space`, up, cabled to the ends; by name."""
        ports = [port for group in self.groups for port in group]
        if self.given is None:
            with self._veths(ports, space):
                yield ports
            return
        for port in ports:
            move(port, space, None)
            raise_up(space, port, self.mtu)
        try:
            self._ready_ends()
            yield ports
        finally:
            for port in ports:
                move(port, None, space)

    @contextlib.contextmanager
    def wire(self) -> Iterator[None]:
        """No device: one cable from the sending end to the receiving one."""
        tx, rx = self.ends["tx"], self.ends["rx"]
        with netlink(None) as kernel:
            peer = {"ifname": rx.interface, "net_ns_fd": rx.namespace}
            kernel.link("add", ifname=tx.interface, kind="veth", net_ns_fd=tx.namespace, peer=peer)
        try:
            self._ready_ends("tx", "rx")
            yield
        finally:
            remove_link(tx.namespace, tx.interface)

    @contextlib.contextmanager
    def addressed(self, routed: bool) -> Iterator[None]:
        """Addresses on both ends: of one network, or of one each with a router between them."""
        with contextlib.ExitStack() as stack:
            for side, name in ((Side.TX, "tx"), (Side.RX, "rx")):
                if name in self.sides:
                    stack.enter_context(_addressed(self.ends[name], side, routed))
            yield

    @contextlib.contextmanager
    def _veths(self, ports: Sequence[str], space: str | None) -> Iterator[None]:
        with netlink(None) as kernel:
            here = {} if space is None else {"net_ns_fd": space}
            for name, port in zip(self.sides, self.ports, strict=False):
                end = self.ends[name]
                peer = {"ifname": end.interface, "net_ns_fd": end.namespace}
                kernel.link("add", ifname=port, kind="veth", peer=peer, **here)
            if self.half:
                move(self.half.link, space, None)
            elif self.machines > 1:
                _, link, far, _ = ports
                kernel.link("add", ifname=link, kind="veth", peer={"ifname": far, **here}, **here)
        try:
            self._ready_ends()
            for port in ports:
                raise_up(space, port, self.mtu)
            yield
        finally:
            if self.half:
                move(self.half.link, None, space)
            for port in ports:
                if not self.half or port != self.half.link:
                    remove_link(space, port)

    def _ready_ends(self, *names: str) -> None:
        for name in names or self.sides:
            end = self.ends[name]
            raise_up(end.namespace, end.interface, self.mtu)
            run(*end.run("ethtool", "-K", end.interface, *_OFFLOADS))

    def _take(self, name: str, interface: str) -> None:
        end = End(self.space(name), interface)
        move(interface, end.namespace, None)
        self._moved.append((end, interface))
        self.ends[name] = end


def port_names(tag: str) -> list[str]:
    """The device's ends of the veth pairs."""
    return [f"{tag}p{number}" for number in range(1, len(ENDS) + 1)]


def check_given(names: Sequence[str]) -> dict[str, tuple[int, int]]:
    """MTU and flags of given interfaces; BenchError when one is not there or carries an address."""
    settings: dict[str, tuple[int, int]] = {}
    with netlink(None) as kernel:
        for name in names:
            indices = kernel.link_lookup(ifname=name)
            if not indices:
                raise BenchError(f"{name}: there is no such interface (see `ip link`)")
            for message in kernel.get_addr(index=indices[0]):
                if message["scope"] != _LINK_LOCAL:
                    raise BenchError(
                        f"{name} has the address {message.get_attr('IFA_ADDRESS')}: a benchmark"
                        " takes its interfaces for itself; remove it, or choose another interface"
                    )
            (link,) = kernel.get_links(indices[0])
            settings[name] = (link.get_attr("IFLA_MTU"), link["flags"])
    return settings


def _restore(interface: str, mtu: int, flags: int) -> None:
    state = "up" if flags & _IFF_UP else "down"
    with netlink(None) as kernel:
        for index in kernel.link_lookup(ifname=interface):
            kernel.link("set", index=index, mtu=mtu, state=state)


def raise_up(space: str | None, interface: str, mtu: int) -> None:
    """Bring an interface up, keep the IP stack from talking on it, and set its MTU."""
    with inside(space):
        sysctl(f"ipv6/conf/{interface}/disable_ipv6", 1)
        sysctl(f"ipv4/conf/{interface}/arp_ignore", 8 if space is None else 0)
    with netlink(space) as kernel:
        (index,) = kernel.link_lookup(ifname=interface)
        kernel.link("set", index=index, mtu=mtu, state="up")


@contextlib.contextmanager
def _addressed(end: End, side: Side, routed: bool) -> Iterator[None]:
    with netlink(end.namespace) as kernel:
        (index,) = kernel.link_lookup(ifname=end.interface)
        (link,) = kernel.get_links(index)
        kernel.link("set", index=index, address=mac(side).hex(":"))
        prefix = 24 if routed else 15
        kernel.addr("replace", index=index, address=ADDRESS[side], prefixlen=prefix)
        if routed:
            kernel.route("replace", dst="default", gateway=GATEWAY[side], oif=index)
    try:
        yield  # outside of the namespace
    finally:
        with netlink(end.namespace) as kernel:
            kernel.flush_addr(index=index)
            kernel.link("set", index=index, address=link.get_attr("IFLA_ADDRESS"))


def move(interface: str, to: str | None, origin: str | None) -> None:
    """Move an interface between namespaces; None is the one that the program runs in."""
    if to == origin:
        return
    target = "/proc/thread-self/ns/net" if to is None else str(FOLDER / to)
    with open(target) as there, netlink(origin) as kernel:
        (index,) = kernel.link_lookup(ifname=interface)
        kernel.link("set", index=index, net_ns_fd=there.fileno())


def remove_link(space: str | None, interface: str) -> None:
    """Remove an interface if it is there; a veth's end goes by itself, soon after its peer."""
    with netlink(space) as kernel:
        for index in kernel.link_lookup(ifname=interface):
            try:
                kernel.link("del", index=index)
            except NetlinkError as error:
                if error.code != errno.ENODEV:
                    raise


def bridge_name(tag: str, number: int = 0) -> str:
    """The bridge of a bed, or its second one (number 1)."""
    return f"{tag}br{number or ''}"


def numbered(tag: str, count: int) -> list[str]:
    """Tags of as many beds as are needed at once; ValueError beyond `MOST`."""
    if count > MOST:
        raise ValueError(f"{count} beds: more than {MOST}")
    return [f"{tag}{number}" for number in range(1, count + 1)]


def clean(tag: str) -> list[str]:
    """Remove the namespaces and veth pairs of a tag; the names of what there was."""
    gone = [name for name in (f"{tag}-{end}" for end in (*ENDS, DEVICE_SPACE)) if _exists(name)]
    for name in gone:
        run("ip", "netns", "del", name)
    for port in port_names(tag):
        remove_link(None, port)
    return gone


def _exists(name: str) -> bool:
    return (FOLDER / name).exists()
