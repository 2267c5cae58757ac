"""The numbers of logical ports: the same after a restart and after a reload.

Spanning tree numbers ports in 12 bits (802.1D-2004 9.2.7), so they come from the top of that range,
where switches number no ports.  `lag0` is 4095, `bond1` 4094: the number in a name counts down from
there, and a name without one is hashed.  Names with the same preference are numbered in the order
of the file; a running aggregation keeps its number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from zlib import crc32

from ofapp.bridge.ports.port import MAX_PORTS

MOST = 512
"""Most aggregations of one bridge."""


def numbered(names: Iterable[str], taken: Mapping[str, int]) -> dict[str, int]:
    """A number for each name; taken: numbers that some of them have already.

    There are `MOST` numbers: further names get none.
    """
    wanted = list(names)
    found = {name: taken[name] for name in wanted if name in taken}
    used = set(found.values())
    for name in wanted:
        free = (MAX_PORTS - (_preferred(name) + step) % MOST for step in range(MOST))
        number = found.get(name) or next((number for number in free if number not in used), None)
        if number is not None:
            found[name] = number
            used.add(number)
    return {name: found[name] for name in wanted if name in found}


def _preferred(name: str) -> int:
    digits = re.search(r"\d+$", name)
    return (int(digits[0]) if digits else crc32(name.encode())) % MOST
