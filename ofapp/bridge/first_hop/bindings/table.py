"""All bindings of a bridge, by address and by host.

In a VLAN an address has one host, which is a MAC address on a port, or several hosts that share it
by bindings of users.  A port is known by its name, and keeps its bindings while it is gone.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from ofapp.bridge.effects.content import BoundAddress, BoundHost
from ofapp.bridge.first_hop.binding import Binding, Origin

Host = tuple[int, int]
"""(VID, MAC address)."""
PortHost = tuple[str, int]
"""(Name of a port, MAC address)."""


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
        self._by_address: dict[BoundAddress, dict[int, tuple[Binding, ...]]] = {}
        self._by_host: dict[Host, dict[tuple[BoundAddress, str], Binding]] = {}
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
            for shared in list(owners.values()):
                yield from shared

    def all_of(self, vid: int, address: BoundAddress) -> tuple[Binding, ...]:
        """The bindings of exactly this address or prefix; several if hosts share it."""
        owners = self._by_address.get(address)
        return () if owners is None else owners.get(vid, ())

    def get(self, vid: int, address: BoundAddress, host: PortHost | None = None) -> Binding | None:
        """The binding of exactly this address or prefix; of several that of a host, or the first.

        host: port and MAC address.
        """
        return _preferred(self.all_of(vid, address), host)

    def having(self, octets: bytes) -> list[Binding]:
        """The bindings of an address and of prefixes with it, in all VLANs; the longest first."""
        number, whole = int.from_bytes(octets, "big"), 8 * len(octets)
        found: list[Binding] = []
        for length, bits in sorted(self._prefixes, reverse=True):
            if length == len(octets):
                start = number >> whole - bits << whole - bits
                address = BoundAddress(start.to_bytes(length, "big"), bits)
                for shared in self._by_address.get(address, {}).values():
                    found += shared
        return found

    def owner(self, vid: int, octets: bytes, host: PortHost | None = None) -> Binding | None:
        """The binding of an address in a VLAN, or else that of the longest prefix with it.

        host: port and MAC address of the host whose binding counts where several share one.
        """
        there = [each for each in self.having(octets) if each.vid == vid]
        return _preferred([each for each in there if each.address == there[0].address], host)

    def of_host(self, vid: int, mac: int) -> list[Binding]:
        """The bindings of a host, on any port."""
        return list(self._by_host.get((vid, mac), {}).values())

    def on_port(self, port: str, vid: int, mac: int) -> tuple[BoundAddress, ...]:
        """The addresses of a host on a port, in order."""
        there = self._by_host.get((vid, mac), {})
        return tuple(sorted(address for address, where in there if where == port))

    def bound(self, number: int, port: str, vid: int, mac: int) -> BoundHost:
        """A host on a port, as the switch is to know it.  number: that port's."""
        there = self._by_host.get((vid, mac), {})
        shared = (a for (a, where), each in there.items() if where == port and each.shared)
        return BoundHost(number, vid, mac, self.on_port(port, vid, mac), frozenset(shared))

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
        its = self._by_host.get(host, ())
        owned = [key for each, _ in its if (key := (host[0], each)) in unused]
        owned.sort(key=lambda key: is_link_local(key[1].octets))
        first = next(iter(owned), None) or next(iter(unused), None)
        return None if first is None else self.get(*first)

    def put(self, binding: Binding) -> None:
        """Put a binding in the place of those of its address, or beside those that share it."""
        port, vid, mac, address = binding.port, binding.vid, binding.mac, binding.address
        for old in self.all_of(vid, address):
            if (old.port, old.mac) == (port, mac) or not (old.shared and binding.shared):
                self.drop(old)
        owners = self._by_address.setdefault(address, {})
        owners[vid] = (*owners.get(vid, ()), binding)
        self._by_host.setdefault((vid, mac), {})[address, port] = binding
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

    def drop(self, binding: Binding) -> None:
        """Take the binding of this address and host out, if there is one."""
        port, vid, mac, address = binding.port, binding.vid, binding.mac, binding.address
        found = self._by_host.get((vid, mac), {}).get((address, port))
        if found is None:
            return
        owners = self._by_address[address]
        owners[vid] = tuple(each for each in owners[vid] if each is not found)
        if not owners[vid]:
            _take(self._by_address, address, vid)
        _take(self._by_host, (vid, mac), (address, port))
        _less(self._hosts[port], (vid, mac))
        if not self._hosts[port]:
            del self._hosts[port]
        _less(self._prefixes, (len(address.octets), address.bits))
        self._count -= 1
        self.by_origin[found.origin] -= 1
        if found.origin.dynamic:
            self.dynamic -= 1
            _less(self.by_port, port)
            _less(self.by_vlan, vid)
        if found.origin is Origin.ND:
            _take(self._unused, port, (vid, address))


def _preferred(bindings: Sequence[Binding], host: PortHost | None) -> Binding | None:
    for each in bindings:
        if (each.port, each.mac) == host:
            return each
    return bindings[0] if bindings else None


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
