"""Two aggregations side by side between ofapp and Open vSwitch's own bonds, which pass BPDUs on.

    host 1 --- ofapp === Open vSwitch --- host 2
                     ===

That is a loop, which spanning tree has to cut: of each aggregation it knows one port.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.support.bonds import BRIDGE, Cable, Mode, NormalSide, OfappSide, cable
from tests.support.lab import Stream
from tests.support.waiting import wait_for

pytestmark = pytest.mark.thorough

FAST = Mode("active", "fast")
CONFIG = "defaults: {stp: {hello_time: 1, max_age: 6, forward_delay: 4}}"
SECONDS = 40
"""Open vSwitch agrees to nothing, so a port waits for twice the forward delay."""


class Beside:
    """Two aggregations, `lag0` of three cables and `lag1` of two, and what may be done to them."""

    def __init__(self, left: OfappSide, right: NormalSide) -> None:
        self.left, self.right = left, right
        self.cables = [cable(left.namespace, right.namespace) for _ in range(5)]
        self.lags = {"lag0": self.cables[:3], "lag1": self.cables[3:]}
        right.switch.vsctl("set", "Bridge", BRIDGE, "other_config:forward-bpdu=true")
        for name, cables in self.lags.items():
            right.bond(name, [one.right for one in cables], FAST)
        self._configure()
        for one in self.cables:
            left.plug(one.left)
        self.wait()

    def move(self, which: Cable, name: str) -> None:
        """Into another aggregation, at both ends, while everything runs."""
        old = next(lag for lag, cables in self.lags.items() if which in cables)
        self.lags[old].remove(which)
        self.lags[name].append(which)
        end = which.right.interface
        self.right.switch.vsctl("del-bond-iface", old, end, "--", "add-bond-iface", name, end)
        self._configure()

    def wait(self) -> None:
        """Until all cables are in use, one aggregation forwards and the hosts meet."""
        for name, cables in self.lags.items():
            wanted = {one.left.interface for one in cables}
            wait_for(lambda n=name, w=wanted: self.used(n) == w, f"{name} in use", seconds=SECONDS)
        self.wait_states(["discarding", "forwarding"])
        one, other = self.left.host, self.right.host
        wait_for(lambda: one.reaches(other.ip), "the hosts to meet", seconds=SECONDS)

    def wait_states(self, wanted: list[str]) -> None:
        """Until spanning tree has just these of the two."""
        wait_for(lambda: sorted(self.states().values()) == wanted, f"{wanted}", seconds=SECONDS)

    def used(self, name: str) -> set[str]:
        """The members of an aggregation that send."""
        return {one["name"] for one in self.left.lag(name)["members"] if one["distributing"]}

    def states(self) -> dict[str, str]:
        """What spanning tree does with each aggregation."""
        tree = self.left.controller.get(f"/v1/bridges/{self.left.switch.bridge.dpid16}/stp")
        return {port["name"]: port["state"] for port in tree["ports"] if port["name"] in self.lags}

    def forwarding(self) -> str | None:
        """The one that forwards, if one does."""
        states = self.states().items()
        return next((name for name, state in states if state == "forwarding"), None)

    def _configure(self) -> None:
        ends = {name: [one.left for one in cables] for name, cables in self.lags.items()}
        self.left.configure(ends, FAST)


@pytest.fixture(scope="module")
def beside() -> Iterator[Beside]:
    with closing(OfappSide(1, config=CONFIG)) as left, closing(NormalSide(2)) as right:
        yield Beside(left, right)


def passes(beside: Beside) -> None:
    """Every frame arrives once, both ways."""
    one, other = beside.left.host, beside.right.host
    with Stream(one, other) as there, Stream(other, one) as back:
        there.more(100)
        assert (there.lost(), back.lost()) == (0, 0)
        assert (there.doubled(), back.doubled()) == (0, 0)


def test_a_member_moves_into_another_aggregation(beside: Beside) -> None:
    """It is never its own port, nor of both: nothing comes twice, and little is lost."""
    passes(beside)
    moved = beside.cables[0]
    one, other = beside.left.host, beside.right.host
    for name in ("lag1", "lag0"):
        with Stream(one, other, 1000) as there, Stream(other, one, 1000) as back:
            there.more(100)
            beside.move(moved, name)
            wait_for(lambda n=name: moved.left.interface in beside.used(n), "it to be in use there")
            there.more(100)
            lost = there.lost(), back.lost()
            assert (there.doubled(), back.doubled()) == (0, 0)
            assert max(lost) < there.sent / 2, lost
        beside.wait()
        passes(beside)


def test_the_other_aggregation_takes_over_when_all_cables_of_one_are_pulled(
    beside: Beside,
) -> None:
    first = beside.forwarding()
    assert first is not None
    for one in beside.lags[first]:
        one.cut()
    wait_for(
        lambda: beside.forwarding() not in (None, first), "the other to forward", seconds=SECONDS
    )
    one, other = beside.left.host, beside.right.host
    wait_for(lambda: one.reaches(other.ip), "the hosts to meet", seconds=SECONDS)
    passes(beside)
    for cable_ in beside.lags[first]:
        cable_.restore()
    wait_for(lambda: beside.forwarding() == first, "it to forward again", seconds=SECONDS)
    beside.wait()
    passes(beside)
