"""Each lab of the laboratory, as a student works through it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ofapp.lab.exercises import DELAYS, LONG, SOON
from ofapp.lab.labs import GROUP, LABS
from ofapp.lab.session import Session


class Student:
    """What a student does, and sees."""

    def __init__(self, lab: str) -> None:
        self.session = Session()
        self.seen = self.do("open", lab)

    def do(self, name: str, *given: object) -> Any:
        self.seen = json.loads(self.session.handle(json.dumps({"do": name, "with": given})))
        return self.seen

    def wait(self, seconds: float) -> None:
        end = self.seen["now"] + seconds
        while self.seen["now"] < end - 1e-6:
            self.do("advance", end - self.seen["now"])

    def change(self, name: str, a: str, b: str) -> None:
        """Cut or plug in the first cable between two bridges."""
        cables = [each for each in self.seen["cables"] if (each["a"], each["b"]) == (a, b)]
        self.do(name, a, cables[0]["ports"][0])

    def answer(self, number: int, choice: str) -> bool | None:
        assert choice in self.seen["exercises"][number]["choices"]
        right: bool | None = self.do("answer", number, choice)["right"]
        return right

    def state(self, bridge: str, port: str) -> Any:
        (ports,) = (each["ports"] for each in self.seen["bridges"] if each["name"] == bridge)
        return next((each["state"] for each in ports if each["name"] == port), None)

    def came(self, host: str, source: str) -> int:
        (received,) = (each["received"] for each in self.seen["hosts"] if each["name"] == host)
        return int(received.get(source, 0))

    def done(self) -> list[bool]:
        return [each["done"] for each in self.seen["exercises"]]


@pytest.mark.parametrize("lab", LABS)
def test_a_lab_begins_unsolved_and_names_what_it_teaches(lab: str) -> None:
    seen = Student(lab).seen
    assert seen["error"] is None
    assert not any(each["done"] for each in seen["exercises"])
    assert all(each.endswith(".") for each in seen["theory"])
    assert seen["now"] == LABS[lab].begin


def test_the_root_is_elected_and_another_one_chosen() -> None:
    student = Student("root")
    assert student.answer(0, "s3 eth1") is None
    student.wait(10)
    assert [each["root"] for each in student.seen["map"]["bridges"]] == [True, False, False]
    assert student.answer(0, "s1 eth1") is False
    assert student.answer(0, "s3 eth1") is True
    student.do("configure", "s3", "priority", 4096)
    student.wait(5)
    assert student.done() == [True, True]


def test_a_ring_is_cut_and_its_alternate_port_takes_over() -> None:
    student = Student("ring")
    assert student.state("s3", "eth2") == "discarding"
    student.change("cut", "s1", "s2")
    assert student.answer(0, "s3 eth2") is None
    student.wait(2)
    assert student.answer(0, "s3 eth2") is True
    assert student.answer(1, LONG) is False
    assert student.answer(1, SOON) is True
    student.change("plug", "s1", "s2")
    student.wait(10)
    assert student.state("s3", "eth2") == "discarding"


def test_stp_takes_its_delays_where_rstp_takes_none() -> None:
    student = Student("stp")
    student.change("cut", "s1", "s3")
    student.wait(1)
    assert student.answer(0, SOON) is True
    student.change("cut", "s4", "s6")
    student.wait(60)
    assert student.answer(1, SOON) is False
    assert student.answer(1, DELAYS) is True


def test_a_mesh_of_four_uses_three_cables() -> None:
    student = Student("mesh")
    student.do("configure", "s4", "priority", 0)
    student.wait(5)
    assert student.done() == [True]
    links = student.seen["map"]["links"]
    states = [{end["state"] for end in each["stp"].values()} for each in links]
    assert sum(each == {"forwarding"} for each in states) == 3


def test_a_frame_circles_until_spanning_tree_ends_the_loop() -> None:
    student = Student("loop")
    student.do("send", "h1", "all")
    student.wait(5)
    assert student.came("h2", "h1") > 10
    before = student.came("h2", "h1")
    student.wait(20)
    assert student.came("h2", "h1") > 2 * before
    assert "held down" not in str(student.seen["log"])
    for bridge in ("s1", "s2", "s3"):
        assert student.done() == [False]
        student.do("configure", bridge, "tree", "rstp")
    student.wait(10)
    assert student.done() == [True]


def test_frames_to_unknown_addresses_are_flooded_until_the_address_is_learned() -> None:
    student = Student("learning")
    student.do("send", "h1", "h3")
    student.wait(1)
    assert student.answer(0, "h2 and h3") is True
    student.do("send", "h3", "h1")
    student.wait(1)
    assert student.came("h2", "h3") == 0
    student.do("send", "h3", "all")
    student.wait(1)
    assert student.done() == [True, True]
    student.do("send", "h1", "h3")
    student.wait(1)
    assert (student.came("h2", "h1"), student.came("h3", "h1")) == (0, 1)
    student.wait(301)
    assert all(each["addresses"] == [] for each in student.seen["bridges"])


def test_bpdus_are_not_counted_among_frames_of_hosts() -> None:
    student = Student("learning")
    student.wait(10)
    assert [each["received"] for each in student.seen["hosts"]] == [{}, {}, {}]


def test_a_vlan_reaches_its_own_hosts_alone() -> None:
    student = Student("vlan")
    student.do("send", "h1", "all")
    student.wait(1)
    assert student.answer(0, "h3") is True
    student.do("configure", "s2", "vlans", {"eth2": 10, "eth3": 10})
    student.do("send", "h1", "all")
    student.wait(1)
    assert student.done() == [True, True]


def test_a_group_goes_to_its_members_alone() -> None:
    student = Student("igmp")
    student.do("send", "h1", GROUP)
    student.wait(1)
    assert student.done() == [False]
    student.do("join", "h3", GROUP)
    student.wait(1)
    student.do("send", "h1", GROUP)
    student.wait(1)
    assert student.done() == [True]
    assert {key: student.seen["bridges"][1]["groups"][0][key] for key in ("group", "vlan")} == {
        "group": GROUP,
        "vlan": 0,
    }
    student.wait(300)  # the member answers the querier
    student.do("send", "h1", GROUP)
    student.wait(1)
    assert (student.came("h3", "h1"), student.came("h2", "h1")) == (1, 0)


def test_an_aggregation_stays_up_with_one_cable() -> None:
    student = Student("lacp")
    assert student.answer(0, "s2 eth2") is True
    student.do("aggregate", "s1", "s2")
    student.wait(10)
    assert student.done() == [True, True, False]
    (link,) = student.seen["map"]["links"]
    assert len(link["lag"]["members"]) == 2
    assert student.state("s1", "bond0") == "forwarding"
    student.change("cut", "s1", "s2")
    student.do("send", "h1", "h2")
    student.wait(1)
    assert student.done() == [True, True, True]


def test_a_student_draws_a_network() -> None:
    student = Student("own")
    for _ in range(3):
        student.do("add_bridge")
    for a, b in ("s1", "s2"), ("s2", "s3"), ("s3", "s1"):
        student.do("connect", a, b)
    student.do("add_host", "s1")
    student.wait(10)
    assert [each["down"] for each in student.seen["map"]["links"]] == [False] * 3
    assert student.state("s3", "eth1") == "discarding"
    student.do("remove", "s2")
    student.wait(5)
    assert student.state("s3", "eth2") == "forwarding"
    assert len(student.seen["cables"]) == 2


def test_steps_show_each_bpdu_on_its_way() -> None:
    student = Student("root")
    said = set()
    for _ in range(40):
        student.do("step")
        links = student.seen["map"]["links"]
        said |= {each["carried"]["text"] for each in links if each["carried"]}
    assert any("proposal" in each for each in said)
    assert any("agreement" in each for each in said)


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        (("connect", "s1", "s1"), "its ends at two bridges"),
        (("aggregate", "s1", "s2"), "no two cables between s1 and s2"),
        (("aggregate", "s1", "h1"), "no two cables between s1 and h1"),
        (("cut", "s1", "eth7"), "no such cable"),
        (("add_host", "h1"), "h1 is no bridge"),
        (("add_host", "s9"), "no bridge or host s9"),
        (("configure", "s1", "priority", 5), "multiple of 4096"),
        (("join", "h1", "10.0.0.1"), "no group"),
    ],
)
def test_what_cannot_be_done_is_said(request_: tuple[object, ...], says: str) -> None:
    assert says in Student("root").do(*request_)["error"]


def test_a_laboratory_has_bounds() -> None:
    student = Student("own")
    for _ in range(24):
        assert student.do("add_bridge")["error"] is None
    assert "at most 24" in student.do("add_bridge")["error"]
    for _ in range(8):
        student.do("connect", "s1", "s2")
    assert "all 8 ports of s1" in student.do("connect", "s1", "s3")["error"]
