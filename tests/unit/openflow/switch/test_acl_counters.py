"""Counters that outlive the flows they are read from."""

from types import SimpleNamespace
from typing import Any

import ofapp.common.hub  # noqa: F401

# isort: split
from hypothesis import given
from hypothesis import strategies as st

from ofapp.openflow.pipeline.acl import rule_meter
from ofapp.openflow.switch.counters.acl import AclCounters, Count, Reading, Tally
from tests.unit.openflow.pipeline.test_acl import LIST, bridge_with, rules_of, tcp

KNOWN = (1, 2)


def test_a_sum_over_all_counters_of_a_thing() -> None:
    tally = Tally()
    tally.observe([Reading(1, "a", 5, 10, 100), Reading(1, "b", 5, 1, 7)], KNOWN, 100)
    assert tally.of(1) == Count(11, 107, 95)
    assert tally.of(2) is None


def test_what_a_counter_had_is_carried_on_when_it_begins_anew() -> None:
    tally = Tally()
    age = 20
    tally.observe([Reading(1, "a", 5, 10, 100), Reading(0, "other", age, 0, 0)], KNOWN, 100)
    for changed in (
        Reading(1, "a", 7, 3, 30),  # fewer than before
        Reading(1, "a", 1, 11, 110),  # more, but younger
        Reading(1, "a", 2, 12, 120),  # older than it was, but by less than all others
        Reading(1, "b", 0, 4, 40),  # at another place
    ):
        before = tally.of(1)
        assert before is not None
        age += 10
        tally.observe([changed, Reading(0, "other", age, 0, 0)], KNOWN, 110)
        assert tally.of(1) == Count(
            before.packets + changed.packets, before.octets + changed.octets, 95
        )


def test_a_switch_whose_time_stood_still_has_begun_nothing_anew() -> None:
    tally = Tally()
    for now in (100, 200):
        tally.observe([Reading(1, "a", 5, 10, 0), Reading(1, "b", 7, 1, 0)], KNOWN, now)
    assert tally.of(1) == Count(11, 0, 95)


def test_what_is_away_for_a_look_is_not_forgotten_but_what_is_not_wanted_is() -> None:
    tally = Tally()
    tally.observe([Reading(1, "a", 5, 10, 100), Reading(2, "a", 5, 1, 1)], KNOWN, 100)
    tally.observe([], (1,), 101)
    assert tally.of(1) == Count(10, 100, 95)
    assert tally.of(2) is None
    tally.observe([Reading(1, "a", 0, 2, 20), Reading(2, "a", 2, 1, 1)], KNOWN, 102)
    assert tally.of(1) == Count(12, 120, 95)
    assert tally.of(2) == Count(1, 1, 100)


def test_a_count_is_whole_since_it_says() -> None:
    """Of two counters that are found, the younger has missed what was before it."""
    tally = Tally()
    tally.observe([Reading(1, "a", 50, 10, 0), Reading(1, "b", 5, 10, 0)], KNOWN, 100)
    assert tally.of(1) == Count(20, 0, 95)


@given(
    st.lists(
        st.tuples(
            st.sampled_from("ab"), st.sampled_from(["hit", "reset", "delete", "move", "look"])
        )
    )
)
def test_no_hit_is_lost_or_counted_twice_if_each_change_is_preceded_by_a_look(
    steps: list[tuple[str, str]],
) -> None:
    tally, total, now = Tally(), 0, 100.0
    flows: dict[tuple[str, int], list[float]] = {("a", 0): [now, 0], ("b", 0): [now, 0]}

    def look() -> None:
        readings = [Reading(1, key, now - born, int(n), 0) for key, (born, n) in flows.items()]
        tally.observe([*readings, Reading(0, "another", now, 0, 0)], KNOWN, now)

    look()
    for flow, what in steps:
        now += 1
        here = [key for key in flows if key[0] == flow]
        if what == "hit" and here:
            flows[here[0]][1] += 1
            total += 1
        elif what != "hit":
            look()
        if what in ("delete", "move") and here:
            del flows[here[0]]
        if what == "move":
            flows[flow, here[0][1] + 1 if here else 0] = [now, 0]
        if what == "reset" and here:
            flows[here[0]] = [now, 0]
    look()
    assert tally.of(1) == Count(total, 0, 100)


def stats(meter: int, dropped: int) -> Any:
    band = SimpleNamespace(packet_band_count=dropped, byte_band_count=60 * dropped)
    return SimpleNamespace(meter_id=meter, duration_sec=9, duration_nsec=0, band_stats=[band])


def test_a_rate_that_drops_is_reported_once_and_its_end_too() -> None:
    hits = AclCounters(bridge_with(**{LIST: rules_of([tcp(80, rate=5, name="web")])}))
    meter = rule_meter(LIST, "web")

    def event_kinds(dropped: int) -> list[str]:
        return [event.kind for event in hits.see_meters([stats(meter, dropped), stats(7, 9)], 100)]

    assert event_kinds(0) == []
    assert event_kinds(3) == ["acl.limited"]
    assert event_kinds(8) == []
    assert event_kinds(8) == ["acl.limited.cleared"]
    assert event_kinds(8) == []
    assert event_kinds(2) == ["acl.limited"]  # the meter was made again
    assert hits.over_rate(LIST, "web") == 10
