"""The group records of IGMPv3 and MLDv2 reports: one layout, two address sizes."""

from __future__ import annotations

from ofapp.bridge.multicast.address import is_host, is_multicast
from ofapp.bridge.multicast.message import Record


def parse_records(data: bytes, at: int, count: int, size: int) -> tuple[Record, ...] | None:
    """Parse `count` records from offset `at`; None if they run beyond the data.

    Records of an unknown type are skipped (RFC 3376 4.2.12), as are those whose group is no
    multicast address, and sources that no host can have; a duplicate source counts once.
    """
    end = len(data)
    records = []
    for _ in range(count):
        start = at + 4 + size
        if start > end:
            return None
        kind, aux = data[at], data[at + 1]
        total = data[at + 2] << 8 | data[at + 3]
        group = data[at + 4 : start]
        at = start + total * size
        if at + 4 * aux > end:
            return None
        if 1 <= kind <= 6 and is_multicast(group):
            if total:
                found = dict.fromkeys([data[i : i + size] for i in range(start, at, size)])
                records.append(Record(kind, group, tuple([s for s in found if is_host(s)])))
            else:
                records.append(Record(kind, group))
        at += 4 * aux
    return tuple(records)
