"""Reconciliation of the FDB with the flows that a switch holds.

FLOW_REMOVED is a hint: it can be lost with a connection, and a controller that was restarted has
no FDB at all.  A sweep is shown the learned flows that the switch holds, first all source halves,
then all destination halves, and gives back what mends the difference.  It works on a stream: a
hundred thousand hosts are never kept twice.  Routinely it is about a few cohorts at a time (see
`ofapp.bridge.fdb.fdb`), whose entries are judged as soon as their flows were shown.

The same sweep serves three occasions, which differ in which side is believed:
- routine: the FDB knows what was installed; a flow without an entry is stale, an entry without its
  source half has aged.
- the first after a connection: flows without an entry are adopted.
- the first after the switch lost everything: entries without flows are installed again.

The switch's idle clock starts with each flow.  So the FDB ages an address that was installed
again and has not been seen since, by when it was last seen; the time without the switch counts.
"""

from collections.abc import Iterable
from enum import Enum
from itertools import chain
from math import inf
from typing import NamedTuple

from ofapp.bridge.effects import (
    Effect,
    InstallDestination,
    InstallSticky,
    RemoveDestination,
    RemoveSource,
)
from ofapp.bridge.fdb.fdb import COHORTS, NO_PORT, Entry
from ofapp.openflow.switch.switch_bridge import SwitchBridge

_SOURCE, _BOTH = 1, 2


class Occasion(Enum):
    """Why there is a sweep."""

    ROUTINE = "routine"
    CONNECTED = "connected"
    RESTARTED = "restarted"


class HeldHalf(NamedTuple):
    """Source or destination half of a host's flows in the switch; packets: those it has counted."""

    port: int
    vid: int
    mac: int
    serial: int
    packets: int
    sticky: bool = False


class Sweep:
    """One pass over what the switch holds, or a part of it.

    Call `source`s, `destination`s, then `finish`.

    number: counts up from 1 with each sweep of the bridge.
    started: when the switch was asked; what was installed since is not judged.
    """

    def __init__(
        self, bridge: SwitchBridge, number: int, occasion: Occasion, started: float
    ) -> None:
        self._bridge = bridge
        self._addresses = bridge.addresses
        self._base = number * 4
        self._occasion = occasion
        self._started = started
        self._lost = bridge.addresses.lost()

    def source(self, half: HeldHalf, now: float) -> list[Effect]:
        """The switch holds a source half."""
        port, vid, mac, serial, packets, sticky = half
        addresses, effects = self._addresses, list[Effect]()
        entry = self._addresses.learned(vid, mac)
        if (
            entry is not None
            and addresses.port_of(entry) != port
            and entry.mark == self._base + _SOURCE
            and _later(serial, entry.serial)
        ):
            # Two source halves, left by a move that was cut short: the later is where the host is.
            effects.append(RemoveSource(addresses.port_of(entry), vid, mac, entry.serial))
            effects += self._addresses.forget(vid, mac)
            entry = None
        belongs = self._bridge.port_policies.vlans(port).has(vid)  # or no more
        if entry is None and self._occasion is Occasion.CONNECTED and belongs:
            entry, adopted = self._addresses.adopt(port, vid, mac, serial, now, sticky)
            effects += adopted
            if entry is not None and entry.serial != serial:
                return effects  # installed again
            if entry is not None:
                entry.installed = self._started - 1  # by a controller before us
        entry = self._right(entry, port, serial, sticky)
        if entry is None:
            return [*effects, RemoveSource(port, vid, mac, serial)]
        entry.mark = self._base + _SOURCE
        if packets != entry.source_packets:
            entry.source_packets = packets
            entry.updated = now
        return effects

    def destination(self, half: HeldHalf, now: float) -> list[Effect]:
        """The switch holds a destination half."""
        port, vid, mac, serial, packets, sticky = half
        entry = self._right(self._addresses.learned(vid, mac), port, serial, sticky)
        if entry is None:
            return [RemoveDestination(vid, mac, serial)]
        if entry.mark == self._base + _SOURCE:
            entry.mark = self._base + _BOTH
        if packets != entry.destination_packets:
            entry.destination_packets = packets
            entry.used = now
        return []

    def redirected(self, put: InstallDestination) -> list[Effect]:
        """The destination half just shown leads elsewhere than it should: in another way, not to
        another port."""
        addresses = self._addresses
        entry = addresses.learned(put.vid, put.mac)
        if entry is None or entry.serial != put.serial:
            return []
        if addresses.port_of(entry) != put.port:
            return []  # it was taken out
        addresses.count("mended")
        return [InstallSticky(*put, NO_PORT) if entry.lasts else put]

    def finish(self, now: float, serials: Iterable[int] | None = None) -> list[Effect]:
        """All flows with these serials (None: all flows) were shown: judge the entries."""
        addresses = self._addresses
        effects: list[Effect] = []
        silent_since = now - (self._bridge.params.ageing_time or inf)
        for vid, mac, entry in chain.from_iterable(
            map(addresses.cohort, addresses.cohorts() if serials is None else serials)
        ):
            if entry.installed >= self._started or not addresses.forwards(
                port := addresses.port_of(entry)
            ):
                continue
            aged = entry.updated <= silent_since and not entry.lasts
            if entry.mark == self._base + _BOTH:
                if aged and entry.updated < entry.installed:
                    effects.append(RemoveSource(port, vid, mac, entry.serial))
                    effects += addresses.expired(vid, mac, entry.serial)
            elif entry.lasts:
                addresses.count("mended")
                effects += addresses.reinstall(vid, mac, entry, now)
            elif entry.mark == self._base + _SOURCE:
                # Without its destination half a host is flooded to for as long as it talks.
                addresses.count("mended")
                effects.append(InstallDestination(port, vid, mac, entry.serial))
            elif (self._occasion is Occasion.RESTARTED or port in self._lost) and not aged:
                effects += addresses.reinstall(vid, mac, entry, now)
            else:
                effects += addresses.expired(vid, mac, entry.serial)
        return effects

    def _right(self, entry: Entry | None, port: int, serial: int, sticky: bool) -> Entry | None:
        """The entry, if a half with this port, serial and kind is as it should be."""
        addresses = self._addresses
        half = port, serial, sticky
        if entry is not None and half == (addresses.port_of(entry), entry.serial, entry.lasts):
            return entry if addresses.forwards(port) else None
        if entry is None or entry.installed < self._started:
            addresses.count("stale_flows")
        return None


def _later(serial: int, other: int) -> bool:
    """Serial number arithmetic: whether `serial` was given out after `other`."""
    return 0 < (serial - other) % COHORTS < COHORTS // 2
