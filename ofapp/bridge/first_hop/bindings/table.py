"""All bindings of a bridge, by address and by host.

In a VLAN an address has one host, which is a MAC address on a port.  A port is known by its name,
and keeps its bindings while it is gone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from ofapp.bridge.first_hop.binding import Binding, BoundAddress, Origin

Host = tuple[int, int]
"""(VID, MAC address)."""


class BindingTable:
    """The bindings.

    dynamic: number of dynamic bindings; by_port, by_vlan: the same by name and by VID.
    by_origin: number of all bindings.
    """

    def __init__(self) -> None:
        self.dynamic = 0
        self.by_port: Counter[str] = Counter()
        self.by_vlan: Counter[int] = Counter()
        self.by_origin: Counter[Origin] = Counter()
        self._by_address: dict[BoundAddress, dict[int, Binding]] = {}
        self._by_host: dict[Host, dict[BoundAddress, Binding]] = {}
        self._hosts: defaultdict[str, Counter[Host]] = defaultdict(Counter)  # number of bindings
        self._prefixes: Counter[tuple[int, int]] = Counter()  # bindings by octets and bits
        # Of neighbour discovery, by port; the longest not confirmed come first.
        self._unused: dict[str, dict[tuple[int, BoundAddress], None]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Binding]:
        """All bindings; changes meanwhile are safe."""
        for owners in list(self._by_address.values()):
            yield from list(owners.values())

    def get(self, vid: int, address: BoundAddress) -> Binding | None:
        """The binding of exactly this address or prefix."""
        owners = self._by_address.get(address)
        return None if owners is None else owners.get(vid)

    def having(self, octets: bytes) -> list[Binding]:
        """The bindings of an address and of prefixes with it, in all VLANs; the longest first."""
        number, whole = int.from_bytes(octets, "big"), 8 * len(octets)
        found: list[Binding] = []
        for length, bits in sorted(self._prefixes, reverse=True):
            if length == len(octets):
                start = number >> whole - bits << whole - bits
                address = BoundAddress(start.to_bytes(length, "big"), bits)
                found += self._by_address.get(address, {}).values()
        return found

    def owner(self, vid: int, octets: bytes) -> Binding | None:
        """The binding of an address in a VLAN, or else that of the longest prefix with it."""
        return next((each for each in self.having(octets) if each.vid == vid), None)

    def of_host(self, vid: int, mac: int) -> list[Binding]:
        """The bindings of a host, on any port."""
        return list(self._by_host.get((vid, mac), {}).values())

    def on_port(self, port: str, vid: int, mac: int) -> tuple[BoundAddress, ...]:
        """The addresses of a host on a port, in order."""
        there = self._by_host.get((vid, mac), {})
        return tuple(sorted(address for address, each in there.items() if each.port == port))

    def on(self, port: str) -> Iterator[Binding]:
        """The bindings on a port; changes meanwhile are safe."""
        for vid, mac in self.hosts(port):
            yield from (each for each in self.of_host(vid, mac) if each.port == port)

    def hosts(self, port: str) -> list[Host]:
        """The hosts with bindings on a port."""
        return list(self._hosts.get(port, ()))

    def ports(self) -> list[str]:
        """The names of ports with bindings, present or not."""
        return list(self._hosts)

    def oldest(self, port: str, host: Host) -> Binding | None:
        """The binding of neighbour discovery that makes room on a port for one of this host.

        That is the longest not confirmed: of the host, so that others keep theirs, or else of the
        port.  A link-local address, without which its host has no IPv6, is the last choice.
        """
        unused = self._unused.get(port, {})
        owned = [key for each in self._by_host.get(host, ()) if (key := (host[0], each)) in unused]
        owned.sort(key=lambda key: is_link_local(key[1].octets))
        first = next(iter(owned), None) or next(iter(unused), None)
        return None if first is None else self.get(*first)

    def put(self, binding: Binding) -> Binding | None:
        """Put a binding in the place of the one of the same address; gives that one."""
        old = self.drop(binding.vid, binding.address)
        port, vid, mac, address = binding.port, binding.vid, binding.mac, binding.address
        self._by_address.setdefault(address, {})[vid] = binding
        self._by_host.setdefault((vid, mac), {})[address] = binding
        self._hosts[port][vid, mac] += 1
        self._prefixes[len(address.octets), address.bits] += 1
        self._count += 1
        self.by_origin[binding.origin] += 1
        if binding.origin.dynamic:
            self.dynamic += 1
            self.by_port[port] += 1
            self.by_vlan[vid] += 1
        if binding.origin is Origin.ND:
            self._unused.setdefault(port, {})[vid, address] = None
        return old

    def drop(self, vid: int, address: BoundAddress) -> Binding | None:
        """Take the binding of an address out; None without one."""
        owners = self._by_address.get(address)
        binding = None if owners is None else owners.pop(vid, None)
        if owners is None or binding is None:
            return None
        if not owners:
            del self._by_address[address]
        port, host = binding.port, (vid, binding.mac)
        _take(self._by_host, host, address)
        _less(self._hosts[port], host)
        if not self._hosts[port]:
            del self._hosts[port]
        _less(self._prefixes, (len(address.octets), address.bits))
        self._count -= 1
        self.by_origin[binding.origin] -= 1
        if binding.origin.dynamic:
            self.dynamic -= 1
            _less(self.by_port, port)
            _less(self.by_vlan, vid)
        if binding.origin is Origin.ND:
            _take(self._unused, port, (vid, address))
        return binding


def is_link_local(octets: bytes) -> bool:
    """Whether an address is in fe80::/10 (RFC 4291 2.5.6)."""
    return len(octets) == 16 and octets[0] == 0xFE and octets[1] & 0xC0 == 0x80


def _less(counts: Counter[Any], key: object) -> None:
    counts[key] -= 1
    if not counts[key]:
        del counts[key]


def _take(table: dict[Any, dict[Any, Any]], key: object, inner: object) -> None:
    del table[key][inner]
    if not table[key]:
        del table[key]
