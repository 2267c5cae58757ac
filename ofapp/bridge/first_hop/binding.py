"""Values of first-hop security: bindings, what the switch is to enforce, and what was refused."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from ofapp.bridge.effects.content import BoundAddress
from ofapp.bridge.packet.address import link_local6


class Origin(Enum):
    """Where a binding comes from."""

    DHCP = "dhcp"
    DHCPV6 = "dhcpv6"
    ND = "nd"
    FILE = "file"
    API = "api"

    @property
    def dynamic(self) -> bool:
        """Whether hosts cause it; limits apply to these bindings only."""
        return self in (Origin.DHCP, Origin.DHCPV6, Origin.ND)


def link_local(mac: int) -> BoundAddress:
    """The link-local address that a host makes of its MAC address (RFC 4291 2.5.6, A)."""
    return BoundAddress(link_local6(mac), 128)


@dataclass(frozen=True, slots=True)
class Binding:
    """An address that a host may use.

    port: its name; vid: 0 for untagged on transparent ports.
    expires: end of the lease or of the address's lifetime, in the protocol's time, which pauses
    while the switch is disconnected (`FirstHop.seconds_left`); None for never.
    lifetime: seconds from the last confirmation to that end; None for never.
    client: what the server of a lease knows its host by (`verdict.Leased`); empty: not known.
    shared: other hosts may have bindings of the same address, as with VRRP; users' alone.
    """

    port: str
    vid: int
    mac: int
    address: BoundAddress
    origin: Origin
    expires: float | None = None
    lifetime: float | None = None
    client: bytes = b""
    shared: bool = False


class UnboundHost(NamedTuple):
    """A host that is known on a port, by the port's name, and has no binding there."""

    port: str
    vid: int
    mac: int


@dataclass(frozen=True, slots=True)
class GuardedPort:
    """Checks of a port's ingress frames in the switch; equal ports are equal.

    source_guard, arp, nd, dhcp_server, router: as `params.PortParams`.
    types: EtherTypes that may enter, in order; None for all (`ethertypes.admitted`).
    report_only: report what would be refused, and forward it.
    pass_when_away: forward DHCP and claims of new addresses while no controller is connected.
    watched: messages of DHCP servers and router advertisements are for the controller, as other
    ports of the bridge have bindings.
    prober: MAC address from which the controller asks hosts whether they use an address; frames to
    it that have passed the guard are for the controller alone (trap `answer`).  0: none.
    arp_answered, nd_answered: the switch answers ARP requests and neighbour solicitations for its
    hosts, in some VLAN.  No solicitation is answered for a port where a router may be: an answer
    without the flag of routers ends the use of a default router (RFC 4861 7.2.5).
    """

    source_guard: str = "off"
    arp: bool = False
    nd: bool = False
    dhcp_server: bool = True
    router: bool = True
    types: tuple[int, ...] | None = None
    report_only: bool = False
    pass_when_away: bool = True
    watched: bool = field(default=False, repr=False)
    prober: int = field(default=0, repr=False)
    arp_answered: bool = field(default=False, repr=False)
    nd_answered: bool = field(default=False, repr=False)

    @property
    def snooped(self) -> bool:
        """Whether DHCP and neighbour discovery of its hosts are for the controller."""
        return self.source_guard != "off" or self.arp or self.nd

    @property
    def trusted(self) -> bool:
        """Whether a claim of its hosts wins over a first-come binding of a guest."""
        return self.watched and not self.snooped

    @property
    def checked(self) -> bool:
        """Whether what its frames claim is checked."""
        return self.snooped or not (self.dhcp_server and self.router)

    @property
    def refuses(self) -> bool:
        """Whether any of its frames may be refused."""
        return self.checked or self.types is not None


@dataclass(frozen=True, slots=True)
class Refused:
    """Frames of one kind that were refused on a port, by the samples that the switch sent.

    claim: what they claim: source, arp, nd, dhcp-server, router, redirect, multicast-router,
    fragment, nested; ethertype, a type that the port does not admit; or dhcp, a message to a server
    that the controller has dropped.
    address: the claimed address; None where there is none.
    contradicts: the binding that contradicts it; None if the address has none.
    samples: how many samples; first, last: when, in the core's time.
    passed: they were forwarded all the same, as the port only reports.
    reason: the counter of what the controller has refused (`reasons.REASONS`); else empty.
    ethertype: that of a claim `ethertype` (`ethertypes.named`); None for other claims.
    """

    port: str
    vid: int
    mac: int
    claim: str
    address: bytes | None
    contradicts: Binding | None
    samples: int
    first: float
    last: float
    passed: bool
    reason: str = ""
    ethertype: int | None = None


@dataclass(frozen=True, slots=True)
class DhcpRequest:
    """The DHCP requests that a host has sent since a server last answered it.

    port: its name; kind: kind of the last request, as discover; count: how many; first, last:
    when, in the core's time.
    """

    port: str
    vid: int
    mac: int
    kind: str
    count: int
    first: float
    last: float


@dataclass(frozen=True, slots=True)
class FullLimit:
    """A limit of dynamic bindings that is reached.

    where: "port NAME", "VLAN 7" or "the bridge"; refused: bindings that were not made because of
    it.
    """

    where: str
    most: int
    refused: int


@dataclass(frozen=True, slots=True)
class PortBindings:
    """The dynamic bindings of a guarded port, and their limit.

    full: a binding was refused because of the limit, and too little has become free since.
    refused: number of bindings that were refused because of the port's limit.
    """

    port: str
    bindings: int
    most: int
    full: bool
    refused: int


@dataclass(frozen=True, slots=True)
class Status:
    """The status of first-hop security on a bridge.

    bindings: their number by origin; ports: those that are guarded and present, by number.
    prefixes: IPv6 prefixes that routers announce; hosts may take addresses in them.
    counters: what was bound, moved, refused and so on, by name.
    refused: samples of refused frames, by port and claim (`Refused.claim`).
    """

    bindings: Mapping[Origin, int]
    ports: tuple[PortBindings, ...]
    prefixes: tuple[tuple[int, BoundAddress], ...]
    counters: Mapping[str, int]
    refused: Mapping[tuple[str, str], int] = field(default_factory=dict)
