"""The stored form of bindings: those of hosts, as users' are stored elsewhere."""

from collections.abc import Iterable, Iterator
from typing import Any

from ofapp.bridge.effects.content import BoundAddress
from ofapp.bridge.first_hop.binding import Binding, Origin
from ofapp.bridge.first_hop.bindings.bindings import Bindings
from ofapp.bridge.first_hop.params import MAX_BINDINGS
from ofapp.bridge.mac import MAC_MASK, is_group
from ofapp.common.portions import AT_ONCE, Portions

GRACE = 0.5
"""Part of its lifetime that a binding has at least after a restart.  A host renews its lease after
half of it (RFC 2131 4.4.5), and perhaps has while nothing could be seen of it."""


def rows(bindings: Iterable[Binding], now: float) -> Iterator[list[object]]:
    """The dynamic bindings, each as a list: JSON of ten thousand is small then."""
    for each in bindings:
        if each.origin.dynamic:
            left = None if each.expires is None else round(each.expires - now, 3)
            address = each.address.octets.hex(), each.address.bits
            yield [each.port, each.vid, each.mac, *address, each.origin.value, left, each.lifetime]


def restored(data: Any, bindings: Bindings, portions: Portions = AT_ONCE) -> list[str]:
    """Put stored bindings back at the time 0; gives what is wrong with some.

    data: `rows` as `bindings`, and as `passed` the seconds since they were stored.  ValueError.
    """
    try:
        stored, passed = data["bindings"], max(float(data["passed"]), 0.0)
    except (TypeError, KeyError, ValueError):
        raise ValueError("it has no bindings") from None
    if not isinstance(stored, list):
        raise ValueError("its bindings are no list")  # noqa: TRY004 (as other damage)
    damaged = 0
    for row in portions.of(stored[:MAX_BINDINGS]):
        try:
            bindings.restore(_binding(row, passed))
        except (TypeError, ValueError):
            damaged += 1
    return [f"{damaged} of its bindings are not valid"] if damaged else []


def _binding(row: Any, passed: float) -> Binding:
    """A binding by its row; TypeError or ValueError."""
    port, vid, mac, octets, bits, origin, left, lifetime = row
    address = BoundAddress(bytes.fromhex(octets), bits)
    if not isinstance(port, str) or not isinstance(vid, int) or not isinstance(mac, int):
        raise TypeError
    if not 0 <= vid <= 4094 or not 0 < mac <= MAC_MASK or is_group(mac) or not address.usable:
        raise ValueError
    expires = None
    if left is not None:
        lifetime = float(lifetime)
        expires = max(float(left) - passed, GRACE * lifetime)
    its_origin = Origin(origin)
    if not its_origin.dynamic:
        raise ValueError
    return Binding(port, vid, mac, address, its_origin, expires, lifetime)
