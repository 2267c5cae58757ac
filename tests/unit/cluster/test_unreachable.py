"""A switch that its owner does not reach goes to a member that does, with proof."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from ofapp.common import hub
from ofapp.controller.cluster.election.ownership import Claim
from ofapp.controller.cluster.election.unreachable import Unreachable
from ofapp.controller.cluster.etcd.keys import Keys
from tests.support.etcd import FakeEtcd
from tests.support.waiting import wait_for

SWITCH, OTHER = 0x11, 0x22
KEYS = Keys("lab")


@dataclass
class Owner:
    """Owns SWITCH, which answers it or not."""

    name: str
    lease: int
    answers: bool
    asked: int = 0
    yielded: list[tuple[int, str]] = field(default_factory=list)

    def owns(self, datapath_id: int) -> Claim | None:
        owned = self.name == "m1" and datapath_id == SWITCH and not self.yielded
        return Claim(SWITCH, self.name, 1, self.lease, 0.0, "", SWITCH) if owned else None

    def is_heard(self, datapath_id: int, patience: float) -> bool:
        self.asked += 1
        hub.sleep(0)
        return self.answers

    def yield_unreachable(self, claim: Claim, to: str) -> None:
        self.yielded.append((claim.datapath_id, to))


def pair(answers: bool) -> tuple[Owner, Unreachable]:
    """The owner, and what another member tells it by."""
    etcd = FakeEtcd()
    owner, asking = etcd.client(), etcd.client()
    first = Owner("m1", owner.grant(5).number, answers)
    second = Owner("m2", asking.grant(5).number, True)
    Unreachable(owner, KEYS, first).start()
    watcher = Unreachable(asking, KEYS, second)
    watcher.start()
    return first, watcher


@pytest.mark.parametrize("answers", [False, True])
def test_the_owner_asks_the_switch_itself(answers: bool) -> None:
    owner, other = pair(answers)
    other.report(SWITCH)
    wait_for(lambda: owner.asked, "the owner to ask", sleep=hub.sleep)
    hub.sleep(0)
    assert owner.yielded == ([] if answers else [(SWITCH, "m2")])


def test_of_what_is_not_its_own_it_asks_nothing() -> None:
    owner, other = pair(False)
    other.report(OTHER)
    other.report(SWITCH)
    wait_for(lambda: owner.yielded, "the owner to yield", sleep=hub.sleep)
    assert owner.asked == 1


def test_what_is_reported_again_is_asked_again() -> None:
    owner, other = pair(True)
    other.report(SWITCH)
    wait_for(lambda: owner.asked == 1, "the owner to ask", sleep=hub.sleep)
    other.withdraw(SWITCH)
    owner.answers = False
    wait_for(lambda: other.report(SWITCH) or owner.yielded, "the owner to yield", sleep=hub.sleep)
