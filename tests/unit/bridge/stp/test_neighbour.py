"""Whose agreement counts, and what a bridge that was deaf may do."""

from dataclasses import replace

import pytest

from ofapp.bridge.stp import OwnTrees, dump
from ofapp.bridge.stp.bpdu import Bpdu
from ofapp.bridge.stp.vectors import bridge_identifier
from tests.unit.bridge.stp.lab import (
    BETTER,
    SILENT,
    WORSE,
    D,
    F,
    Lab,
    agreement,
    ring_member,
    rst,
    states,
)

STRANGER = bridge_identifier(61440, 0x0200_0000_0077)


def stranger() -> object:
    said = agreement()
    return replace(said, vector=said.vector._replace(bridge=STRANGER))


class TestAgreement:
    def test_of_the_only_one_opens(self) -> None:
        lab = Lab(1, SILENT)
        lab.hear(1, agreement())
        assert lab.state(1) is F

    def test_of_somebody_who_is_not_alone_does_not(self) -> None:
        lab = Lab(1, SILENT)
        lab.hear(1, rst(WORSE, 0, WORSE))
        lab.hear(1, stranger())  # type: ignore[arg-type]
        assert lab.state(1) is D
        lab.hear(1, agreement())  # the other one may still be there
        assert lab.state(1) is D

    def test_of_a_successor_counts_when_the_first_is_silent(self) -> None:
        lab = Lab(1, SILENT)
        lab.hear(1, rst(WORSE, 0, WORSE))
        lab.wait(1.9)
        lab.link(1, replace(lab.tree.port(1).link, up=False))
        lab.link(1, replace(lab.tree.port(1).link, up=True))
        lab.hear(1, stranger())  # type: ignore[arg-type]
        assert lab.state(1) is F

    def test_of_somebody_unknown_does_not_while_switches_are_absent(self) -> None:
        lab = Lab(1, SILENT)
        lab.do(lab.tree.beware(lab.now, lab.now + 7))
        lab.hear(1, agreement())
        assert lab.state(1) is D
        effects = lab.do(lab.tree.calm(lab.now + 1))
        assert lab.sent(1, effects)[-1].proposal
        lab.hear(1, agreement())
        assert lab.state(1) is F


class TestWhatWasUnderWay:
    """A switch whose controller was away has passed something on, and that is heard when every
    switch is spoken for again."""

    def back(self, peer: Bpdu) -> Lab:
        """The port's peer is known, and a second after it went on no bridge is missing any more."""
        lab = Lab(1, SILENT)
        lab.hear(1, peer)
        lab.do(lab.tree.go_on(lab.now, lab.now + 7))
        lab.wait(1.0)
        return lab

    def test_does_not_take_the_place_of_what_the_peer_says(self) -> None:
        peer = rst(BETTER, 10000, WORSE)
        lab = self.back(peer)
        lab.do(lab.tree.calm(lab.now))
        lab.hear(1, rst(BETTER))  # the root's own, through the peer's switch
        before = len(lab.events("stp.role"))
        lab.wait_hearing(9, 1, peer)
        assert len(lab.events("stp.role")) == before
        assert lab.tree.snapshot().root_path_cost == 10000 + 20000

    def test_does_not_keep_the_peers_agreement_from_counting(self) -> None:
        lab = self.back(rst(WORSE, 0, WORSE))
        lab.do(lab.tree.calm(lab.now))
        lab.hear(1, stranger())  # type: ignore[arg-type]
        lab.wait(0.5)
        lab.hear(1, agreement())
        assert lab.state(1) is F

    def test_who_is_heard_later_is_there(self) -> None:
        lab = self.back(rst(WORSE, 0, WORSE))
        lab.do(lab.tree.calm(lab.now))
        lab.wait(2.1)
        lab.hear(1, stranger())  # type: ignore[arg-type]
        lab.hear(1, agreement())
        assert lab.state(1) is D


class TestAbsence:
    def deaf(self) -> Lab:
        """Root port 1, alternate port 2; the bridge goes on after a while."""
        lab = Lab(2, SILENT)
        lab.hear(1, rst(BETTER))
        lab.hear(2, rst(BETTER, 10000, WORSE))
        lab.wait_hearing(5, 1, rst(BETTER))
        lab.hear(2, rst(BETTER, 10000, WORSE))
        assert (lab.role(1), lab.role(2)) == ("root", "alternate")
        lab.do(lab.tree.go_on(lab.now, 0.0))
        return lab

    def test_what_was_heard_before_opens_nothing(self) -> None:
        lab = self.deaf()
        lab.link(1, replace(lab.tree.port(1).link, up=False))
        assert (lab.role(2), lab.state(2)) == ("root", D)
        lab.hear(2, rst(BETTER, 10000, WORSE))
        assert lab.state(2) is F

    def test_what_is_never_heard_again_ages(self) -> None:
        lab = self.deaf()
        lab.wait(6.1)
        assert lab.tree.snapshot().root_port is None

    def test_who_has_not_been_heard_is_promised_nothing(self) -> None:
        lab = self.deaf()
        assert lab.sent(1, [effect for at, effect in lab.log if at == lab.now]) == []

    def test_forwarding_ports_stay_open(self) -> None:
        lab = ring_member()
        assert states(lab.do(lab.tree.go_on(lab.now, lab.now + 7))) == []
        assert states(lab.wait(1.9)) == []

    @pytest.mark.parametrize("caution", [0.0, 7.0])
    def test_a_wait_begins_anew(self, caution: float) -> None:
        lab = Lab(1, SILENT)
        lab.wait(19.5)  # of max age, until it learns
        lab.do(lab.tree.go_on(lab.now, lab.now + caution))
        begun = lab.now
        while lab.state(1) is D:
            lab.wait(0.1)
        assert lab.now - begun >= max(2.0, caution)

    def test_no_edge_is_found_while_switches_are_absent(self) -> None:
        lab = Lab(1)
        lab.do(lab.tree.go_on(lab.now, lab.now + 7))
        lab.wait(6.9)
        assert lab.state(1) is D
        lab.wait(0.2)
        assert lab.state(1) is F

    def test_who_is_behind_outlives_the_process(self) -> None:
        lab = ring_member()
        tree, _ = dump.revive(
            lab.tree.snapshot().params, dump.dump(lab.tree), OwnTrees(), lambda _: SILENT
        )
        assert tree.behind == lab.tree.behind
        assert set(tree.behind) == {1, 2, 3}
