"""The last IP addresses of hosts, for display only.

They are read from the first frames of hosts that are learned, from IGMP and MLD, and from ARP and
neighbour solicitations, of which the switch copies a few a second.  So an address that a host uses
later is found, too, and learning is not slowed down.  A host may claim the address of another one.
Addresses that were used only before the controller started are not known.

A host may claim any number of addresses, and invent MAC addresses. So only the last few addresses
of each family are kept for each host: many of IPv6 do not displace the one of IPv4. The number of
hosts is limited, and those that the FDB has forgotten make room. So do hosts on a port with more
learned addresses than the port of a new host has: a port that invents hosts does not fill the table
for the others (see `shares`).
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from ofapp.bridge.effects import Effect
from ofapp.bridge.fdb.events import FDB_IP_FULL, FDB_IP_FULL_CLEARED
from ofapp.bridge.fdb.fdb import Fdb
from ofapp.bridge.mac import MAC_MASK
from ofapp.bridge.packet.ethernet import TAGS, frame_vid

ADDRESSES = 4
"""Most addresses of one host and family; the last ones are kept."""

HOSTS = 65_536
"""Most hosts of one bridge; some 15 MB, where most have an address or two."""

_LOOKS = 8  # checks of hosts that may make room, for each new host without room

_ARP, _IPV4, _IPV6 = b"\x08\x06", b"\x08\x00", b"\x86\xdd"
_OF_ETHERNET = b"\x00\x01\x08\x00\x06\x04"  # RFC 826: hardware and protocol, and their lengths
_UNTOUCHED = (b"\x40", b"\x80", b"\xff")
_IGMP = b"\x02"
_ICMPV6, _SOLICITATION = b"\x3a", b"\x87"
_UNSPECIFIED = bytes(16)

Host = tuple[int, int]
"""(VID, MAC address)."""


class IpAddresses:
    """The IP addresses of one bridge's hosts.  Addresses are 4 or 16 octets.

    counters: addresses that replaced the oldest of their host; hosts without room, and those that
    made room for hosts of ports with fewer.
    """

    def __init__(self, fdb: Fdb, hosts: int = HOSTS) -> None:
        self.counters: Counter[str] = Counter()
        self._fdb = fdb
        self._most = hosts
        self._addresses: dict[
            int, tuple[bytes, ...]
        ] = {}  # by VID << 48 | MAC, the last heard last
        self._full = False
        self._round: Iterator[int] = iter(())  # hosts that may make room

    def __len__(self) -> int:
        """Number of hosts."""
        return len(self._addresses)

    def of(self, vid: int, mac: int) -> tuple[bytes, ...]:
        """The addresses of a host, the latest first."""
        return self._addresses.get(vid << 48 | mac, ())[::-1]

    def hosts(self) -> Iterator[tuple[Host, tuple[bytes, ...]]]:
        """Hosts with known addresses that are in the FDB; changes meanwhile are safe."""
        for key, addresses in list(self._addresses.items()):
            host = key >> 48, key & MAC_MASK
            if self._fdb.get(*host) is not None:
                yield host, addresses

    def having(self, address: bytes) -> frozenset[Host]:
        """Hosts in the FDB that have used the address."""
        keys = [key for key, own in self._addresses.items() if address in own]
        hosts = ((key >> 48, key & MAC_MASK) for key in keys)
        return frozenset(host for host in hosts if self._fdb.get(*host) is not None)

    def hear(self, frames: Iterable[tuple[int, bytes]]) -> list[Effect]:
        """Read the senders' addresses from frames, each with its port."""
        effects: list[Effect] = []
        known, tables = self._addresses, self._fdb.tables
        for port, frame in frames:
            address = own_address(frame)
            if address is None:
                continue
            vid, mac = frame_vid(frame), int.from_bytes(frame[6:12], "big")
            entry = tables[vid].get(mac) if vid in tables else None
            if entry is not None and entry.port != port:
                continue  # another host uses this MAC address: ignored
            key = vid << 48 | mac
            before = known.get(key)
            if before is None:
                if len(known) < self._most or self._has_room(port):
                    known[key] = (address,)
                else:
                    self._refuse(port, effects)
            elif before[-1] != address:
                known[key] = self._with(before, address)
        if self._full and len(known) < self._most * 7 // 8:
            self._full = False
            effects.append(FDB_IP_FULL_CLEARED.event("there is room for IP addresses again"))
        return effects

    def _with(self, before: tuple[bytes, ...], address: bytes) -> tuple[bytes, ...]:
        others = [each for each in before if each != address]
        family = [each for each in others if len(each) == len(address)]
        if len(family) >= ADDRESSES:
            others.remove(family[0])
            self.counters["ip_addresses_replaced"] += 1
        return (*others, address)

    def _has_room(self, port: int) -> bool:
        """Whether there is room for a host of the port, after others are forgotten.

        A few hosts that have left the FDB are, or else a host of a port that has more.
        """
        known, learned = self._addresses, self._fdb.learned_by_port
        more = learned.get(port, 0) + 2
        for _ in range(_LOOKS):
            key = next(self._round, None)
            if key is None:
                self._round = iter(list(known))
                continue
            entry = self._fdb.get(key >> 48, key & MAC_MASK)
            if entry is None:
                known.pop(key, None)
            elif len(known) >= self._most and learned.get(entry.port, 0) >= more:
                self.counters["ip_hosts_displaced"] += known.pop(key, None) is not None
        return len(known) < self._most

    def _refuse(self, port: int, effects: list[Effect]) -> None:
        self.counters["ip_hosts_refused"] += 1
        if not self._full:
            self._full = True
            text = f"the IP addresses of {self._most} hosts are known: others' are not noted"
            effects.append(FDB_IP_FULL.event(text, port, {"hosts": self._most}))


def own_address(frame: bytes) -> bytes | None:
    """The sender's own address, 4 or 16 octets; None where the frame does not show it.

    The first 64 octets are enough, except for an address that its host is about to take (RFC 4862
    5.4.2): that is the target of a solicitation from ::, up to the 86th octet.

    A frame from a router has the address of a remote host.  The sender's own address is in ARP and
    neighbour discovery, which no router forwards, and in packets whose hop limit is still an
    initial one: 64, 128 or 255.
    """
    at = 18 if frame[12:14] in TAGS else 14
    kind = frame[at - 2 : at]
    if kind == _ARP:
        if frame[at : at + 6] == _OF_ETHERNET and frame[at + 8 : at + 14] == frame[6:12]:
            return _of_a_host(frame[at + 14 : at + 18], 4)
    elif kind == _IPV4:
        if frame[at + 8 : at + 9] in _UNTOUCHED or frame[at + 9 : at + 10] == _IGMP:
            return _of_a_host(frame[at + 12 : at + 16], 4)
    elif kind == _IPV6:
        source = frame[at + 8 : at + 24]
        if source == _UNSPECIFIED and _is_solicitation(frame, at):
            source = frame[at + 48 : at + 64]
        if frame[at + 7 : at + 8] in _UNTOUCHED or _is_link_local(source):
            return _of_a_host(source, 16)
    return None


def _is_solicitation(frame: bytes, at: int) -> bool:
    """Whether the IPv6 packet that begins there is a neighbour solicitation (RFC 4861 4.3)."""
    return frame[at + 6 : at + 7] == _ICMPV6 and frame[at + 40 : at + 41] == _SOLICITATION


def _is_link_local(source: bytes) -> bool:
    return len(source) == 16 and source[0] == 0xFE and source[1] & 0xC0 == 0x80


def _of_a_host(address: bytes, length: int) -> bytes | None:
    """The address, unless it is cut off, unspecified (0.0.0.0, ::), loopback or a group's."""
    if len(address) != length:
        return None
    if length == 4:
        return None if address[0] in (0, 127) or address[0] >= 224 else address
    return None if address[0] == 0xFF or not any(address[:15]) else address
