"""Rates through real bridges: a port at its limit has its meter raised, by what its switch does."""

from __future__ import annotations

from typing import Any

import pytest

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Effect, RenewPort
from ofapp.bridge.fdb.rates import Load
from ofapp.bridge.params.params import BridgeParams
from ofapp.controller.bridges.throttle import INTERVAL, Throttle


class Session:
    """What a throttle asks of one: its bridge, its load, and to carry effects out."""

    def __init__(self, number: int) -> None:
        self.bridge = Bridge(number, BridgeParams(packet_in_rate=100))
        self.seen = 0
        self.applied: list[Effect] = []

    def load(self, seconds: float) -> Load:
        seen = {3: self.seen} if self.seen else {}
        return Load(seconds, seen, seen, 0)

    def report_drops(self, now: float) -> None:
        pass

    def apply(self, effects: list[Effect]) -> None:
        self.applied += effects


@pytest.fixture
def sessions() -> dict[int, Session]:
    return {1: Session(1), 2: Session(2)}


def test_only_who_is_at_his_limit_is_reported(sessions: dict[int, Any]) -> None:
    throttle = Throttle(sessions)
    sessions[1].seen = 100
    throttle.adjust(INTERVAL, 10.0)
    assert sessions[1].applied == [RenewPort(3)]
    assert sessions[1].bridge.sighting_rate(3) > 100
    assert sessions[1].bridge.sighting_rate(4) == 100
    assert sessions[2].applied == []


def test_a_late_controller_lowers_who_has_more_than_his_share(sessions: dict[int, Any]) -> None:
    throttle = Throttle(sessions)
    sessions[1].seen, sessions[2].seen = 1_000, 30
    for number in range(9):
        throttle.adjust(INTERVAL, 10.0 + number)
    before = sessions[1].bridge.sighting_rate(3)
    throttle.adjust(INTERVAL + 0.2, 20.0)
    assert 100 < sessions[1].bridge.sighting_rate(3) < before
    assert sessions[2].bridge.sighting_rate(3) == 100
    assert sessions[2].applied[-1] == RenewPort(3)
