"""An actor to plain data and back; nothing that is in a file makes another actor of it."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ofapp.bridge.lag.lacp import Actor, OtherIdentityError, dump, revive
from ofapp.bridge.lag.params import LagParams
from tests.unit.bridge.lag.lacp.lab import DOWN, UP, Lab, pair


def dumped() -> tuple[Lab, Any]:
    """Of two members, one is in use and the other waits."""
    lab = pair(3)
    lab.run(10)
    lab.unplug(("a", 3))
    lab.cable(("a", 3), ("b", 13))
    lab.run(0.5)
    return lab, json.loads(json.dumps(dump(lab.actor("a"))))


LAB, DATA = dumped()


def revived(data: Any, **params: Any) -> Actor:
    given = LagParams(("eth1", "eth2", "eth3"), **params)
    return revive("a", given, 1, data)


def test_through_a_file_and_back() -> None:
    actor = revived(DATA)
    assert actor.members == {1: (True, True), 2: (True, True), 3: (False, False)}
    assert actor.members == LAB.actor("a").members
    assert actor.status().partner == LAB.actor("a").status().partner
    assert actor.up


def test_the_revision_counts_what_is_kept() -> None:
    lab = pair(2)
    lab.run(40)
    revision = lab.actor("a").revision
    lab.run(100)
    assert lab.actor("a").revision == revision
    lab.unplug(("a", 1))
    assert lab.actor("a").revision > revision


def test_a_member_that_is_gone_meanwhile_goes_and_a_dead_link_is_out() -> None:
    actor = revived(DATA)
    actor.go_on(100.0)
    effects = [*actor.remove(1, 100.0), *actor.set_link(2, DOWN, 100.0)]
    assert {(e.port, e.collecting) for e in effects if hasattr(e, "collecting")} == {
        (1, False),
        (2, False),
    }
    assert [*actor.members] == [2, 3]


def test_fallback_is_kept() -> None:
    lab = Lab()
    lab.add("a", [1, 2], fallback=True)
    for port in (1, 2):
        lab.peers["a", port] = ("x", port)
        lab.does["x", port] = (True, True)
    lab.link(("a", 2), UP)
    lab.run(10)
    assert lab.distributing("a") == [2]
    lab.link(("a", 1), UP)
    lab.kill("a")
    lab.run(10)
    lab.come_back("a")
    lab.run(20)
    assert lab.distributing("a") == [2]
    assert lab.member(("a", 2)).flaps == 0


@pytest.mark.parametrize("params", [{"system_priority": 1}, {"port_priority": 1}], ids=str)
def test_another_identity_is_another_actor(params: dict[str, int]) -> None:
    with pytest.raises(OtherIdentityError):
        revived(DATA, **params)


def test_what_is_no_part_of_the_identity_may_have_changed() -> None:
    assert revived(DATA, rate="fast", min_links=2, max_links=2).up


PATHS: list[tuple[Any, ...]] = [
    ("format",),
    ("address",),
    ("identity",),
    ("lag_id",),
    ("fallback",),
    ("ports",),
    *(("ports", 0, key) for key in DATA["ports"][0]),
    ("ports", 0, "partner", 1),
    ("ports", 0, "link", 0),
    ("lag_id", 0),
]

junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


@given(st.sampled_from(PATHS), junk)
def test_damaged_data_are_refused_or_make_an_actor_that_works(path: Any, value: Any) -> None:
    data = copy.deepcopy(DATA)
    at = data
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    try:
        actor = revived(data)
    except ValueError:
        return
    actor.go_on(0.0)
    for now in (1.0, 5.0, 100.0, 200.0):
        actor.tick(now)
    actor.status()


def test_a_member_that_is_there_twice_is_refused() -> None:
    data = copy.deepcopy(DATA)
    data["ports"].append(data["ports"][0])
    with pytest.raises(ValueError, match="twice"):
        revived(data)


@pytest.mark.parametrize(("key", "value"), [("port_no", 0), ("receive", "port-disabled")])
def test_a_member_that_cannot_be_is_refused(key: str, value: Any) -> None:
    data = copy.deepcopy(DATA)
    data["ports"][0][key] = value
    with pytest.raises(ValueError, match="port"):
        revived(data)


@pytest.mark.parametrize("data", [{}, {"format": 1}, {"format": 9}])
def test_what_is_no_dump(data: Any) -> None:
    with pytest.raises(ValueError, match=r"format|not a dump"):
        revived(data)


def test_what_makes_no_actor() -> None:
    with pytest.raises(ValueError, match="static"):
        Actor("a", LagParams(("eth0",), lacp="off"), 1, 1)
    for key in (0, 4096):
        with pytest.raises(ValueError, match="key"):
            Actor("a", LagParams(("eth0",)), 1, key)
    actor = Actor("a", LagParams(("eth0",)), 1, 1)
    with pytest.raises(ValueError, match="static"):
        actor.set_params(LagParams(("eth0",), lacp="off"), 0.0)
    actor.add(1, 1, DOWN, 0.0)
    with pytest.raises(ValueError, match="already"):
        actor.add(1, 1, DOWN, 0.0)
    with pytest.raises(ValueError, match="65535"):
        actor.add(65536, 1, DOWN, 0.0)
