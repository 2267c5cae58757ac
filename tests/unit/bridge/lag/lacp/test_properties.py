"""Actors over cables that lose, double and delay LACPDUs, die in one direction, are moved; actors
that are killed and return; with any setting meanwhile.

Never does anybody send for longer than the standard allows by a member that the other end does not
collect on: that is as long as the last LACPDU that said otherwise is good for, and may have been
under way.  Never does an aggregation send to two others for longer than that.  And when all is well
again both ends come to the same.
"""

import os
from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ofapp.bridge.lag.lacp.port import SHORT_TIMEOUT_TIME
from tests.unit.bridge.lag.lacp.lab import DOWN, UP, Lab

LATEST = 0.5
"""Seconds that a frame may be under way."""
AWAY = 2.0
ALLOWED = SHORT_TIMEOUT_TIME + LATEST + 0.01
AT_MOST = 30.0
"""Seconds until all is in use again: timeout, default, wait, and held back for a while."""

THOROUGH = bool(os.environ.get("OFAPP_THOROUGH"))


def examples(number: int) -> settings:
    """So many, and fifty times as many, other ones each time, where there is time for them."""
    return settings(
        max_examples=number * (50 if THOROUGH else 1),
        suppress_health_check=list(HealthCheck),
        derandomize=not THOROUGH,
        print_blob=True,
    )


ports = st.integers(1, 3)
actions = st.one_of(
    st.tuples(st.just("deaf"), ports, st.sampled_from("ab")),
    st.tuples(st.just("hears"), ports, st.sampled_from("ab")),
    st.tuples(st.just("unplug"), ports, st.just("a")),
    st.tuples(st.just("plug"), ports, st.just("a")),
    st.tuples(st.just("link"), ports, st.sampled_from("ab")),
    st.tuples(st.just("min_links"), ports, st.sampled_from("ab")),
    st.tuples(st.just("max_links"), ports, st.sampled_from("ab")),
    st.tuples(st.just("system_priority"), ports, st.sampled_from("ab")),
)
pauses = st.sampled_from([0.0, 0.05, 0.4, 1.0, 2.1, 3.2, 7.0])
steps = st.lists(st.tuples(pauses, actions), max_size=12)


def bad_cables(lab: Lab, seed: int, loss: float) -> None:
    """Frames get lost, come twice, and overtake each other."""
    random = Random(seed)

    def fate(_plug: object) -> list[float]:
        copies = 0 if random.random() < loss else 2 if random.random() < 0.2 else 1
        return [random.uniform(0.0001, LATEST) for _ in range(copies)]

    lab.fate = fate


def heal(lab: Lab) -> None:
    """Good cables from now on."""
    lab.deaf.clear()
    lab.fate = lambda _plug: (0.001,)


def act(lab: Lab, what: str, number: int, who: str) -> None:
    """One of the actions."""
    plug = (who, number + (10 if who == "b" else 0))
    match what:
        case "deaf":
            lab.deaf.add(plug)
        case "hears":
            lab.deaf.discard(plug)
        case "unplug":
            lab.unplug(plug)
        case "plug":
            lab.cable(plug, ("b", number + 10))
        case "link" if plug in lab.peers:  # at one end alone
            lab.link(plug, DOWN)
            lab.link(plug, UP)
        case "min_links":
            lab.set(who, min_links=min(number, lab.params[who].max_links))
        case "max_links":
            lab.set(who, max_links=number, min_links=min(number, lab.params[who].min_links))
        case "system_priority":
            lab.set(who, system_priority=number)


def two(passive: bool) -> Lab:
    """a and b with three cables."""
    lab = Lab()
    lab.add("a", [1, 2, 3], rate="fast")
    lab.add("b", [11, 12, 13], rate="fast", lacp="passive" if passive else "active")
    for number in (1, 2, 3):
        lab.cable(("a", number), ("b", number + 10))
    return lab


def agree(lab: Lab) -> bool:
    """Do both ends use the same links, and as many as both may?"""
    a, b = lab.params["a"], lab.params["b"]
    links = len([plug for plug in lab.peers if plug[0] == "a"])
    most = min(a.max_links, b.max_links, links)
    if links < max(a.min_links, b.min_links) or most == 0:
        return not lab.distributing("a") and not lab.distributing("b")
    used = lab.distributing("a")
    return len(used) == most and lab.distributing("b") == [port + 10 for port in used]


@given(steps, st.integers(), st.sampled_from([0.0, 0.3, 0.7]), st.booleans())
@examples(50)
def test_two_actors_agree_for_as_long_as_the_standard_says(
    story: list[tuple[float, tuple[str, int, str]]], seed: int, loss: float, passive: bool
) -> None:
    lab = two(passive)
    bad_cables(lab, seed, loss)
    for pause, action in story:
        lab.run(pause)
        act(lab, *action)
    lab.run(10)
    assert lab.longest_bad <= ALLOWED
    heal(lab)
    lab.run(AT_MOST)
    if not _stands_in_the_way(lab):
        assert agree(lab)
    quiet = len(lab.events)
    lab.run(20)
    assert {event.kind for _, _, event in lab.events[quiet:]} <= {"lacp.churn", "lacp.untold"}


def _stands_in_the_way(lab: Lab) -> bool:
    """An actor that cannot use fewer than min_links does not count those that the other end has no
    room for: then its aggregation is down, and is said to be, while some members are in use."""
    a, b = lab.params["a"], lab.params["b"]
    return a.min_links > b.max_links or b.min_links > a.max_links


@given(steps, st.integers(), st.lists(st.sampled_from("ab"), min_size=1, max_size=3))
@examples(30)
def test_actors_that_are_killed_and_return_agree_as_well(
    story: list[tuple[float, tuple[str, int, str]]], seed: int, killed: list[str]
) -> None:
    lab = two(False)
    bad_cables(lab, seed, 0.2)
    lab.run(5)
    random = Random(seed)
    for who in killed:
        lab.kill(who)
        for pause, (what, number, by) in story[:2]:
            if what in ("deaf", "hears", "unplug", "plug"):
                act(lab, what, number, by)
            lab.run(min(pause, AWAY / 2))
        lab.come_back(who)
        lab.run(random.choice([0.1, 1, 5]))
    lab.run(10)
    assert lab.longest_bad <= ALLOWED + len(killed) * (AWAY + SHORT_TIMEOUT_TIME)
    heal(lab)
    lab.run(AT_MOST)
    assert agree(lab)


three = st.lists(
    st.tuples(
        pauses, st.integers(1, 4), st.sampled_from(["b", "c"]), st.integers(1, 4), st.booleans()
    ),
    max_size=10,
)


@given(three, st.integers(), st.booleans())
@examples(30)
def test_of_three_actors_no_two_are_sent_to(
    story: list[tuple[float, int, str, int, bool]], seed: int, hidden: bool
) -> None:
    """Cables of a are moved between b and c, and sometimes the links stay up all the while, for
    something stands in between."""
    lab = Lab()
    lab.add("a", [1, 2, 3, 4], rate="fast")
    lab.add("b", [11, 12, 13, 14], rate="fast")
    lab.add("c", [21, 22, 23, 24], rate="fast")
    for number in (1, 2):
        lab.cable(("a", number), ("b", number + 10))
    for number in (3, 4):
        lab.cable(("a", number), ("c", number + 20))
    bad_cables(lab, seed, 0.2)
    for pause, mine, who, theirs, plain in story:
        lab.run(pause)
        end = (who, theirs + (10 if who == "b" else 20))
        if plain or not hidden:
            lab.cable(("a", mine), end)
        else:
            lab.replug(("a", mine), end)
    lab.run(10)
    assert lab.longest_bad <= ALLOWED
    assert lab.longest_split <= ALLOWED
    heal(lab)
    lab.run(AT_MOST)
    partners = {lab.peers["a", port][0] for port in lab.distributing("a")}
    plugged = {other for plug, (other, _) in lab.peers.items() if plug[0] == "a"}
    assert len(partners) == min(1, len(plugged))
    for who in partners:
        used = {lab.peers["a", port] for port in lab.distributing("a")}
        assert used == {plug for plug, other in lab.peers.items() if plug[0] == who and other}
