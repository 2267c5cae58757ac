"""Addresses in the snooping core: raw octets in network order.

`bytes` because a slice of a frame is one already, it hashes fast, it goes into a match as it is,
and its order is the numeric order that querier election needs. The length (4 or 16) tells the
family, so an address needs no family beside it. 6 octets are the MAC address of a group that is not
IP's: hosts do not report those, but administrators may set entries for them.
"""

from enum import Enum
from ipaddress import IPv4Address, IPv6Address, ip_address

from ofapp.bridge.mac import is_mac, parse_mac


class Family(Enum):
    """Address family of a group; IGMP serves the first and MLD the second."""

    IPV4 = 4
    IPV6 = 6


ANY4 = bytes(4)
ANY6 = bytes(16)
ALL_SYSTEMS = IPv4Address("224.0.0.1").packed
ALL_ROUTERS4 = IPv4Address("224.0.0.2").packed
ALL_PIM4 = IPv4Address("224.0.0.13").packed
ALL_IGMPV3 = IPv4Address("224.0.0.22").packed
ALL_SNOOPERS4 = IPv4Address("224.0.0.106").packed
ALL_NODES = IPv6Address("ff02::1").packed
ALL_ROUTERS6 = IPv6Address("ff02::2").packed
ALL_PIM6 = IPv6Address("ff02::d").packed
ALL_MLDV2 = IPv6Address("ff02::16").packed
ALL_SNOOPERS6 = IPv6Address("ff02::6a").packed

# RFC 4541 3 wants a proxy query sent from `::`, and every Linux host discards that (RFC 3810
# 5.1.14 tells it to). The highest link-local address is heard by hosts and loses every election.
PROXY6 = IPv6Address("fe80::ffff:ffff:ffff:ffff").packed

_FAMILIES = {4: Family.IPV4, 16: Family.IPV6}
_BROADCAST = b"\xff" * 6
_LINK_LOCAL = bytes.fromhex("0180c20000")
UNSPECIFIED = {Family.IPV4: ANY4, Family.IPV6: ANY6}
PROXY_SOURCE = {Family.IPV4: ANY4, Family.IPV6: PROXY6}
PROXY_SOURCES = frozenset((ANY4, ANY6, PROXY6))


def text(address: bytes) -> str:
    """Usual text form: ``239.1.1.1``, ``ff05::1:3``, ``01:00:01:c0:ff:ee``."""
    if is_mac_group(address):
        return address.hex(":")
    return str(IPv4Address(address) if len(address) == 4 else IPv6Address(address))


def parse(address: str) -> bytes:
    """Octets of an IP address in text form; ValueError if it is none."""
    return ip_address(address).packed


def parse_group(address: str) -> bytes:
    """Octets of a group's address, of IP or Ethernet; ValueError if it is neither."""
    return parse_mac(address).to_bytes(6, "big") if is_mac(address) else parse(address)


def family_of(address: bytes) -> Family | None:
    """The family of an IP address, None for a MAC address."""
    return None if is_mac_group(address) else _FAMILIES[len(address)]


def is_mac_group(address: bytes) -> bool:
    """Whether a group is Ethernet's: frames to its MAC address that are not IP."""
    return len(address) == 6


def is_multicast(address: bytes) -> bool:
    """Whether the address is a group's."""
    if len(address) == 4:
        return address[0] & 0xF0 == 0xE0
    return address[0] == 0xFF


def always_floods(group: bytes) -> bool:
    """Whether traffic to a group floods in any case: 224.0.0.0/24 (RFC 4541 2.1.2(2)) and
    ff02::1. Every other link-scope IPv6 group is snooped, solicited-node groups included, as the
    Linux bridge does.
    """
    return group[:3] == b"\xe0\x00\x00" if len(group) == 4 else group == ALL_NODES


def is_snooped(group: bytes) -> bool:
    """Whether a group can have an entry.

    Not one that always floods, nor one of IPv6 scope 0 or 1: hosts do not report those (RFC 3810
    6), and should not send to them on a link.
    """
    if not is_multicast(group) or always_floods(group):
        return False
    return len(group) == 4 or group[1] & 0x0F >= 2


def why_no_entry(group: bytes) -> str | None:
    """The reason why a group cannot have permanent entries; None if it can."""
    if not is_mac_group(group):
        return None if is_snooped(group) else "not a multicast group that can have an entry"
    if not group[0] & 1:
        return "the MAC address of one host, not of a group"
    if group == _BROADCAST:
        return "broadcast, which always floods"
    if group.startswith(_LINK_LOCAL) and group[5] < 16:
        return "an address that no bridge forwards (802.1D-2004 7.12.6)"
    return None


def is_link_local6(address: bytes) -> bool:
    """fe80::/10."""
    return address[0] == 0xFE and address[1] & 0xC0 == 0x80


def is_host(address: bytes) -> bool:
    """Whether a host could own the address: not multicast, unspecified, loopback or reserved."""
    if len(address) == 4:
        return 0 < address[0] < 0xE0 and address[0] != 127
    return address[0] != 0xFF and address != ANY6 and address != b"\0" * 15 + b"\1"


def group_mac(group: bytes) -> bytes:
    """Ethernet address of a group (RFC 1112 6.4, RFC 2464 7)."""
    if len(group) == 4:
        return bytes((0x01, 0x00, 0x5E, group[1] & 0x7F, group[2], group[3]))
    return b"\x33\x33" + group[12:]


def link_local6(mac: int) -> bytes:
    """Link-local address a bridge with this Ethernet address would give itself (RFC 4291 2.5.1)."""
    octets = mac.to_bytes(6, "big")
    return b"\xfe\x80" + bytes(6) + bytes((octets[0] ^ 2,)) + octets[1:3] + b"\xff\xfe" + octets[3:]


def interface_mac6(address: bytes) -> int | None:
    """Ethernet address that a link-local address follows from, None for others (RFC 4291 A)."""
    mac = int.from_bytes(bytes((address[8] ^ 2,)) + address[9:11] + address[13:], "big")
    return mac if address == link_local6(mac) else None
