"""Contents of a switch that protocols want: port states, aggregations, hosts, multicast entries.

Each is an effect: it takes the place of the value with the same key (`openflow.pipeline.parts`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from ipaddress import ip_address, ip_network
from typing import NamedTuple

from ofapp.bridge.packet.address import Family


class PortState(Enum):
    """Treatment of a port's frames by the relay (7.4)."""

    DISCARDING = "discarding"
    LEARNING = "learning"
    FORWARDING = "forwarding"


@dataclass(frozen=True, slots=True)
class SetPortState:
    """Set a port's state; emitted at once for a new port, later only when it changes."""

    port: int
    state: PortState


@dataclass(frozen=True, slots=True)
class TopologyChanged:
    """The active topology has changed: detected on this port, or reported there by a neighbour.

    A change may be reported more than once, also during another: a neighbour repeats itself.
    """

    port: int


@dataclass(frozen=True, slots=True)
class DesiredLag:
    """The flows of one aggregation.  number: number of its logical port.

    hash: the header fields that choose the member for a frame, as in `LagParams`.
    members: those that distribute, each in its place, 0 in the place of one that does not: so the
    flows of the others stay on their members when one comes or goes.
    collecting: those whose frames enter as the logical port's.
    lacp: those whose LACPDUs and markers are for the controller.
    """

    number: int
    hash: str
    members: tuple[int, ...] = ()
    collecting: tuple[int, ...] = ()
    lacp: tuple[int, ...] = ()

    @property
    def distributing(self) -> tuple[int, ...]:
        """The members that frames leave by."""
        return tuple(filter(None, self.members))


class BoundAddress(NamedTuple):
    """An IPv4 or IPv6 address or prefix: 4 or 16 octets, and how many bits count."""

    octets: bytes
    bits: int

    @classmethod
    def parse(cls, text: str) -> BoundAddress:
        """From text, as `10.0.0.5` or `2001:db8:7::/56`.  Raises ValueError."""
        address, slash, bits = text.partition("/")
        try:
            if "%" in address or (slash and not (bits.isascii() and bits.isdigit())):
                raise ValueError
            network = ip_network(text, strict=False)
        except ValueError:
            raise ValueError(f"{text!r} is no IPv4 or IPv6 address, and no prefix") from None
        if ip_address(address) != network.network_address:
            raise ValueError(f"{text} is no prefix: bits after the first {bits} are set")
        bound = cls(network.network_address.packed, network.prefixlen)
        if not bound.usable:
            raise ValueError(f"{text} is not an address that a host can have")
        return bound

    def __str__(self) -> str:
        text = str(ip_address(self.octets))
        return text if self.whole else f"{text}/{self.bits}"

    @property
    def whole(self) -> bool:
        """Whether it is one address and no prefix."""
        return self.bits == 8 * len(self.octets)

    @property
    def usable(self) -> bool:
        """Whether a host can have it."""
        octets, bits = self
        most = 8 * len(octets)
        if most not in (32, 128) or not 0 < bits <= most:
            return False
        if int.from_bytes(octets, "big") & ((1 << most - bits) - 1):
            return False
        if most == 32:
            return octets[0] not in (0, 127) and octets[0] < 224
        return octets[0] != 0xFF and any(octets[:15])


@dataclass(frozen=True, slots=True)
class BoundHost:
    """A host on a guarded port that is present, with the addresses that it may use.

    Without addresses it is unknown.
    shared: the addresses among them that other hosts may have at the same time.
    """

    port: int
    vid: int
    mac: int
    addresses: tuple[BoundAddress, ...]
    shared: frozenset[BoundAddress] = frozenset()


class SetGroup(NamedTuple):
    """Traffic of (VLAN, group[, source]) goes to `ports` and no others; empty drops it.

    Matched by IP addresses. An entry with a source beats the one without (None). Octets in
    network order; never sent with the ingress port excluded, the datapath does that.
    """

    vid: int
    group: bytes
    source: bytes | None
    ports: frozenset[int]


class RemoveGroup(NamedTuple):
    """Remove the entry: the next less specific one applies, at last `SetUnregistered`."""

    vid: int
    group: bytes
    source: bytes | None


class SetUnregistered(NamedTuple):
    """Ports that get multicast of a family without an entry; None: floods as without snooping.

    A VLAN floods until it is set. Never applies to groups that `address.always_floods`.
    """

    vid: int
    family: Family
    ports: frozenset[int] | None
