"""How a device is taught addresses, and when that is given up."""

from __future__ import annotations

from typing import cast

import pytest

from ofapp.bench import rfc2889
from ofapp.bench.station import Station


class Bridge:
    """Knows as many addresses as fit, of those that come slowly enough."""

    def __init__(self, room: int, fastest: float) -> None:
        self.room, self.fastest = room, fastest
        self.known: set[int] = set()
        self.rates: list[float] = []

    def announce(self, hosts: range, rate: float) -> None:
        self.rates.append(rate)
        heard = list(hosts)[:: max(1, round(rate / self.fastest))]
        self.known = set([*self.known, *heard][: self.room])

    def unknown(self, hosts: range, rate: float) -> int:
        return len(set(hosts) - self.known)


@pytest.mark.parametrize(
    ("room", "fastest", "unknown", "rounds"),
    [
        (10_000, 1e6, 0, 1),
        (10_000, 6_000, 0, 3),  # half the rate until it hears all
        (800, 1e6, 200, 2),  # full: a repetition does not help
    ],
)
def test_repeated_as_long_as_it_helps(
    room: int, fastest: float, unknown: int, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rfc2889, "SETTLE_SECONDS", 0)
    bridge = Bridge(room, fastest)
    assert rfc2889.teach(cast(Station, bridge), range(1_000)) == unknown
    assert len(bridge.rates) == rounds
