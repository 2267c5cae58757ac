"""Counters of a port."""

from __future__ import annotations

from typing import NamedTuple


class PortCount(NamedTuple):
    """Counters of one port since the switch began to count; None for what it does not count."""

    rx_frames: int | None
    tx_frames: int | None
    rx_bytes: int | None
    tx_bytes: int | None
    rx_dropped: int | None
    tx_dropped: int | None
    rx_errors: int | None
    tx_errors: int | None

    def plus(self, other: PortCount) -> PortCount:
        """The sum of both; None where either does not count."""
        pairs = zip(self, other, strict=True)
        return PortCount(*(None if None in pair else sum(filter(None, pair)) for pair in pairs))
