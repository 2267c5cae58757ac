"""The forwarding database: which host is behind which port (IEEE 802.1D-2004 7.8 and 7.9).

Keyed by (VID, MAC), as dictionaries by VID: a flush or a filter by VID touches nothing else, and
a look-up by MAC alone costs one probe a VID.  The datapath ages the entries (its idle timeout
sees every frame, the controller does not) and notifies the controller.

An entry has a serial number that goes into the cookies of its flows.  It distinguishes this entry's
FLOW_REMOVED from that of an earlier entry of the same address, without comparing anything else.
Addresses learned at about the same time share one serial, as a cohort. Open vSwitch finds the flows
of one cookie by an index, and walks through all flows for anything else. So a switch with hundreds
of thousands of flows is read cohort by cohort.  There are few enough cohorts for a controller
without any state to ask for each.
"""

from array import array
from collections import Counter
from collections.abc import Collection, Iterator
from enum import Enum

from ofapp.bridge.mac import MAC_MASK

COHORTS = 1024
"""Serials are 1 to this, and wrap around."""
COHORT_SIZE = 64
"""Addresses that get the same serial before the next one is used."""
NO_PORT = 0  # OpenFlow numbers ports from 1


class EntryType(Enum):
    """Origin of an entry; only learned ones move and age.

    STICKY: learned on a sticky port: it stays there, and neither moves nor ages.
    EXTERN: set by a program, as extern_learn in Linux: it does not age, and becomes a learned one
    when it moves.
    """

    LEARNED = "learned"
    STICKY = "sticky"
    EXTERN = "extern_learn"
    STATIC = "static"
    LOCAL = "local"


# Bound once: used for each host.
_LEARNED, _STICKY, _EXTERN = EntryType.LEARNED, EntryType.STICKY, EntryType.EXTERN


class Entry:
    """One address.  Mutable and slotted: there are a hundred thousand.

    port: where it is, NO_PORT for a static entry whose port is absent.
    updated: when it was last seen as a source; used: as a destination (core time, seconds).
    installed: when its flows were last sent to the switch.
    source_packets, destination_packets: what its flows had counted when last polled.
    mark: the sweep that last saw its flows, see `Sweep`.
    """

    __slots__ = (
        "destination_packets",
        "installed",
        "mark",
        "port",
        "serial",
        "source_packets",
        "type",
        "updated",
        "used",
    )

    def __init__(self, port: int, type_: EntryType, serial: int, now: float) -> None:
        self.port = port
        self.type = type_
        self.serial = serial
        self.updated = now
        self.used = now
        self.installed = now
        self.source_packets = 0
        self.destination_packets = 0
        self.mark = 0

    @property
    def is_sticky(self) -> bool:
        """Whether it was learned for good."""
        return self.type is _STICKY

    @property
    def lasts(self) -> bool:
        """Whether it does not age, though it was learned or set as if it had been."""
        return self.type is _STICKY or self.type is _EXTERN

    @property
    def was_learned(self) -> bool:
        """Whether it was learned, or set as if it were: it counts towards limits and can be
        flushed."""
        return self.type is _LEARNED or self.type is _STICKY or self.type is _EXTERN


class Fdb:
    """The entries and their number by port; limits are elsewhere (`LearningLimits`).

    learned, learned_by_port: number of learned entries, including sticky and EXTERN ones.
    ports_in: the same by port, in each VLAN whose ports are counted.
    traced: changes of learned entries are reported as events, which cost more than the changes.
    """

    def __init__(self) -> None:
        self.tables: dict[int, dict[int, Entry]] = {}
        self.traced = False
        self.learned = 0
        self.learned_by_port: dict[int, int] = {}
        self.ports_in: dict[int, dict[int, int]] = {}
        self._set: Counter[int] = Counter()  # entries that were not learned, by VID
        self.serial = 0
        # The addresses, as VID << 48 | MAC, that got a serial; some have another one since.
        self._cohorts: dict[int, array[int]] = {}
        self._cohort_ends = 0

    def __len__(self) -> int:
        return sum(len(table) for table in self.tables.values())

    def __iter__(self) -> Iterator[tuple[int, int, Entry]]:
        """(vid, mac, entry) of all; safe against changes by the loop's body, one VID at a time."""
        for vid in list(self.tables):
            for mac, entry in list(self.tables.get(vid, {}).items()):
                yield vid, mac, entry

    def get(self, vid: int, mac: int) -> Entry | None:
        """The entry of an address, or None."""
        table = self.tables.get(vid)
        return table.get(mac) if table is not None else None

    def learned_in(self, vid: int) -> int:
        """Count the learned entries of a VLAN."""
        table = self.tables.get(vid)
        return 0 if table is None else len(table) - self._set[vid]

    def next_serial(self, but: int = 0) -> int:
        """The serial for a new entry; `but`: a serial that the address has already, not given."""
        members = self._cohorts.get(self.serial)
        if members is None or len(members) >= self._cohort_ends or self.serial == but:
            self.serial = self.serial % COHORTS + 1
            self._cohort_ends = len(self._cohorts.get(self.serial, ())) + COHORT_SIZE
        return self.serial

    def renew(self, vid: int, mac: int, entry: Entry) -> None:
        """Give a learned entry another serial."""
        entry.serial = self.next_serial(but=entry.serial)
        self._enroll(vid, mac, entry.serial)

    def cohorts(self) -> list[int]:
        """The serials that entries have, or had until lately."""
        return list(self._cohorts)

    def cohort(self, serial: int) -> list[tuple[int, int, Entry]]:
        """(vid, mac, entry) of the learned entries with that serial."""
        members = self._cohorts.get(serial, ())
        there = []
        for key in dict.fromkeys(members):
            vid, mac = key >> 48, key & MAC_MASK
            entry = self.get(vid, mac)
            if entry is not None and entry.serial == serial and entry.was_learned:
                there.append((vid, mac, entry))
        if not there:
            self._cohorts.pop(serial, None)
        elif len(there) < len(members):
            self._cohorts[serial] = array("Q", [vid << 48 | mac for vid, mac, _ in there])
        return there

    def _enroll(self, vid: int, mac: int, serial: int) -> None:
        members = self._cohorts.get(serial)
        if members is None:
            members = self._cohorts[serial] = array("Q")
        members.append(vid << 48 | mac)

    def add(self, vid: int, mac: int, entry: Entry) -> None:
        """Put a new entry in; there must be none for the address."""
        table = self.tables.get(vid)
        if table is None:
            table = self.tables[vid] = {}
        table[mac] = entry
        if entry.type is _LEARNED or entry.was_learned:
            self.learned += 1
            port, counts = entry.port, self.learned_by_port
            counts[port] = counts.get(port, 0) + 1
            if self.ports_in and (counts := self.ports_in.get(vid)) is not None:  # type: ignore[assignment]
                counts[port] = counts.get(port, 0) + 1
            members = self._cohorts.get(entry.serial)  # `_enroll`, inlined: runs for each host
            if members is None:
                members = self._cohorts[entry.serial] = array("Q")
            members.append(vid << 48 | mac)
        else:
            self._set[vid] += 1

    def remove(self, vid: int, mac: int) -> Entry:
        """Take an entry out; KeyError when there is none."""
        table = self.tables[vid]
        entry = table.pop(mac)
        if not table:
            del self.tables[vid]
        if entry.was_learned:
            self.learned -= 1
            self._uncount(vid, entry.port)
        else:
            self._set[vid] -= 1
        return entry

    def move(self, vid: int, entry: Entry, port: int) -> None:
        """A learned entry's host is behind another port now."""
        self._uncount(vid, entry.port)
        entry.port = port
        for counts in self._counts(vid):
            counts[port] = counts.get(port, 0) + 1

    def count_ports(self, vids: Collection[int]) -> None:
        """Count the learned entries of these VLANs by port from now on, and of no others."""
        for vid in [vid for vid in self.ports_in if vid not in vids]:
            del self.ports_in[vid]
        for vid in vids:
            if vid not in self.ports_in:
                table = self.tables.get(vid, {})
                ports = Counter(entry.port for entry in table.values() if entry.was_learned)
                self.ports_in[vid] = dict(ports)

    def drop_learned(
        self, ports: Collection[int] | None, vid: int | None, sticky: bool
    ) -> Counter[int]:
        """Take out the learned entries behind any of `ports` and in `vid`, None for any.

        sticky: those that do not age as well.  Gives how many there were, by port.
        """
        gone: Counter[int] = Counter()
        learned, among = _LEARNED, None if ports is None else frozenset(ports)
        for its_vid in list(self.tables) if vid is None else [vid]:
            table = self.tables.get(its_vid, {})
            doomed = [
                (mac, entry.port)
                for mac, entry in table.items()
                if (entry.type is learned or (sticky and entry.lasts))
                and (among is None or entry.port in among)
            ]
            for mac, _port in doomed:
                del table[mac]
            if not table:
                self.tables.pop(its_vid, None)
            here = Counter(port for _mac, port in doomed)
            for port, count in here.items():
                self._uncount(its_vid, port, count)
            gone += here
        self.learned -= gone.total()
        return gone

    def _uncount(self, vid: int, port: int, count: int = 1) -> None:
        for counts in self._counts(vid):
            left = counts[port] - count
            if left:
                counts[port] = left
            else:
                del counts[port]

    def _counts(self, vid: int) -> tuple[dict[int, int], ...]:
        """Where learned entries of a VLAN are counted by port."""
        counts = self.ports_in.get(vid)
        return (self.learned_by_port,) if counts is None else (self.learned_by_port, counts)
