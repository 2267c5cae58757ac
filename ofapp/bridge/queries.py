"""Queries of pages and lists on a bridge, answered as values: callers do not use its parts.

The tables of a large FDB are not copied for each page: the caller reads them at once, before other
tasks run.
"""

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Literal, NamedTuple

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.fdb.fdb import Entry, EntryType
from ofapp.bridge.fdb.limits import LearningLimit
from ofapp.bridge.fdb.move_guard import Address
from ofapp.bridge.multicast import SetUnregistered, VlanParams
from ofapp.bridge.multicast.permanent_entries import PermanentEntry
from ofapp.bridge.ports.port import Port
from ofapp.bridge.stp import Guard, PortState


@dataclass(frozen=True, slots=True)
class FdbCounts:
    """Entries by type, addresses that are held down, and sightings that were not learned.

    refused: because of the limit of the whole bridge; counters: those of learning.
    """

    learned: int
    static: int
    local: int
    held: int
    refused: int
    counters: Mapping[str, int]


class Limited(NamedTuple):
    """Learned addresses of a port or a VLAN, and their limit if there is one.

    refused: sightings that were not learned; dropping: frames of further hosts are dropped.
    over_share, displaced: of a port in a full bridge or VLAN: sightings that were not learned as it
    had its share, and entries that made room for those of other ports.
    """

    learned: int
    limit: int | None = None
    refused: int = 0
    dropping: bool = False
    over_share: int = 0
    displaced: int = 0


class HeldAddress(NamedTuple):
    """An address that is held down (see `MoveGuard`); until: core time."""

    vid: int
    mac: int
    port: int
    elsewhere: int
    reason: Literal["moves", "sticky"]
    until: float
    sightings: int


class SnoopingCounts(NamedTuple):
    """Counters of snooping.  vlans_refused: because of the limit of a port; changes: topology
    changes, and those of them that came too soon after others to query at once."""

    vlans_refused: int = 0
    changes_heard: int = 0
    changes_delayed: int = 0


def fdb_counts(bridge: Bridge) -> FdbCounts:
    """The counts of the FDB."""
    learning = bridge.learning
    return FdbCounts(
        bridge.fdb.learned,
        len(bridge.static_entries.ports),
        len(learning.local),
        len(learning.move_guard.held),
        learning.limits.bridge.refused,
        {**learning.counters, **bridge.ip_addresses.counters},
    )


def fdb_tables(bridge: Bridge) -> Mapping[int, Mapping[int, Entry]]:
    """The current entries by VID and address, without the bridge's own addresses."""
    return bridge.fdb.tables


def is_extern(bridge: Bridge, vid: int, mac: int) -> bool:
    """Whether a program has set the address, as extern_learn in Linux."""
    entry = bridge.fdb.get(vid, mac)
    return entry is not None and entry.type is EntryType.EXTERN


def locked_hosts(bridge: Bridge) -> dict[Address, int]:
    """The port of each (VID, MAC address) that may not send yet, as `locked` entries of Linux.

    A host that is known in that VLAN has none.
    """
    vlans = bridge.port_policies.vlans
    there = (((vlans(number).pvid, mac), number) for number, mac in bridge.port_access.locked())
    return {address: number for address, number in there if bridge.fdb.get(*address) is None}


def ip_addresses(bridge: Bridge, vid: int, mac: int) -> list[str]:
    """The IP addresses that a host may use, or of a family without bindings those used last."""
    heard = bridge.ip_addresses.of(vid, mac)
    return [str(ip_address(address)) for address in _bound_first(bridge, (vid, mac), heard)]


def host_name(bridge: Bridge, mac: int) -> str | None:
    """The name that a host gave itself by DHCP; None if none is known."""
    return bridge.first_hop.host_names.of(mac)


def host_names(bridge: Bridge) -> Mapping[int, str]:
    """All such names, by MAC address."""
    return bridge.first_hop.host_names.all()


def hosts_with_ip(bridge: Bridge) -> Iterator[tuple[Address, tuple[bytes, ...]]]:
    """(VID, MAC address) of each host with known IP addresses, and these in octets."""
    heard = dict(bridge.ip_addresses.hosts())
    bound = ((each.vid, each.mac) for each in bridge.first_hop.bindings())
    for host in dict.fromkeys(
        (*heard, *(bound_host for bound_host in bound if bridge.fdb.get(*bound_host)))
    ):
        yield host, _bound_first(bridge, host, heard.get(host, ()))


def hosts_of_ip(bridge: Bridge, address: bytes) -> frozenset[Address]:
    """(VID, MAC address) of each host in the FDB that may use an IP address, or has used it."""
    bound = {(each.vid, each.mac) for each in bridge.first_hop.having(address)}
    hosts = bound | bridge.ip_addresses.having(address)
    return frozenset(
        host
        for host in hosts
        if bridge.fdb.get(*host) and (host in bound or address in _heard(bridge, host))
    )


def _heard(bridge: Bridge, host: Address) -> tuple[bytes, ...]:
    return _bound_first(bridge, host, bridge.ip_addresses.of(*host))


def _bound_first(bridge: Bridge, host: Address, heard: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """A host's bound addresses, and those heard of a family of which it has none.

    A frame may claim any address, so a binding counts for more.
    """
    bound = [each.address.octets for each in bridge.first_hop.of_host(*host) if each.address.whole]
    families = {len(octets) for octets in bound}
    return (*bound, *(each for each in heard if len(each) not in families))


def static_entries(bridge: Bridge) -> Mapping[Address, str]:
    """The names of the ports of static entries, present or not."""
    return bridge.static_entries.ports


def port_states(bridge: Bridge) -> Mapping[int, PortState]:
    """The state of each port that is up, by its number."""
    return dict(bridge.relay.states)


def learned_by_port(bridge: Bridge) -> dict[int, int]:
    """Number of learned addresses by port."""
    return bridge.addresses.by_port()


def learned_by_vlan(bridge: Bridge) -> dict[int, int]:
    """Number of learned addresses by VID, without VLANs that have none."""
    counts = {vid: bridge.fdb.learned_in(vid) for vid in bridge.fdb.tables}
    return {vid: count for vid, count in counts.items() if count}


def port_limit(bridge: Bridge, port: int) -> Limited:
    """The learned addresses and the limit of a port."""
    limits = bridge.learning.limits
    limited = _limited(bridge.fdb.learned_by_port.get(port, 0), limits.of_port(port))
    return limited._replace(over_share=limits.over_share[port], displaced=limits.displaced[port])


def vlan_limits(bridge: Bridge) -> dict[int, Limited]:
    """The learned addresses and the limits of VLANs that have a limit, by VID."""
    limits = bridge.learning.limits.vlans
    return {vid: _limited(bridge.fdb.learned_in(vid), limits[vid]) for vid in sorted(limits)}


def held_addresses(bridge: Bridge) -> dict[Address, HeldAddress]:
    """The addresses that are held down, in the order in which that began."""
    return {
        address: HeldAddress(
            *(held.vid, held.mac, held.port, held.elsewhere),
            *(held.reason, held.until, held.sightings),
        )
        for address, held in bridge.learning.move_guard.held.items()
    }


def held_keys(bridge: Bridge) -> Set[Address]:
    """(VID, address) of each address that is held down."""
    return bridge.learning.move_guard.held.keys()


def switch_ports(bridge: Bridge) -> list[Port]:
    """The switch's physical ports: members of aggregations, and not the logical ports."""
    return bridge.lags.physical(bridge.ports)


def all_ports(bridge: Bridge) -> tuple[Port, ...]:
    """The switch's ports and those of the bridge; a port that is both comes twice."""
    return (*switch_ports(bridge), *bridge.ports)


def is_closed(bridge: Bridge, number: int) -> bool:
    """Whether BPDU guard, spanning tree's self-loop or loop protection has closed a port.

    Its neighbours may not be heard for that reason alone.
    """
    guards = bridge.stp.guarded().get(number, ())
    held = bridge.loop_protect.held(number) is not None
    return held or not {Guard.BPDU_GUARD, Guard.SELF_LOOP}.isdisjoint(guards)


def logical_port(bridge: Bridge, number: int) -> Port | None:
    """The bridge's port that a port of the switch belongs to: of a member, its aggregation."""
    lag = bridge.lags.of_member(number)
    return bridge.ports.get(number) if lag is None else bridge.ports.named(lag)


def members(bridge: Bridge) -> dict[int, list[Port]]:
    """The present members of aggregations, by the number of the logical port."""
    result: dict[int, list[Port]] = {}
    if bridge.lags:
        for port in switch_ports(bridge):
            logical = logical_port(bridge, port.number)
            if logical is not None and logical.number != port.number:
                result.setdefault(logical.number, []).append(port)
    return result


def local_addresses(bridge: Bridge) -> dict[int, int]:
    """The bridge's own addresses, and their port."""
    return dict(bridge.learning.local)


def permanent_entries(bridge: Bridge, port_name: str | None = None) -> list[PermanentEntry]:
    """The permanent multicast entries, or those of one port, in the order of creation."""
    entries = bridge.multicast.permanent
    return entries.all() if port_name is None else entries.on(port_name)


def has_permanent(bridge: Bridge, entry: PermanentEntry) -> bool:
    """Whether there is a permanent entry with the same key; excluded sources do not count."""
    return bridge.multicast.permanent.has(entry)


def snooping_counts(bridge: Bridge) -> SnoopingCounts:
    """The counters of multicast snooping, zeros where it is off."""
    snooping, changes = bridge.multicast, bridge.multicast.changes
    return SnoopingCounts(snooping.vlans_refused, changes.heard, changes.delayed)


def vlan_snooping(bridge: Bridge, vid: int) -> VlanParams | None:
    """The parameters of snooping in a VLAN; None where it is off."""
    return bridge.multicast.vlan_params(vid)


def unregistered(bridge: Bridge) -> list[SetUnregistered]:
    """The ports for groups without members, in the VLANs where these do not flood."""
    wanted = bridge.multicast.desired(bridge.params)
    return [each for each in wanted or () if isinstance(each, SetUnregistered)]


def _limited(learned: int, limit: LearningLimit | None) -> Limited:
    if limit is None:
        return Limited(learned)
    return Limited(learned, limit.most, limit.refused, limit.closed)
