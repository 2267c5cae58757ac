"""IPv6 prefixes that routers announce, by VLAN: hosts may take addresses in them (RFC 6620 2.5)."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ofapp.bridge.effects.content import BoundAddress
from ofapp.bridge.first_hop.bindings.stored import GRACE
from ofapp.bridge.packet.neighbour import Prefix

MOST = 64
"""Most prefixes of a VLAN."""
LEAST_LEFT = 7200.0
"""Seconds for which hosts keep addresses of a prefix that is taken back (RFC 4862 5.5.3)."""


class _Announced(NamedTuple):
    """When a prefix ends, and its lifetime; None: never."""

    expires: float | None
    lifetime: float | None


class Prefixes:
    """The prefixes of a bridge.  Times are the protocol's."""

    def __init__(self) -> None:
        self.refused = 0
        self._vlans: dict[int, dict[BoundAddress, _Announced]] = {}

    def __iter__(self) -> Iterator[tuple[int, BoundAddress]]:
        """VID and prefix of all."""
        for vid, prefixes in self._vlans.items():
            for prefix in prefixes:
                yield vid, prefix

    def has(self, vid: int, octets: bytes, now: float) -> bool:
        """Whether an address is in a prefix that is valid."""
        number = int.from_bytes(octets, "big")
        for prefix, announced in self._vlans.get(vid, {}).items():
            start, free = int.from_bytes(prefix.octets, "big"), 128 - prefix.bits
            if number >> free == start >> free and _lasts(announced, now):
                return True
        return False

    def announce(self, vid: int, prefixes: Iterable[Prefix], now: float) -> bool:
        """Apply a router advertisement; gives whether there is a prefix that was not known.

        refused: prefixes beyond the limit.
        """
        news = False
        for each in prefixes:
            address = BoundAddress(each.octets, each.bits)
            if not (each.on_link or each.autonomous) or not 0 < each.bits <= 128:
                continue
            known = self._vlans.setdefault(vid, {})
            old = known.get(address)
            if old is None and len(known) >= MOST:
                known = self._vlans[vid] = {k: a for k, a in known.items() if _lasts(a, now)}
                if len(known) >= MOST:
                    self.refused += 1
                    continue
            expires = None if each.lifetime is None else now + each.lifetime
            if old is None:
                if each.lifetime == 0:
                    continue
                news = True
            elif expires is not None and each.lifetime is not None and each.lifetime < LEAST_LEFT:
                least = now + LEAST_LEFT
                kept = least if old.expires is None else min(old.expires, least)
                expires = max(expires, kept)
            known[address] = _Announced(expires, each.lifetime)
        return news

    def rows(self, now: float) -> list[list[object]]:
        """The stored form."""
        return [
            [
                *(vid, prefix.octets.hex(), prefix.bits),
                *(None if each.expires is None else round(each.expires - now, 3), each.lifetime),
            ]
            for vid, prefixes in self._vlans.items()
            for prefix, each in prefixes.items()
            if _lasts(each, now)
        ]

    def restore(self, rows: Any, passed: float) -> None:
        """Put stored prefixes back at the time 0; those that are damaged are left out."""
        for row in rows if isinstance(rows, list) else ():
            try:
                vid, octets, bits, left, lifetime = row
                prefix = BoundAddress(bytes.fromhex(octets), int(bits))
                if left is not None:
                    left = max(float(left) - passed, GRACE * float(lifetime))
                if len(prefix.octets) == 16 and 0 < bits <= 128 and 0 <= int(vid) <= 4094:
                    self._vlans.setdefault(vid, {})[prefix] = _Announced(left, lifetime)
            except (TypeError, ValueError):
                continue


def _lasts(announced: _Announced, now: float) -> bool:
    return announced.expires is None or now < announced.expires
