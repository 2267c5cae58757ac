"""How many sightings each port may send: as many as can be taken, shared out when there are more.

The switches and the controller here are numbers, and so is time.
"""

from dataclasses import dataclass, field

import pytest

from ofapp.bridge.fdb.rates import FASTEST, QUIET, Load, Rates, share_controller, shares

SURE = 1_000
STEP = 0.25


def test_each_gets_as_much_as_anybody_else_but_no_more_than_it_asks_for() -> None:
    assert shares({"a": 10, "b": 90, "c": 200}, 150) == {"a": 10, "b": 70, "c": 70}
    assert shares({"a": 10, "b": 20}, 150) == {"a": 10, "b": 20}
    assert shares({"a": 10, "b": 20}, 0) == {"a": 0, "b": 0}
    assert shares({}, 9) == {}


@dataclass
class Bench:
    """A switch that takes `capacity` new addresses a second, and ports with as many to tell of.

    offered: sightings a second by port; invented: those of them that there is no room for;
    waiting: what the switch has not been told of; done: what it has; changes: how often a rate
    changed.
    """

    capacity: float = 1e9
    controller: float | None = None
    offered: dict[int, float] = field(default_factory=dict)
    invented: set[int] = field(default_factory=set)
    rates: Rates = field(default_factory=Rates)
    now: float = 100.0
    waiting: float = 0.0
    done: float = 0.0
    changes: int = 0

    def rate(self, port: int) -> int:
        return self.rates.of(port, SURE)

    def pass_time(self, seconds: float) -> None:
        for _ in range(round(seconds / STEP)):
            self.now += STEP
            seen = {
                port: int(min(rate, self.rate(port)) * STEP) for port, rate in self.offered.items()
            }
            new = {port: count for port, count in seen.items() if port not in self.invented}
            offered = sum(new.values())
            done = min(self.waiting + offered, self.capacity * STEP)
            self.waiting = min(self.waiting + offered - done, 10_000)
            self.done += done
            share = done / offered if offered else 0
            learned = {port: int(count * share) for port, count in new.items()}
            load = Load(STEP, seen, learned, int(self.waiting))
            self.changes += len(self.rates.observe(load, SURE, self.controller, self.now))


def test_an_uplink_has_all_its_hosts_learned_in_seconds() -> None:
    bench = Bench(capacity=40_000, offered={1: 30_000})
    bench.pass_time(0.75)
    assert bench.rate(1) > 30_000
    assert bench.changes <= 6
    bench.pass_time(8)
    assert bench.changes <= 6


def test_a_port_that_asks_for_little_keeps_what_it_is_sure_of() -> None:
    bench = Bench(offered={1: 700})
    bench.pass_time(30)
    assert bench.rates.raised == {}
    assert bench.changes == 0


def test_a_switch_that_has_too_much_to_do_shares_out_what_it_does() -> None:
    bench = Bench(capacity=12_000, offered={1: 50_000, 2: 50_000, 3: 2_000})
    bench.pass_time(60)
    lowest, highest = 12_000, 0
    for _ in range(40):
        bench.pass_time(STEP)
        total = sum(min(bench.offered[port], bench.rate(port)) for port in bench.offered)
        lowest, highest = min(lowest, total), max(highest, total)
        assert bench.rate(1) == pytest.approx(bench.rate(2), rel=0.7)
        assert bench.rate(3) >= 2_000
    assert 0.6 * bench.capacity < lowest
    assert highest < 2.0 * bench.capacity
    assert bench.waiting < 10_000


@pytest.mark.parametrize("after", [1.0, 2.0, 3.0, 5.0])
def test_a_switch_that_stands_still_for_a_moment_goes_on_as_fast_as_it_can(after: float) -> None:
    bench = Bench(capacity=14_000, offered={1: 25_000})
    bench.pass_time(after)
    bench.capacity = 0
    bench.pass_time(2 * STEP)
    bench.capacity = 14_000
    before = bench.done
    bench.pass_time(8)
    assert bench.done - before > 0.85 * 8 * 14_000


def test_nothing_is_raised_while_more_waits_than_the_switch_takes_till_the_next_look() -> None:
    rates = Rates()
    assert rates.observe(Load(STEP, {1: 300}, {1: 300}, 2_000), SURE, None, 1.0) == []
    assert rates.observe(Load(STEP, {1: 300}, {1: 300}, 400), SURE, None, 1.0 + STEP) == [1]


def test_a_switch_that_has_become_slower_gets_less() -> None:
    bench = Bench(capacity=40_000, offered={1: 50_000})
    bench.pass_time(10)
    bench.capacity = 4_000
    bench.pass_time(6)
    assert bench.rate(1) < 8_000


def test_rates_change_seldom_also_when_there_is_too_much_to_do() -> None:
    bench = Bench(capacity=12_000, offered={1: 50_000})
    bench.pass_time(20)
    before = bench.changes
    bench.pass_time(60)
    assert bench.changes - before < 60


def test_nobody_has_less_than_he_is_sure_of() -> None:
    bench = Bench(capacity=3_000, offered=dict.fromkeys(range(1, 9), 50_000.0))
    bench.pass_time(60)
    assert {bench.rate(port) for port in range(1, 9)} <= set(range(SURE, 2 * SURE + 2))


def test_whoever_invents_addresses_that_there_is_no_room_for_falls_back() -> None:
    bench = Bench(offered={1: 50_000, 2: 20_000})
    bench.pass_time(3)
    assert bench.rate(1) > 30_000
    bench.invented = {1}
    bench.pass_time(2)
    assert bench.rate(1) == SURE
    bench.pass_time(30)
    assert bench.rate(1) == SURE
    assert bench.rate(2) > 15_000


def test_a_port_that_has_become_quiet_falls_back() -> None:
    bench = Bench(offered={1: 20_000})
    bench.pass_time(3)
    bench.offered = {}
    bench.pass_time(QUIET - 1)
    assert bench.rate(1) > 15_000
    bench.pass_time(2)
    assert bench.rates.raised == {}


def test_a_port_that_needs_more_than_it_is_sure_of_keeps_it() -> None:
    bench = Bench(offered={1: 20_000})
    bench.pass_time(3)
    bench.offered = {1: 3_000}
    before = bench.changes
    bench.pass_time(60)
    assert bench.changes == before


def test_a_rate_has_an_end() -> None:
    bench = Bench(offered={1: 1e9})
    bench.pass_time(30)
    assert bench.rate(1) == FASTEST


def test_a_rate_in_the_file_above_all_is_left_alone() -> None:
    rates = Rates()
    load = Load(STEP, {1: 10**6}, {1: 10**6}, 0)
    assert rates.observe(load, 2 * FASTEST, None, 1.0) == []
    assert rates.of(1, 2 * FASTEST) == 2 * FASTEST


def test_switches_share_a_controller_that_is_late() -> None:
    loads = {
        "flooded": Load(STEP, {1: 10_000}, {1: 10_000}, 0),
        "busy": Load(STEP, {1: 5_000, 2: 5_000}, {1: 5_000}, 0),
        "quiet": Load(STEP, {1: 10}, {1: 10}, 0),
    }
    assert set(share_controller(loads, lags=False).values()) == {None}
    given = share_controller(loads, lags=True)
    assert given["quiet"] == 40
    assert given["flooded"] == given["busy"]
    assert sum(value or 0 for value in given.values()) < sum(load.done for load in loads.values())
    assert share_controller({}, lags=True) == {}


def test_a_late_controller_lowers_rates_and_then_raises_them_with_care() -> None:
    bench = Bench(offered={1: 30_000})
    bench.pass_time(3)
    assert bench.rate(1) > 30_000
    bench.controller = 8_000
    bench.pass_time(STEP)
    assert bench.rate(1) == 8_000
    bench.controller = None
    bench.pass_time(3 * STEP)
    assert bench.rate(1) == 8_000
    bench.pass_time(30)
    assert bench.rate(1) > 30_000
