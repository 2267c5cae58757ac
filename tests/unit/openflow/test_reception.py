"""Who connects and does not introduce itself is let go of; nobody else is."""

from __future__ import annotations

import pytest

import ofapp.common.hub  # noqa: F401

# isort: split
from ofapp.bridge.event import Event
from ofapp.openflow.wire import reception
from ofapp.openflow.wire.reception import PATIENCE, Reception


class Caller:
    """A connection as far as the reception looks at it."""

    def __init__(self, peer: str = "192.0.2.1") -> None:
        self.address = (peer, 4711)
        self.introduced = self.behind = self.dead = False

    def close(self) -> None:
        self.dead = True


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def desk(told: list[str]) -> Reception:
    def tell(_bridge: int | None, event: Event) -> None:
        told.append(event.kind)

    return Reception(tell)


def test_who_does_not_introduce_itself_in_time_has_to_go(desk: Reception, told: list[str]) -> None:
    silent, honest = Caller(), Caller()
    desk.come(silent, 0.0)
    desk.come(honest, 0.0)
    honest.introduced = True
    desk.review(PATIENCE - 1)
    assert not silent.dead
    desk.review(PATIENCE)
    assert silent.dead
    assert not honest.dead
    assert told == ["openflow.unintroduced"]
    assert desk.counters["late"] == 1
    desk.review(2 * PATIENCE)
    assert told == ["openflow.unintroduced"]


def test_time_in_which_it_waits_for_us_does_not_count(desk: Reception) -> None:
    caller = Caller()
    desk.come(caller, 0.0)
    caller.behind = True
    desk.review(3 * PATIENCE)
    caller.behind = False
    desk.review(4 * PATIENCE - 1)
    assert not caller.dead
    desk.review(4 * PATIENCE)
    assert caller.dead


def test_a_crowd_of_one_peer_costs_that_peer_a_connection(
    monkeypatch: pytest.MonkeyPatch, desk: Reception, told: list[str]
) -> None:
    monkeypatch.setattr(reception, "MOST", 10)
    good = [Caller(f"192.0.2.{number}") for number in range(4)]
    for caller in good:
        desk.come(caller, 0.0)
    crowd = [Caller("203.0.113.9") for _ in range(40)]
    for caller in crowd:
        desk.come(caller, 1.0)
    assert not any(caller.dead for caller in good)
    assert [caller.dead for caller in crowd] == [True] * 34 + [False] * 6
    assert desk.counters["crowd"] == 34
    assert set(told) == {"openflow.unintroduced"}


def test_who_is_in_is_not_counted(monkeypatch: pytest.MonkeyPatch, desk: Reception) -> None:
    monkeypatch.setattr(reception, "MOST", 10)
    switches = [Caller() for _ in range(50)]
    for switch in switches:
        desk.come(switch, 0.0)
        switch.introduced = True
    assert not any(switch.dead for switch in switches)


def test_that_no_connection_can_be_taken_is_told_and_that_one_can_again(
    desk: Reception, told: list[str]
) -> None:
    desk.full("Too many open files")
    desk.full("")
    assert told == ["openflow.full", "openflow.full.cleared"]
    assert desk.counters["full"] == 1
