"""Hosts in the twin: those behind bridges of other owners, and those that move."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.first_hop.binding import Binding
from ofapp.bridge.ports.port import LOCAL_PORT
from ofapp.bridge.twin.actions import Move, MovedHost
from ofapp.bridge.twin.foreign import is_foreign
from ofapp.bridge.twin.network import TwinNetwork
from ofapp.bridge.twin.reach import HostPort, logical

MOST_MOVED = 256
"""Most hosts of a port that are looked at when they move."""


class RefusedHost(NamedTuple):
    """A host whose frames a guarded port drops, as it has no binding there.

    bound_at: datapath id of the bridge that has a binding of the host; bound: the binding.
    """

    datapath_id: int
    port: int
    vid: int
    mac: int
    bound_at: int | None = None
    bound: Binding | None = None


def hosts_on(bridge: Bridge, number: int) -> tuple[MovedHost, ...]:
    """The hosts that are known on a port of a bridge: learned there, or with bindings."""
    found: dict[int, MovedHost] = {}
    for host in _known(bridge, number):
        found.setdefault(host.mac, host)
    return tuple(found.values())[:MOST_MOVED]


def _known(bridge: Bridge, number: int) -> Iterator[MovedHost]:
    port, first_hop = bridge.ports.get(number), bridge.first_hop
    bound = (each for each in first_hop.bindings() if port and each.port == port.name)
    yield from (MovedHost(each.mac, each) for each in islice(bound, MOST_MOVED))
    learned = ((vid, mac) for vid, mac, entry in bridge.fdb if entry.port == number)
    for host in islice(learned, MOST_MOVED):
        yield MovedHost(host[1], next(iter(first_hop.of_host(*host)), None))


def hosts_behind(
    network: TwinNetwork, hosts: Mapping[HostPort, int], learned: Mapping[HostPort, int]
) -> dict[HostPort, int]:
    """Each bridge of another owner, as a place with hosts in the VLANs of our ports to it.

    How many addresses were learned at its ports; some of them may be beyond the bridge.
    """
    vids = {place.vid for place in hosts}
    places: dict[HostPort, int] = {}
    for end in network.cables:
        far, near = sorted(end, key=lambda each: not is_foreign(each.datapath_id))
        if not is_foreign(far.datapath_id):
            continue
        number = logical(network, *near)
        here = network.bridges[near.datapath_id].port_policies.vlans(number)
        for vid in vids | {here.pvid}:
            if here.has(vid):
                place = HostPort(far.datapath_id, LOCAL_PORT, vid)
                count = learned.get(HostPort(near.datapath_id, number, vid), 0)
                places[place] = places.get(place, 0) + count
    return places


def moved_hosts(
    network: TwinNetwork, hosts: Mapping[HostPort, int], moves: Iterable[Move]
) -> dict[HostPort, int]:
    """The hosts where they are after they have moved."""
    result = dict(hosts)
    for move in moves:
        source = move.source.datapath_id, logical(network, *move.source)
        left = [place for place in result if (place.datapath_id, place.port) == source]
        count = sum(result.pop(place) for place in left)
        place = move.place(network)
        result[place] = result.get(place, 0) + count
    return result


def refused_hosts(network: TwinNetwork, moves: Iterable[Move]) -> Iterator[RefusedHost]:
    """The hosts that have moved to a port where they have no binding."""
    for move in moves:
        bridge = network.bridges.get(move.to.datapath_id)
        if bridge is None:
            continue
        place = move.place(network)
        for mac, bound in move.hosts:
            if bridge.first_hop.refuses(place.port, place.vid, mac):
                bound_at = None if bound is None else move.source.datapath_id
                where = place.datapath_id, place.port, place.vid
                yield RefusedHost(*where, mac, bound_at, bound)
