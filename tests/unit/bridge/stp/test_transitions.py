"""Port role transitions (17.29): who blocks, who opens, and how soon."""

from ofapp.bridge.stp import SendBpdu
from ofapp.bridge.stp.bpdu import BpduRole
from ofapp.bridge.stp.transmit import AGREEMENT_DELAY
from tests.unit.bridge.stp.lab import (
    BETTER,
    BETTER_STILL,
    DOWN,
    EDGE,
    OWN_ID,
    SHARED,
    SILENT,
    UP,
    WORSE,
    D,
    F,
    L,
    Lab,
    agreement,
    config,
    rst,
    states,
)


def test_proposal_blocks_the_others_before_it_is_agreed() -> None:
    lab = Lab(3, SILENT)
    lab.wait_hearing(30, 1, rst(BETTER))
    assert [lab.state(p) for p in (1, 2, 3)] == [F, F, F]
    effects = lab.hear(1, rst(BETTER, 100, proposal=True))
    assert states(effects) == [(2, D), (3, D)]
    (answer,) = lab.sent(1, effects)
    assert (answer.agreement, answer.role, answer.forwarding) == (True, BpduRole.ROOT, True)
    blocks = [i for i, e in enumerate(effects) if e in effects and states([e])]
    sends = [i for i, e in enumerate(effects) if lab.sent(1, [e])]
    assert max(blocks) < min(sends)


def test_proposal_leaves_edge_ports_alone() -> None:
    lab = Lab(1, SILENT)
    lab.do(lab.tree.add_port(2, EDGE, UP, lab.now))
    effects = lab.hear(1, rst(BETTER, proposal=True))
    assert (2, D) not in states(effects)
    assert lab.sent(1, effects)[0].agreement


def test_agreement_opens_a_designated_port_at_once() -> None:
    lab = Lab(1, SILENT)
    assert states(lab.hear(1, agreement())) == [(1, F)]


def test_agreement_counts_on_point_to_point_links_only() -> None:
    lab = Lab(1, SHARED)
    assert states(lab.hear(1, agreement())) == []
    assert states(lab.wait(19.9)) == []


def test_shared_segment_waits_forward_delay_once_blocked() -> None:
    lab = Lab(2, SHARED)
    lab.wait_hearing(50, 1, rst(BETTER))
    lab.hear(1, rst(BETTER, 9, proposal=True))
    assert lab.state(2) is D
    lab.wait_hearing(13, 1, rst(BETTER, 9))
    assert lab.state(2) is D
    lab.wait_hearing(2, 1, rst(BETTER, 9))
    assert lab.state(2) is L
    lab.wait_hearing(15, 1, rst(BETTER, 9))
    assert lab.state(2) is F


def test_alternate_takes_over_in_the_very_step_in_which_the_root_port_fails() -> None:
    lab = Lab(3, SILENT)
    lab.hear(1, rst(BETTER, 0))
    lab.hear(2, rst(BETTER, 1, WORSE))
    assert (lab.role(2), lab.state(2)) == ("alternate", D)
    effects = lab.link(1, DOWN)
    assert states(effects) == [(1, D), (2, F)]
    assert lab.tree.snapshot().root_port == 2


def test_stp_bridge_has_no_such_haste() -> None:
    lab = Lab(2, SILENT, force_version=0)
    lab.hear(1, config(cost=0))
    lab.hear(2, config(cost=1, bridge=WORSE))
    assert states(lab.link(1, DOWN)) == []
    assert lab.role(2) == "root"
    lab.wait_hearing(31, 2, config(cost=1, bridge=WORSE))
    assert lab.state(2) is F


def test_former_root_port_blocks_before_the_new_one_opens() -> None:
    lab = Lab(3, SILENT)
    lab.hear(1, rst(BETTER, 0))
    effects = lab.hear(2, rst(BETTER_STILL, 0))
    assert states(effects) == [(1, D), (2, F)]


def test_backup_that_becomes_root_does_not_open_at_once() -> None:
    lab = Lab(2, SILENT)
    lab.hear(2, rst(OWN_ID, 0, OWN_ID, 0x8001))
    assert lab.role(2) == "backup"
    lab.hear(2, rst(BETTER))
    assert (lab.role(2), lab.state(2)) == ("root", D)
    assert states(lab.wait(1.9)) == []
    lab.hear(2, rst(BETTER))
    assert states(lab.wait(1.9)) == [(2, L)]  # rbWhile still runs: by the forward delay
    assert states(lab.wait(0.2)) == [(2, F)]


def test_repeated_proposal_is_agreed_again() -> None:
    lab = Lab(2, SILENT)
    lab.hear(1, rst(BETTER, proposal=True))
    (again,) = lab.sent(1, lab.hear(1, rst(BETTER, proposal=True)))
    assert again.agreement


def test_an_old_agreement_may_come_until_a_while_after_the_new_information_has_been_sent() -> None:
    """A BPDU may wait in the shell, until a port has closed: for longer than the delay."""
    lab = Lab(2, SILENT)
    lab.tree.hear_of_leaving()
    lab.hear(1, rst(BETTER, 0))
    stale = rst(BETTER, 40000, WORSE, role=BpduRole.ROOT, agreement=True)
    effects = lab.hear(1, rst(BETTER, 5000, proposal=True))
    number = next(e.number for e in effects if isinstance(e, SendBpdu) and e.port == 2)
    for _ in range(3):
        lab.wait(AGREEMENT_DELAY)
        assert states(lab.hear(2, stale)) == []
    lab.tree.left(2, number - 1, lab.now)  # the old information, which waited as well
    lab.wait(AGREEMENT_DELAY + 0.01)
    assert states(lab.hear(2, stale)) == []
    lab.tree.left(2, number, lab.now)
    lab.wait(AGREEMENT_DELAY / 2)
    assert states(lab.hear(2, stale)) == []
    effects = lab.wait(AGREEMENT_DELAY)
    assert lab.sent(2, effects)[-1].proposal, "asked again"
    assert states(lab.hear(2, stale)) == [(2, F)]


def test_alternate_port_agrees_too() -> None:
    lab = Lab(3, SILENT)
    lab.hear(1, rst(BETTER, 0))
    effects = lab.hear(2, rst(BETTER, 1, WORSE, proposal=True))
    (answer,) = lab.sent(2, effects)
    assert (answer.agreement, answer.role) == (True, BpduRole.ALTERNATE_BACKUP)


def test_alternate_port_has_the_others_block_before_it_agrees() -> None:
    lab = Lab(3, SILENT)
    lab.wait_hearing(30, 1, rst(BETTER, 0))
    lab.hear(1, rst(BETTER, 50))  # no proposal, yet port 3 has lost its agreement
    effects = lab.hear(2, rst(BETTER, 100, WORSE, proposal=True))
    assert (3, D) in states(effects)
    assert lab.sent(2, effects)[-1].agreement


def test_agreement_to_better_information_does_not_count_for_worse() -> None:
    """A loop that plain 802.1D-2004 allows: see information._update."""
    lab = Lab(2, SILENT)
    lab.hear(1, rst(BETTER, 0))
    stale = rst(BETTER, 40000, WORSE, role=BpduRole.ROOT, agreement=True)
    lab.hear(1, rst(BETTER, 5000, proposal=True))  # the information on port 2 gets worse
    assert states(lab.hear(2, stale)) == []
    effects = lab.wait(AGREEMENT_DELAY + 0.01)
    assert lab.sent(2, effects)[-1].proposal  # asked again
    assert states(lab.hear(2, stale)) == [(2, F)]
