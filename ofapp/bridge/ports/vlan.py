"""VLAN membership of ports (IEEE 802.1Q-2018 6.9, 8.6.2 ingress filtering, 8.6.5 egress).

One form is enough, that of `bridge vlan`: the VIDs a port is a member of, those that leave it
untagged, and the VID that untagged frames get.  Inside a bridge a frame carries the tag of its
VLAN; untagged it is in none, which is VID 0.  So a transparent port, a member of all VLANs that
passes frames unchanged, is the same as a port of a bridge without VLANs.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

ALL_VIDS = frozenset(range(1, 4095))
NO_VLAN = 0


@dataclass(frozen=True, slots=True)
class PortVlans:
    """The VLANs of a port.  vids: its membership, None for everything, untagged frames included.

    untagged: those of `vids` that leave without a tag; pvid: the VLAN of frames that arrive without
    one (or with VID 0, a priority tag), NO_VLAN when they are not admitted; tagged: whether frames
    with a tag are admitted (802.1Q-2018 6.9, Acceptable Frame Types).
    """

    vids: frozenset[int] | None = None
    untagged: frozenset[int] = frozenset()
    pvid: int = NO_VLAN
    tagged: bool = True

    @property
    def transparent(self) -> bool:
        """Whether frames pass unchanged."""
        return self.vids is None

    def has(self, vid: int) -> bool:
        """Whether the port is a member of the VLAN."""
        return self.vids is None or vid in self.vids

    def pops(self, vid: int) -> bool:
        """Whether frames of the VLAN leave without their tag."""
        return vid in self.untagged

    def classify(self, vid: int) -> int | None:
        """The VLAN of a frame that arrives with this VID, 0 for untagged; None: not admitted."""
        if self.vids is None:
            return vid
        if vid == NO_VLAN:
            return self.pvid or None
        return vid if self.tagged and vid in self.vids else None


TRANSPARENT = PortVlans()


def access(vid: int) -> PortVlans:
    """A port for hosts without VLAN tags."""
    return PortVlans(frozenset({vid}), frozenset({vid}), vid, tagged=False)


def trunk(
    vids: frozenset[int] = ALL_VIDS, native: int = NO_VLAN, native_tagged: bool = False
) -> PortVlans:
    """A port for other bridges.  native: the VLAN of untagged frames, a member in any case."""
    members = vids | {native} if native else vids
    return PortVlans(
        members, frozenset() if native_tagged or not native else frozenset({native}), native
    )


@lru_cache(256)
def blocks(vids: frozenset[int]) -> tuple[tuple[int, int], ...]:
    """The VIDs as the fewest (value, mask) pairs of 12 bits that aligned blocks allow.

    A trunk of all VLANs is a dozen flows and not four thousand.
    """
    return tuple(_blocks(sorted(vids)))


def _blocks(vids: list[int]) -> Iterator[tuple[int, int]]:
    for first, last in _ranges(vids):
        while first <= last:
            size = first & -first or 4096
            while first + size - 1 > last:
                size //= 2
            yield first, 0xFFF & ~(size - 1)
            first += size


def _ranges(vids: Iterable[int]) -> Iterator[tuple[int, int]]:
    first = last = None
    for vid in vids:
        if last is not None and vid == last + 1:
            last = vid
            continue
        if first is not None and last is not None:
            yield first, last
        first = last = vid
    if first is not None and last is not None:
        yield first, last


def spoken(vids: Iterable[int]) -> str:
    """The VIDs as text: "1-10,20"."""
    return ",".join(
        str(first) if first == last else f"{first}-{last}" for first, last in _ranges(sorted(vids))
    )
