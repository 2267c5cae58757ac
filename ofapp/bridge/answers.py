"""What is asked of a bridge's addresses, answered as values: nobody looks into its parts for it."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.learning_limits import LearningLimit
from ofapp.bridge.move_guard import Address


@dataclass(frozen=True, slots=True)
class FdbCounts:
    """Entries by type, addresses that are held down, and sightings that were not learned.

    refused: for the limit of the whole bridge; counters: what learning has counted.
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
    """

    learned: int
    most: int | None = None
    refused: int = 0
    dropping: bool = False


class HeldAddress(NamedTuple):
    """An address that is held down (see `MoveGuard`); until: core time."""

    vid: int
    mac: int
    port: int
    elsewhere: int
    reason: Literal["moves", "sticky"]
    until: float
    sightings: int


def fdb_counts(bridge: Bridge) -> FdbCounts:
    """How many of each there are."""
    learning = bridge.learning
    return FdbCounts(
        bridge.fdb.learned,
        len(bridge.static_entries.ports),
        len(learning.local),
        len(learning.move_guard.held),
        learning.limits.bridge.refused,
        dict(learning.counters),
    )


def port_limit(bridge: Bridge, port: int) -> Limited:
    """What a port has learned."""
    learned = bridge.fdb.learned_by_port.get(port, 0)
    return _limited(learned, bridge.learning.limits.ports.get(port))


def vlan_limits(bridge: Bridge) -> dict[int, Limited]:
    """What the VLANs with a limit have learned, by VID."""
    limits = bridge.learning.limits.vlans
    return {vid: _limited(bridge.fdb.learned_in(vid), limits[vid]) for vid in sorted(limits)}


def held_addresses(bridge: Bridge) -> dict[Address, HeldAddress]:
    """Those that are held down, in the order in which that began."""
    return {
        address: HeldAddress(
            *(held.vid, held.mac, held.port, held.elsewhere),
            *(held.reason, held.until, held.sightings),
        )
        for address, held in bridge.learning.move_guard.held.items()
    }


def held_keys(bridge: Bridge) -> Set[Address]:
    """(VID, address) of each of them, without the rest."""
    return bridge.learning.move_guard.held.keys()


def local_addresses(bridge: Bridge) -> dict[int, int]:
    """The bridge's own addresses, and their port."""
    return dict(bridge.learning.local)


def _limited(learned: int, limit: LearningLimit | None) -> Limited:
    if limit is None:
        return Limited(learned)
    return Limited(learned, limit.most, limit.refused, limit.closed)
