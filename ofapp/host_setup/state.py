"""The host as it is observed, and a layout as it can be wanted: frozen values, nothing else.

Numbers are the kernel's (rtnetlink(7)); times are seconds.  The journal keeps these values, so a
field's meaning may not change without the journal's version.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from socket import AF_INET, AF_INET6

KERNEL, RA = 2, 9  # RTPROT_*
NO_PREFIX_ROUTE = 0x200  # IFA_F_NOPREFIXROUTE

Pairs = tuple[tuple[str, str], ...]
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True, slots=True)
class Address:
    """An address of a link.  `flags` holds only what can be set (IFA_F_*)."""

    family: int
    address: str
    prefix: int
    peer: str | None = None
    broadcast: str | None = None
    scope: int = 0
    flags: int = 0
    label: str | None = field(default=None, compare=False)
    metric: int | None = None
    protocol: int | None = field(default=None, compare=False)
    valid: int | None = field(default=None, compare=False)  # None: for ever
    preferred: int | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"{self.address}/{self.prefix}"

    @property
    def key(self) -> tuple[str, int, str | None]:
        """Identity of an address on a link."""
        return self.address, self.prefix, self.peer

    @property
    def link_local(self) -> bool:
        """Whether it is an IPv6 link-local address (RFC 4291 2.5.6)."""
        return self.family == AF_INET6 and ipaddress.ip_address(self.address).is_link_local

    @property
    def network(self) -> Network:
        """Network for which the kernel creates a route."""
        return ipaddress.ip_network(f"{self.peer or self.address}/{self.prefix}", strict=False)


@dataclass(frozen=True, slots=True)
class Route:
    """A route over one link."""

    family: int
    destination: str
    table: int = 254
    tos: int = 0
    metric: int = 0
    protocol: int = 3
    scope: int = 0
    type: int = 1
    flags: int = 0
    gateway: str | None = None
    via: tuple[int, str] | None = None  # a gateway of another family
    source: str | None = None  # the address to send from
    origin: str | None = None  # only for packets from there (IPv6)
    metrics: tuple[tuple[str, int], ...] = ()
    preference: int | None = None
    expires: int | None = field(default=None, compare=False)

    def __str__(self) -> str:
        default = self.destination in {"0.0.0.0/0", "::/0"}
        text = ("-6 " if self.family == AF_INET6 and default else "") + (
            "default" if default else self.destination
        )
        hop = self.gateway or (self.via and self.via[1])
        text += f" via {hop}" if hop else ""
        text += f" table {self.table}" if self.table != 254 else ""
        return text + (f" metric {self.metric}" if self.metric else "")

    @property
    def key(self) -> tuple[object, ...]:
        """Identity of a route in the kernel, on any link."""
        return self.family, self.table, self.destination, self.tos, self.metric, self.origin

    @property
    def is_default(self) -> bool:
        """Whether it is a default route of the main table."""
        return self.table == 254 and self.destination in {"0.0.0.0/0", "::/0"}


@dataclass(frozen=True, slots=True)
class LinkState:
    """Settings of a link.  None in a wanted one: unchanged."""

    name: str
    up: bool | None = None
    mtu: int | None = None
    settings: tuple[tuple[str, int], ...] = ()  # of /proc/sys/net: ("ipv4/rp_filter", 1)
    offloads: tuple[str, ...] | None = None  # those of OFFLOADS that are on
    addresses: tuple[Address, ...] = ()
    routes: tuple[Route, ...] = ()  # without those that the kernel makes for the addresses


@dataclass(frozen=True, slots=True)
class Link:
    """A link of the kernel."""

    state: LinkState
    index: int
    kind: str  # "" for hardware
    mac: str
    max_mtu: int
    carrier: bool
    loopback: bool = False
    promiscuous: bool = False
    checksums_later: bool = False  # it leaves checksums to hardware, which a veth has not
    speed_mbps: int | None = None  # by ethtool; None where the driver does not report it
    half_duplex: bool = False  # by ethtool
    other_end: int | None = None  # index of a veth's other end, if that is on this host
    master: str | None = None
    odd_routes: tuple[str, ...] = ()  # over several links, with encapsulation: not to be moved
    managers: tuple[str, ...] = ()  # programs that set addresses on it

    @property
    def name(self) -> str:
        """The interface's name."""
        return self.state.name


@dataclass(frozen=True, slots=True)
class Controller:
    """A controller of a bridge."""

    target: str
    in_band: bool = False
    rate_limit: int | None = None
    burst_limit: int | None = None
    out_of_band: bool = field(default=True, compare=False)  # said so, not by default
    connected: bool = field(default=False, compare=False)
    error: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class End:
    """An interface of Open vSwitch as a link: bit/s, None if unknown."""

    name: str
    speed: int | None = None
    half_duplex: bool = False


@dataclass(frozen=True, slots=True)
class Bond:
    """A port of Open vSwitch's that has several interfaces."""

    members: tuple[str, ...]
    mode: str


@dataclass(frozen=True, slots=True)
class BridgePort:
    """A port of a bridge that has one interface of the same name; `type` is Open vSwitch's.

    bfd: whether BFD is enabled; None if that is not known.
    guest: what the hypervisor says of the guest behind it: UUIDs, ids of interfaces; lower case.
    """

    name: str
    type: str = ""
    options: Pairs = ()
    ours: bool = field(default=True, compare=False)
    bond: Bond | None = field(default=None, compare=False)
    lacp: str | None = field(default=None, compare=False)  # that Open vSwitch runs
    ends: tuple[End, ...] = field(default=(), compare=False)
    number: int | None = field(default=None, compare=False)
    error: str | None = field(default=None, compare=False)
    mtu: int | None = field(default=None, compare=False)
    bfd: bool | None = field(default=None, compare=False)
    guest: tuple[str, ...] = field(default=(), compare=False)

    def end(self, name: str) -> End | None:
        """Its interface of that name."""
        return next((end for end in self.ends if end.name == name), None)


@dataclass(frozen=True, slots=True)
class Bridge:
    """A bridge of Open vSwitch; `ports` is without LOCAL."""

    name: str
    datapath: str = "system"
    datapath_id: str | None = None
    mac: str | None = None
    mtu: int | None = None
    fail_mode: str = "secure"
    protocols: tuple[str, ...] = ("OpenFlow13",)
    disable_in_band: bool = True
    stp: bool = False
    rstp: bool = False
    controllers: tuple[Controller, ...] = ()
    ports: tuple[BridgePort, ...] = field(default=(), compare=False)
    ours: bool = field(default=True, compare=False)
    in_use_id: str | None = field(default=None, compare=False)

    def port_of(self, interface: str) -> BridgePort | None:
        """The port that has this interface."""
        return next(
            (port for port in self.ports if port.name == interface or port.end(interface)), None
        )


@dataclass(frozen=True, slots=True)
class Switch:
    """Open vSwitch.  `problem` says why nothing is known of it."""

    problem: str | None = None
    bridges: tuple[Bridge, ...] = ()
    interface_types: tuple[str, ...] = ()
    dpdk: bool = False
    kernel_module: bool = True
    vlan_limit: int = 1  # VLAN tags of a frame that it reads; 0: as many as it can, which is two

    def bridge(self, name: str) -> Bridge | None:
        """The bridge of that name."""
        return next((bridge for bridge in self.bridges if bridge.name == name), None)

    def holder(self, interface: str) -> Bridge | None:
        """The bridge that the interface is a port of."""
        return next(
            (b for b in self.bridges if any(port.name == interface for port in b.ports)), None
        )


@dataclass(frozen=True, slots=True)
class Lag:
    """Uplinks that are one port of the bridge; `lacp` as the controller's file has it."""

    bridge: str
    name: str
    members: tuple[str, ...]
    lacp: str

    def __str__(self) -> str:
        how = "a static aggregation" if self.lacp == "off" else f"with LACP {self.lacp}"
        return f"{self.name} of {' and '.join(self.members)}, {how}"


@dataclass(frozen=True, slots=True)
class FileLag:
    """An aggregation in the controller's file; `ours`: `apply` has put it in."""

    lag: Lag
    ours: bool


@dataclass(frozen=True, slots=True)
class LagFile:
    """The controller's file, as far as aggregations go.  `problem` says why it cannot be used."""

    path: str
    lags: tuple[FileLag, ...] = ()
    problem: str | None = None

    def of(self, bridge: str) -> tuple[FileLag, ...]:
        """Return those of a bridge, by its name."""
        return tuple(stored for stored in self.lags if stored.lag.bridge == bridge)

    def ours(self, bridge: str) -> Lag | None:
        """The one that `apply` has put in."""
        return next((stored.lag for stored in self.of(bridge) if stored.ours), None)


@dataclass(frozen=True, slots=True)
class Host:
    """Everything that is observed at one moment."""

    links: tuple[Link, ...] = ()
    switch: Switch = Switch()
    defaults: tuple[tuple[str, int], ...] = ()  # settings that a new link gets
    privileged: bool = True
    machine_id: str = ""
    file: LagFile | None = None  # where no aggregation is concerned it is not looked at

    def link(self, name: str) -> Link | None:
        """The link of that name."""
        return next((link for link in self.links if link.name == name), None)


@dataclass(frozen=True, slots=True)
class Layout:
    """Links of a deployment: its bridge (or none), uplinks, LOCAL and taps."""

    name: str
    bridge: Bridge | None
    links: tuple[LinkState, ...]
    taps: tuple[str, ...] = ()
    absent_taps: tuple[str, ...] = ()  # those that are ours to remove
    lag: Lag | None = None  # that is ours to have in the controller's file

    def link(self, name: str) -> LinkState | None:
        """The link of that name."""
        return next((link for link in self.links if link.name == name), None)


OFFLOADS = ("rx-gro", "rx-lro", "rx-gro-hw")  # they join frames before a userspace datapath reads


def made_by_kernel(route: Route, addresses: tuple[Address, ...]) -> bool:
    """Whether the kernel makes the route by itself, for an address or for the link."""
    if route.protocol != KERNEL:
        return False
    network = ipaddress.ip_network(route.destination)
    if route.family == AF_INET6 and network.is_link_local:
        return True
    usual = 0 if route.family == AF_INET else 256
    return any(
        network == address.network
        and route.metric == (address.metric or usual)
        and not address.flags & NO_PREFIX_ROUTE
        for address in addresses
        if address.family == route.family
    )
