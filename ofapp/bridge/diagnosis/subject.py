"""The hosts that a port's name, a MAC address or an IP address stands for."""

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.mac import parse_mac
from ofapp.bridge.queries import fdb_tables, held_addresses, hosts_of_ip, static_entries

MOST = 16
"""Most hosts of one answer; a port with more is an uplink, and is answered alone."""


@dataclass(frozen=True, order=True, slots=True)
class Subject:
    """A host at a port.  port: its name, also of one that is not present.

    vid, mac: None for a port without known hosts.  address: the one that was asked for, in octets.
    """

    port: str
    vid: int | None = None
    mac: int | None = None
    address: bytes | None = None


def subjects(bridge: Bridge, text: str) -> list[Subject]:
    """The hosts that fit a text: a port's name, a MAC address or an IP address.

    Empty if the bridge knows none.
    """
    if (address := _ip(text)) is not None:
        return _with_address(bridge, address)
    if (mac := _mac(text)) is not None:
        return sorted(set(_places(bridge, mac)))[:MOST]
    return _at_port(bridge, text)


def _ip(text: str) -> bytes | None:
    try:
        return ip_address(text).packed
    except ValueError:
        return None


def _mac(text: str) -> int | None:
    try:
        return parse_mac(text)
    except ValueError:
        return None


def _places(bridge: Bridge, mac: int) -> Iterator[Subject]:
    """Where a MAC address is, or was heard; where it is bound only if it is at no other port."""
    there = [*_seen(bridge, mac)]
    yield from there
    bound = [*_bound(bridge, mac)]
    if not there:
        yield from bound


def _seen(bridge: Bridge, mac: int) -> Iterator[Subject]:
    for vid, entries in fdb_tables(bridge).items():
        entry = entries.get(mac)
        port = None if entry is None else bridge.ports.get(entry.port)
        if port is not None:
            yield Subject(port.name, vid, mac)
    for request in bridge.first_hop.unanswered(mac):
        yield Subject(request.port, request.vid, mac)
    for refused in bridge.first_hop.refused():
        if refused.mac == mac:
            yield Subject(refused.port, refused.vid, mac)
    for host in bridge.port_access.closed_out():
        port = bridge.ports.named(host.port)
        if host.mac == mac and port is not None:
            yield Subject(port.name, bridge.port_policies.vlans(port.number).pvid, mac)
    for held in held_addresses(bridge).values():
        port = bridge.ports.get(held.elsewhere)
        if held.mac == mac and port is not None:
            yield Subject(port.name, held.vid, mac)


def _bound(bridge: Bridge, mac: int) -> Iterator[Subject]:
    bindings = (*bridge.first_hop.bindings(), *bridge.first_hop.ended(mac))
    for binding in bindings:
        if binding.mac == mac:
            yield Subject(binding.port, binding.vid, mac)
    for (vid, static), name in static_entries(bridge).items():
        if static == mac:
            yield Subject(name, vid, mac)


def _with_address(bridge: Bridge, address: bytes) -> list[Subject]:
    """The hosts that have an address, use it, or were refused it."""
    hosts = {(each.vid, each.mac) for each in bridge.first_hop.having(address)}
    hosts |= hosts_of_ip(bridge, address)
    ports = {
        Subject(place.port, place.vid, mac, address)
        for vid, mac in hosts
        for place in _places(bridge, mac)
        if place.vid == vid
    }
    ports |= {
        Subject(refused.port, refused.vid, refused.mac, address)
        for refused in bridge.first_hop.refused()
        if refused.address == address
    }
    return sorted(ports)[:MOST]


def _at_port(bridge: Bridge, name: str) -> list[Subject]:
    """The hosts of a port, or the port alone if it has none or many."""
    port = bridge.ports.named(name)
    bound = {each.mac for each in bridge.first_hop.bindings() if each.port == name}
    if port is None and not bound:
        return []
    refused = (each for each in bridge.first_hop.refused() if each.port == name)
    macs = bound | {each.mac for each in refused}
    macs |= {each.mac for each in bridge.port_access.closed_out() if each.port == name}
    if port is not None:
        tables = fdb_tables(bridge).values()
        macs |= {
            mac for table in tables for mac, entry in table.items() if entry.port == port.number
        }
    if len(macs) > MOST:
        return [Subject(name)]
    places = {place for mac in macs for place in _places(bridge, mac) if place.port == name}
    return sorted(places) or [Subject(name)]
