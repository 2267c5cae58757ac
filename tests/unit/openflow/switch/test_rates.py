"""Rates: which ports are held back, what is reported, and when it is over."""

from ofapp.bridge.event import Severity
from ofapp.openflow.model.traps import SIGHTING
from ofapp.openflow.switch.counters.events import HELD_BACK
from ofapp.openflow.switch.counters.rates import LearningWatch, Policer, RateWatch


def test_a_port_above_the_rate_harms_nobody_else() -> None:
    policer = Policer(lambda _port: 2)
    flood = [(1, 0, mac) for mac in range(5)]
    assert policer.admit([*flood, (2, 0, 9)], 10.2) == [(1, 0, 0), (1, 0, 1), (2, 0, 9)]
    assert policer.dropped == {1: 3}
    assert policer.admit([(1, 0, 7)], 10.9) == []
    assert policer.admit([(1, 0, 7)], 11.0) == [(1, 0, 7)]


def test_the_beginning_and_the_end_are_reported_once() -> None:
    watch = RateWatch(HELD_BACK[SIGHTING], "sightings")

    def kinds(dropped: dict[int, int]) -> list[tuple[str, int | None]]:
        return [(event.kind, event.port) for event in watch.observe(dropped)]

    assert kinds({1: 0, 2: 0}) == []
    assert kinds({1: 5, 2: 0}) == [("packet_in.limited", 1)]
    assert kinds({1: 9, 2: 0}) == []
    assert kinds({1: 9, 2: 0}) == [("packet_in.limited.cleared", 1)]
    assert kinds({1: 10, 2: 0}) == [("packet_in.limited", 1)]
    assert kinds({2: 0}) == []  # the port is gone
    assert kinds({1: 0, 2: 0}) == []


def test_the_port_that_floods_is_reported_and_others_bridges_hosts_are_no_warning() -> None:
    watch = LearningWatch(lambda port: port == 1)

    def events_after(dropped: dict[int, int], now: float) -> list[tuple[str, int | None, Severity]]:
        return [(event.kind, event.port, event.severity) for event in watch.look(dropped, now)]

    assert events_after({}, 100.0) == []
    assert events_after({1: 9, 2: 9}, 100.0) == [
        ("learning.limited", 1, Severity.WARNING),
        ("learning.limited", 2, Severity.INFO),
    ]
    assert events_after({1: 9, 2: 20}, 101.0) == []
    assert events_after({1: 9, 2: 20}, 105.0) == [("learning.limited.cleared", 1, Severity.INFO)]
    assert events_after({1: 9, 2: 20}, 110.0) == [("learning.limited.cleared", 2, Severity.INFO)]
