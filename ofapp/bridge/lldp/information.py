"""Contents of an LLDPDU (802.1AB-2016 8.5, 802.1Q-2018 annex D) as values.

Nothing that a neighbour sends is trusted: an identifier is octets, and text may be anything.
"""

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import NamedTuple

from ofapp.bridge.mac import format_mac

MAC_CHASSIS, MAC_PORT, INTERFACE_NAME = 4, 3, 5
"""Subtypes of identifiers (tables 8-2 and 8-3) that are used here."""
_ADDRESS_SUBTYPE = {"chassis": 5, "port": 4}
_IPV4, _IPV6, _ALL802 = 1, 2, 6
"""Address family numbers of IANA."""

CAPABILITIES = (
    *("other", "repeater", "bridge", "wlan-access-point", "router", "telephone"),
    *("docsis-cable-device", "station-only", "c-vlan", "s-vlan", "two-port-mac-relay"),
)
"""Names of the capabilities, by bit (table 8-4)."""


class Identifier(NamedTuple):
    """A chassis ID or a port ID (8.5.2, 8.5.3), as it stands in the TLV."""

    subtype: int
    octets: bytes

    def spoken(self, of: str) -> str:
        """The identifier as text; of: `chassis` or `port`, whose subtypes are not the same."""
        mac = MAC_CHASSIS if of == "chassis" else MAC_PORT
        if self.subtype == mac and len(self.octets) == 6:
            return format_mac(int.from_bytes(self.octets, "big"))
        if self.subtype == _ADDRESS_SUBTYPE[of]:
            return spoken_address(self.octets[0], self.octets[1:])
        return text_of(self.octets)


class VlanName(NamedTuple):
    """One VLAN that the port is a member of (802.1Q-2018 D.2.3)."""

    vid: int
    name: str


@dataclass(frozen=True, slots=True)
class Information:
    """All of an LLDPDU that is understood here; None, or nothing, for what it does not say.

    capabilities, enabled: bits of table 8-4; addresses: for management, as text; pvid: 0 where
    untagged frames are in no VLAN.
    """

    chassis: Identifier
    port: Identifier
    ttl: int
    port_description: str | None = None
    system_name: str | None = None
    system_description: str | None = None
    capabilities: int | None = None
    enabled: int | None = None
    addresses: tuple[str, ...] = ()
    pvid: int | None = None
    vlans: tuple[VlanName, ...] = ()

    @property
    def identity(self) -> tuple[Identifier, Identifier]:
        """The MSAP identifier (3.2.31): who it is."""
        return self.chassis, self.port


@dataclass(frozen=True, slots=True)
class System:
    """Information that all ports of a bridge send.

    datapath_id: by which the bridges of one controller know each other; address: the bridge's;
    interval: seconds between frames; management: an address as text, empty for none.
    """

    datapath_id: int
    address: int
    name: str
    interval: int
    management: str = ""


@dataclass(frozen=True, slots=True)
class Local:
    """One port that sends and receives LLDP.

    number: OpenFlow's; mac: the source of its frames; up: its link is; link: see `PortParams`.
    pvid, vlans: None and none on a port that passes frames as they are.
    one_way: see `PortParams`.
    """

    number: int
    name: str
    mac: int
    up: bool
    link: bool
    pvid: int | None = None
    vlans: tuple[VlanName, ...] = ()
    one_way: str = "warn"


def text_of(octets: bytes) -> str:
    """Text as a neighbour wrote it; what is no UTF-8 is replaced."""
    return octets.decode("utf-8", "replace").rstrip("\0")


def spoken_address(family: int, octets: bytes) -> str:
    """An address of one of IANA's families, as text."""
    if family == _IPV4 and len(octets) == 4:
        return str(IPv4Address(octets))
    if family == _IPV6 and len(octets) == 16:
        return str(IPv6Address(octets))
    if family == _ALL802 and len(octets) == 6:
        return format_mac(int.from_bytes(octets, "big"))
    return f"{family}:{octets.hex()}"


def capability_names(bits: int) -> list[str]:
    """The names of the bits that are set; those without a name are left out."""
    return [name for bit, name in enumerate(CAPABILITIES) if bits >> bit & 1]
