"""Values of first-hop security: bindings, what the switch is to enforce, and what was refused."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple


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


class BoundAddress(NamedTuple):
    """An IPv4 or IPv6 address or prefix: 4 or 16 octets, and how many bits count."""

    octets: bytes
    bits: int


@dataclass(frozen=True, slots=True)
class Binding:
    """An address that a host may use.

    port: its name; vid: 0 for untagged on transparent ports.
    expires: end of the lease or of the address's lifetime, in the core's time; None for never.
    tentative: claimed by neighbour discovery and not confirmed yet (RFC 6620 3.2.2); such a binding
    is not in the switch.
    """

    port: str
    vid: int
    mac: int
    address: BoundAddress
    origin: Origin
    expires: float | None = None
    tentative: bool = False


@dataclass(frozen=True, slots=True)
class BoundHost:
    """A host on a guarded port that is present, with the addresses that it may use."""

    port: int
    vid: int
    mac: int
    addresses: tuple[BoundAddress, ...]


@dataclass(frozen=True, slots=True)
class GuardedPort:
    """What the switch is to check of the frames that come in by a port; equal ports are equal.

    source_guard, arp, nd, dhcp_server, router: as `params.PortParams`.
    report_only: report what would be refused, and forward it.
    pass_when_away: forward DHCP and claims of new addresses while no controller is connected.
    watched: messages of DHCP servers and router advertisements are for the controller, as other
    ports of the bridge have bindings.
    """

    source_guard: str = "off"
    arp: bool = False
    nd: bool = False
    dhcp_server: bool = True
    router: bool = True
    report_only: bool = False
    pass_when_away: bool = True
    watched: bool = False

    @property
    def snooped(self) -> bool:
        """Whether DHCP and neighbour discovery of its hosts are for the controller."""
        return self.source_guard != "off" or self.arp or self.nd


@dataclass(frozen=True, slots=True)
class Refused:
    """Frames of one kind that were refused on a port, by the samples that the switch sent.

    claim: what they claim: source, arp, nd, dhcp-server, router, redirect, fragment, nested.
    address: the claimed address; None where there is none.
    contradicts: the binding that contradicts it; None if the address has none.
    samples: how many samples; first, last: when, in the core's time.
    passed: they were forwarded all the same, as the port only reports.
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


@dataclass(frozen=True, slots=True)
class DhcpRequest:
    """The DHCP requests that a host has sent since a server last answered it.

    port: its name; kind: of the last one, as discover or request; count: how many; first, last:
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
