"""The IP addresses that hosts were last heard with: what people know a host by.

The bridge decides nothing by them.  They are read from frames that come to the controller anyway: a
few of the first of hosts that are learned, and IGMP and MLD.  So it costs the switch nothing and
learning next to nothing; and it is what a host claims, which may be another one's address.  What
was said before the controller started is not known.

Any host may claim any number of addresses, and invent others' MAC addresses: each has a few, the
last ones; a bridge has room for so many hosts, and makes more by forgetting those that its FDB has
forgotten.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from ofapp.bridge.effects import Effect
from ofapp.bridge.event import Event, Severity
from ofapp.bridge.fdb import Fdb
from ofapp.bridge.ip_source import own_address
from ofapp.bridge.mac import MAC_MASK
from ofapp.bridge.sending import frame_vid

ADDRESSES = 4
"""Of one host, the last heard."""

HOSTS = 65_536
"""Of one bridge; some 15 MB."""

_LOOKS = 8  # at hosts that may be forgotten, for each that there is no room for

Host = tuple[int, int]
"""(VID, MAC address)."""


class IpAddresses:
    """Of one bridge.  Addresses are 4 or 16 octets.

    counters: addresses of which a host had too many, so that its oldest was forgotten; and hosts
    that there was no room for.
    """

    def __init__(self, fdb: Fdb, hosts: int = HOSTS) -> None:
        self.counters: Counter[str] = Counter()
        self._fdb = fdb
        self._most = hosts
        self._told: dict[int, tuple[bytes, ...]] = {}  # by VID << 48 | MAC, the last heard last
        self._full = False
        self._round: Iterator[int] = iter(())  # hosts that may be forgotten

    def __len__(self) -> int:
        """Hosts."""
        return len(self._told)

    def of(self, vid: int, mac: int) -> tuple[bytes, ...]:
        """Those of a host, the last heard first."""
        return self._told.get(vid << 48 | mac, ())[::-1]

    def hosts(self) -> Iterator[tuple[Host, tuple[bytes, ...]]]:
        """Everybody whose address is known and whom the FDB knows then, too; whatever changes."""
        for key, own in list(self._told.items()):
            host = key >> 48, key & MAC_MASK
            if self._fdb.get(*host) is not None:
                yield host, own

    def having(self, address: bytes) -> frozenset[Host]:
        """Those who were heard with it, and whom the FDB knows."""
        found = [key for key, own in self._told.items() if address in own]
        hosts = ((key >> 48, key & MAC_MASK) for key in found)
        return frozenset(host for host in hosts if self._fdb.get(*host) is not None)

    def hear(self, frames: Iterable[tuple[int, bytes]]) -> list[Effect]:
        """Frames came in, by these ports, of whose senders the FDB has heard."""
        effects: list[Effect] = []
        told, tables = self._told, self._fdb.tables
        for port, frame in frames:
            address = own_address(frame)
            if address is None:
                continue
            vid, mac = frame_vid(frame), int.from_bytes(frame[6:12], "big")
            entry = tables[vid].get(mac) if vid in tables else None
            if entry is not None and entry.port != port:
                continue  # somebody else says to be this host, and is not believed
            key = vid << 48 | mac
            before = told.get(key)
            if before is None:
                if len(told) < self._most or self._has_room():
                    told[key] = (address,)
                else:
                    self._refuse(effects)
            elif before[-1] != address:
                told[key] = self._with(before, address)
        if self._full and len(told) < self._most * 7 // 8:
            self._full = False
            effects.append(Event("fdb.ip_full.cleared", "there is room for IP addresses again"))
        return effects

    def _with(self, before: tuple[bytes, ...], address: bytes) -> tuple[bytes, ...]:
        others = tuple(each for each in before if each != address)
        if len(others) >= ADDRESSES:
            self.counters["ip_addresses_replaced"] += 1
        return (*others[1 - ADDRESSES :], address)

    def _has_room(self) -> bool:
        """After a look at whether some are not in the FDB any more, a few at a time."""
        for _ in range(_LOOKS):
            key = next(self._round, None)
            if key is None:
                self._round = iter(list(self._told))
            elif self._fdb.get(key >> 48, key & MAC_MASK) is None:
                self._told.pop(key, None)
        return len(self._told) < self._most

    def _refuse(self, effects: list[Effect]) -> None:
        self.counters["ip_hosts_refused"] += 1
        if not self._full:
            self._full = True
            text = f"the IP addresses of {self._most} hosts are known: others' are not noted"
            effects.append(Event("fdb.ip_full", text, Severity.WARNING, data={"hosts": self._most}))
