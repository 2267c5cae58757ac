"""Learning and forgetting addresses (IEEE 802.1D-2004 7.8, the Learning Process).

This is the hot path: `learn` runs once for every packet-in.  It takes whole batches, so that its
own cost is the dictionary work and little else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

from ofapp.bridge.effects import Effect, InstallEntry, RemoveDestination, RemoveSource
from ofapp.bridge.fdb import NO_PORT, Entry, EntryType, Fdb
from ofapp.bridge.limits import Cap
from ofapp.bridge.mac import is_group
from ofapp.bridge.params import BridgeParams

# Copies of a new host's frames keep arriving until its flows are in place: so long they are not
# news.  Later ones mean that the switch has lost the flows, and they are installed again.
IN_FLIGHT = 1.0

Sample = tuple[int, int, int]
"""(port, vid, mac): somebody was seen."""


class Learning:
    """Decides what the FDB learns, within the caps."""

    def __init__(self, fdb: Fdb, params: BridgeParams) -> None:
        self.fdb = fdb
        self.counters: Counter[str] = Counter()
        self.open_ports: set[int] = set()
        self.holding: set[int] = set()
        """Ports that learn but do not forward yet: what they learn is installed later."""
        self.local: dict[int, int] = {}
        """The bridge's own addresses: mac -> port."""
        self.bridge_cap = Cap(params.fdb_max_learned, None, "the bridge")
        self.port_caps: dict[int, Cap] = {}

    def learn(self, samples: Iterable[Sample], now: float) -> list[Effect]:
        """Take a batch of sightings; install what is new, moved or lost."""
        effects: list[Effect] = []
        add = effects.append
        tables = self.fdb.tables
        learned = EntryType.LEARNED
        for port, vid, mac in samples:
            table = tables.get(vid)
            entry = None if table is None else table.get(mac)
            if entry is None:
                if self._admissible(port, mac) and self._room(port, effects):
                    serial = self.fdb.next_serial()
                    self.fdb.add(vid, mac, Entry(port, learned, serial, now))
                    self.counters["learned"] += 1
                    if port not in self.holding:
                        add(InstallEntry(port, vid, mac, serial, NO_PORT))
            elif entry.type is not learned:
                self.counters["static_elsewhere"] += entry.port != port
            elif entry.port == port:
                if now - entry.installed >= IN_FLIGHT and port not in self.holding:
                    self._renew(entry, now)
                    self.counters["reinstalled"] += 1
                    add(InstallEntry(port, vid, mac, entry.serial, NO_PORT))
            elif self._admissible(port, mac) and self._room_on_port(port, effects):
                old_port, old_serial = entry.port, entry.serial
                self.fdb.move(entry, port)
                self._renew(entry, now)
                self.counters["moved"] += 1
                if port not in self.holding:
                    add(InstallEntry(port, vid, mac, entry.serial, old_port))
                else:
                    add(RemoveSource(old_port, vid, mac, old_serial))
                    add(RemoveDestination(vid, mac, old_serial))
        return effects

    def release(self, port: int) -> list[Effect]:
        """The port forwards from now on: install what it has learned so far."""
        if port not in self.fdb.learned_by_port:
            return []
        return [
            InstallEntry(port, vid, mac, entry.serial, NO_PORT)
            for vid, mac, entry in self.fdb
            if entry.port == port and entry.type is EntryType.LEARNED
        ]

    def expired(self, vid: int, mac: int, serial: int) -> list[Effect]:
        """The datapath aged an address out: its source half is gone, now the destination half.

        A notice about an earlier life of the address (another serial) changes nothing.
        """
        entry = self.fdb.get(vid, mac)
        if entry is None or entry.type is not EntryType.LEARNED or entry.serial != serial:
            self.counters["stale_notices"] += 1
            return []
        self.counters["expired"] += 1
        return [RemoveDestination(vid, mac, serial), *self.forget(vid, mac)]

    def forget(self, vid: int, mac: int) -> list[Effect]:
        """Drop a learned entry from the FDB only; gives the events of caps that have room again."""
        return self._released([self.fdb.remove(vid, mac).port])

    def forget_all(self, ports: Collection[int] | None, vid: int | None) -> list[Effect]:
        """Drop the learned entries behind any of `ports` and in `vid` (None: any) at once."""
        gone = self.fdb.drop_learned(ports, vid)
        self.counters["flushed"] += gone.total()
        return self._released(gone)

    def _released(self, ports: Iterable[int]) -> list[Effect]:
        events = [self.bridge_cap.release(self.fdb.learned)]
        for port in ports:
            if cap := self.port_caps.get(port):
                events.append(cap.release(self.fdb.learned_by_port.get(port, 0)))
        return [event for event in events if event is not None]

    def withdraw(self, vid: int, mac: int) -> list[Effect]:
        """Drop a learned entry from the FDB and the datapath."""
        entry = self.fdb.tables[vid][mac]
        return [
            RemoveSource(entry.port, vid, mac, entry.serial),
            RemoveDestination(vid, mac, entry.serial),
            *self.forget(vid, mac),
        ]

    def adopt(self, port: int, vid: int, mac: int, serial: int, now: float) -> Entry | None:
        """Take over an address whose flows a switch already holds; None when it may not be."""
        if not self._admissible(port, mac) or not self._room(port, []):
            return None
        entry = Entry(port, EntryType.LEARNED, serial, now)
        self.fdb.add(vid, mac, entry)
        self.fdb.serial = max(self.fdb.serial, serial)
        self.counters["adopted"] += 1
        return entry

    def _renew(self, entry: Entry, now: float) -> None:
        entry.serial = self.fdb.next_serial()
        entry.updated = entry.installed = now
        entry.source_packets = entry.destination_packets = 0

    def _admissible(self, port: int, mac: int) -> bool:
        """Whether an address can be learned there at all; the pipeline should have seen to it."""
        if port not in self.open_ports:
            self.counters["closed_port"] += 1
        elif not mac or is_group(mac):
            self.counters["invalid_source"] += 1
        elif mac in self.local:
            self.counters["own_address"] += 1
        else:
            return True
        return False

    def _room(self, port: int, effects: list[Effect]) -> bool:
        cap = self.bridge_cap
        if cap.limit is not None and self.fdb.learned >= cap.limit:
            self.counters["refused_bridge_limit"] += 1
            if event := cap.refuse():
                effects.append(event)
            return False
        return self._room_on_port(port, effects)

    def _room_on_port(self, port: int, effects: list[Effect]) -> bool:
        cap = self.port_caps.get(port)
        if cap is None or cap.limit is None or self.fdb.learned_by_port.get(port, 0) < cap.limit:
            return True
        self.counters["refused_port_limit"] += 1
        if event := cap.refuse():
            effects.append(event)
        return False
