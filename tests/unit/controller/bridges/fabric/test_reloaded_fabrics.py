"""Another file: what it changes in fabrics, and what it cannot change while they run."""

from __future__ import annotations

from typing import Any

import pytest

from ofapp.config import Config
from ofapp.controller.configuration.fabric_changes import fabric_changes, fabric_faults, keeps_place


def member(number: int, *links: str) -> dict[str, Any]:
    return {"bridge": f"{number:016x}", "links": links or ("l*",)}


def pod(*names: str, **more: Any) -> Config:
    """A fabric of these members; `more`: its other settings."""
    members = {name: member(int(name[1:], 16)) for name in names}
    return Config.model_validate({"fabrics": {"pod": {"members": members, **more}}})


OLD = pod("s1", "s2", "s3")
NONE = Config()


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        (OLD, pod("s1", "s2", "s3"), []),
        (OLD, pod("s1", "s2"), ["pod: s3 leaves"]),
        (OLD, pod("s1", "s2", "s3", "s4"), ["pod: s4 joins"]),
        (OLD, pod("s1", "s2", "s3", mtu=9000), ["pod: mtu: 1500 -> 9000"]),
        (OLD, pod("s1", "s2", "s3", costs={"s1/l1": 5}), ["pod: other costs"]),
        (OLD, pod("s1", "s2", "s3", cables=[["s1/l1", "s2/l1"]]), ["pod: other cables"]),
        (NONE, OLD, ["pod: is new, of s1, s2, s3"]),
        (OLD, NONE, ["pod: is none any more, each member is a separate bridge"]),
    ],
)
def test_changes_in_words(old: Config, new: Config, changes: list[str]) -> None:
    assert [*fabric_changes(old, new)] == changes
    assert [*fabric_faults(old, new)] == []


def test_other_links_of_a_member_in_words() -> None:
    members = {"s1": member(1, "a*", "b1"), "s2": member(2), "s3": member(3)}
    new = Config.model_validate({"fabrics": {"pod": {"members": members}}})
    assert fabric_changes(OLD, new) == ("pod: links of s1: a*, b1",)


@pytest.mark.parametrize(
    ("new", "path", "what"),
    [
        (pod("s1", "s3"), "fabrics.pod.members.s3", "s2 was in this place: members are numbered"),
        (pod("s9", "s1", "s2", "s3"), "", ""),
        (pod("s2", "s1", "s3"), "fabrics.pod.members.s2", "s1 was in this place"),
        (pod("s1", "s2", "s3", number=9), "fabrics.pod.number", "leave 1, or take the fabric out"),
    ],
)
def test_what_would_renumber_is_refused(new: Config, path: str, what: str) -> None:
    (fault,) = fabric_faults(OLD, new)
    if path:
        assert ".".join(map(str, fault[0])) == path
        assert what in fault[1]


def test_another_switch_in_a_member_s_place_is_refused() -> None:
    members = {"s1": member(1), "s2": member(0xFF), "s3": member(3)}
    new = Config.model_validate({"fabrics": {"pod": {"members": members}}})
    (fault,) = fabric_faults(OLD, new)
    assert fault[0] == ("fabrics", "pod", "members", "s2", "bridge")
    assert "other-config:datapath-id=0000000000000002" in fault[1]


def test_the_bridge_of_a_fabric_stays_when_its_first_member_leaves() -> None:
    members = {"s1": member(1) | {"left": True}, "s2": member(2), "s3": member(3)}
    new = Config.model_validate({"fabrics": {"pod": {"members": members}}})
    assert fabric_changes(OLD, new) == ("pod: s1 leaves",)
    assert [*fabric_faults(OLD, new)] == []
    assert keeps_place(1, OLD, new)
    assert keeps_place(2, OLD, new)
    assert fabric_changes(new, OLD) == ("pod: s1 joins",)


def test_places() -> None:
    assert keeps_place(1, OLD, pod("s1", "s2"))
    assert not keeps_place(3, OLD, pod("s1", "s2"))
    assert not keeps_place(1, NONE, OLD)
    assert keeps_place(9, NONE, OLD)
