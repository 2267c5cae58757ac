"""Each state machine of clause 17, seen from outside: BPDUs in, states and BPDUs out."""

from itertools import pairwise

import pytest

from ofapp.bridge.stp import BridgeParams, Link, PointToPoint, PortParams, PortState, SpanningTree
from ofapp.bridge.stp.bpdu import BpduRole, BpduType
from ofapp.bridge.stp.port import InfoIs
from ofapp.bridge.stp.transmit import AGREEMENT_DELAY
from ofapp.bridge.stp.vectors import Times
from tests.unit.stp.lab import (
    BETTER,
    BETTER_STILL,
    DOWN,
    OWN_ID,
    TCN,
    UP,
    WORSE,
    Lab,
    config,
    flushed,
    rst,
    states,
)

D, L, F = PortState.DISCARDING, PortState.LEARNING, PortState.FORWARDING
SILENT = PortParams(auto_edge=False)
EDGE = PortParams(admin_edge=True)
SHARED = PortParams(point_to_point=PointToPoint.FORCE_FALSE, auto_edge=False)


def agreement(cost: int = 20000, **flags: bool) -> object:
    return rst(OWN_ID, cost, WORSE, role=BpduRole.ROOT, agreement=True, **flags)


# -- start, timers (17.17, 17.22) ------------------------------------------------------------


def test_new_port_discards_and_proposes_at_once() -> None:
    lab = Lab(1)
    assert states([e for _, e in lab.log]) == [(1, D)]
    first = lab.sent(1)[0]
    assert (first.proposal, first.vector.root, first.role) == (True, OWN_ID, BpduRole.DESIGNATED)


def test_lonely_port_learns_after_max_age_and_forwards_a_hello_time_later() -> None:
    lab = Lab(1, SILENT)
    assert states(lab.wait(19.9)) == []
    assert states(lab.wait(0.2)) == [(1, L)]
    assert states(lab.wait(1.8)) == []
    assert states(lab.wait(0.2)) == [(1, F)]


def test_lonely_port_of_an_stp_bridge_waits_forward_delay_in_each_state() -> None:
    lab = Lab(1, force_version=0)
    assert states(lab.wait(34.9)) == [(1, L)]
    assert states(lab.wait(0.2)) == [(1, F)]


def test_hello_is_sent_on_time_to_the_microsecond() -> None:
    lab = Lab(1, SILENT, hello_time=1.5)
    lab.wait(60)
    times = lab.sent_at(1)
    gaps = {round(b - a, 6) for a, b in pairwise(times)}
    assert gaps <= {1.5, 0.5, 1.0}  # shorter ones where a change was told
    assert sum(g == 1.5 for g in (round(b - a, 6) for a, b in pairwise(times))) >= len(times) - 4


def test_time_does_not_go_back() -> None:
    lab = Lab(1)
    lab.wait(30)
    assert lab.tree.tick(5) == []
    assert lab.tree.next_wakeup() > lab.now


def test_bridge_without_ports_never_needs_waking() -> None:
    tree = SpanningTree(BridgeParams(), 1)
    assert tree.next_wakeup() is None
    tree.add_port(1, PortParams(), DOWN, 0)
    assert tree.next_wakeup() is None


# -- ports come and go ------------------------------------------------------------


def test_port_numbers_above_12_bits_get_a_free_one() -> None:
    tree = SpanningTree(BridgeParams(), 1)
    tree.add_port(70000, PortParams(), UP, 0)
    tree.add_port(4095, PortParams(), UP, 0)
    tree.add_port(2, PortParams(), UP, 0)
    ids = {p.port: p.port_id & 0xFFF for p in tree.snapshot().ports}
    assert ids == {70000: 4095, 4095: 4094, 2: 2}
    with pytest.raises(ValueError, match="port 2 is there already"):
        tree.add_port(2, PortParams(), UP, 0)


def test_the_4096th_port_is_refused() -> None:
    tree = SpanningTree(BridgeParams(), 1)
    tree._core.ports.update({n: tree_port(n) for n in range(1, 4096)})
    with pytest.raises(ValueError, match="at most 4095"):
        tree.add_port(5000, PortParams(), UP, 0)


def tree_port(number: int) -> object:
    from ofapp.bridge.stp.port import Port

    return Port(number, number, PortParams(), DOWN, 0)


def test_removed_port_is_blocked_flushed_and_gone() -> None:
    lab = Lab(2, EDGE)
    effects = lab.do(lab.tree.remove_port(2, lab.now))
    assert states(effects) == [(2, D)]
    assert flushed(effects) == [2]
    assert [p.port for p in lab.tree.snapshot().ports] == [1]
    assert lab.tree.receive(2, b"", lab.now) == []
    with pytest.raises(KeyError):
        lab.tree.set_link(2, UP, lab.now)


def test_bpdus_carry_the_ports_own_address() -> None:
    tree = SpanningTree(BridgeParams(), 0x0200_0000_0050)
    effects = tree.add_port(1, PortParams(), UP, 0, address=0x0200_0000_0051)
    frame = next(e.frame for e in effects if hasattr(e, "frame"))
    assert frame[6:12].hex() == "020000000051"


# -- bridge detection (17.25) ------------------------------------------------------------


def test_admin_edge_port_forwards_at_once() -> None:
    lab = Lab(0)
    effects = lab.do(lab.tree.add_port(1, EDGE, UP, lab.now))
    assert states(effects) == [(1, D), (1, F)]


def test_edge_port_tells_no_topology_change_and_is_not_flushed_by_one() -> None:
    lab = Lab(0)
    lab.do(lab.tree.add_port(1, EDGE, UP, lab.now))
    lab.do(lab.tree.add_port(2, SILENT, UP, lab.now))
    lab.do(lab.tree.add_port(3, SILENT, UP, lab.now))
    assert lab.tree.snapshot().topology_change_count == 0
    lab.wait(30)
    effects = lab.hear(2, rst(OWN_ID, 20000, WORSE, role=BpduRole.ROOT, topology_change=True))
    assert flushed(effects) == [3]


def test_auto_edge_takes_three_seconds() -> None:
    lab = Lab(1)
    assert states(lab.wait(2.9)) == []
    assert states(lab.wait(0.2)) == [(1, F)]
    assert lab.tree.port(1).oper_edge
    assert lab.events("stp.edge")


def test_edge_port_that_hears_a_bpdu_is_no_edge_any_more() -> None:
    lab = Lab(1, EDGE)
    lab.hear(1, rst(WORSE))
    assert not lab.tree.port(1).oper_edge
    lab.link(1, DOWN)
    assert states(lab.link(1, UP)) == [(1, F)]


# -- port transmit (17.26) ------------------------------------------------------------


def test_no_more_than_the_hold_count_at_once_and_one_a_second_after() -> None:
    lab = Lab(1, SILENT, transmit_hold_count=3)
    for cost in range(30):
        lab.hear(1, rst(BETTER, 100 - cost, proposal=True))
    assert len(lab.sent(1)) == 3
    assert len(lab.sent(1, lab.wait(0.99))) == 0
    assert len(lab.sent(1, lab.wait(0.02))) == 1


def test_alternate_port_is_silent_between_agreements() -> None:
    lab = Lab(2, SILENT)
    lab.hear(1, rst(BETTER, 0))
    lab.hear(2, rst(BETTER, 0, port=0x8002))
    lab.wait(1)
    assert lab.role(2) == "alternate"
    for _ in range(10):
        lab.hear(1, rst(BETTER, 0))
        lab.hear(2, rst(BETTER, 0, port=0x8002))
        assert lab.sent(2, lab.wait(2)) == []


def test_message_age_grows_by_one_second_a_bridge() -> None:
    lab = Lab(2, SILENT)
    lab.hear(1, rst(BETTER, times=Times(3, 30, 20, 1)))
    last = lab.sent(2)[-1]
    assert last.times == Times(4, 30, 20, 2)  # the hello time is our own


# -- port information (17.27) ------------------------------------------------------------


def test_information_lives_three_hello_times_of_the_sender() -> None:
    lab = Lab(1, SILENT)
    lab.hear(1, rst(BETTER, times=Times(0, 20, 15, 3)))
    lab.wait(8.9)
    assert lab.role(1) == "root"
    lab.wait(0.2)
    assert lab.role(1) == "designated"


def test_information_that_came_too_far_is_forgotten_at_once() -> None:
    lab = Lab(1, SILENT)
    lab.hear(1, rst(BETTER, times=Times(19, 20, 15, 2)))
    assert lab.role(1) == "root"
    lab.hear(1, rst(BETTER, times=Times(20, 20, 15, 2)))
    assert lab.role(1) == "designated"
    assert lab.tree.port(1).info_is is InfoIs.MINE


def test_repeated_information_changes_nothing_but_the_clock() -> None:
    lab = Lab(2, SILENT)
    lab.hear(1, rst(BETTER))
    lab.tree.trace = False
    lab.wait(1)
    assert lab.hear(1, rst(BETTER)) == []
    lab.wait(5.9)
    assert lab.role(1) == "root"


def test_designated_bridge_may_make_its_own_information_worse() -> None:
    lab = Lab(1, SILENT)
    lab.hear(1, rst(BETTER, 100))
    lab.hear(1, rst(BETTER, 500))
    assert lab.tree.snapshot().root_path_cost == 20500


def test_root_with_no_forward_delay_cannot_make_us_forward_early() -> None:
    lab = Lab(2, SILENT)
    lab.hear(1, rst(BETTER, times=Times(0, 20, 0, 0)))
    assert lab.tree.snapshot().root_times.forward_delay == 4


def test_inferior_designated_that_learns_is_a_dispute() -> None:
    lab = Lab(1, SILENT)
    lab.hear(1, agreement())
    assert lab.state(1) is F
    effects = lab.hear(1, rst(WORSE, learning=True))
    assert states(effects) == [(1, D)]
    assert "disputed" in lab.tree.port(1).reason


def test_inferior_designated_that_discards_is_ignored() -> None:
    lab = Lab(1, SILENT)
    lab.hear(1, agreement())
    assert states(lab.hear(1, rst(WORSE, proposal=True))) == []


def test_better_information_of_a_root_port_is_no_agreement() -> None:
    lab = Lab(1, SILENT)
    lab.hear(1, rst(BETTER, 7, role=BpduRole.ROOT, agreement=True))
    assert (lab.role(1), lab.state(1)) == ("designated", D)


# -- port role selection (17.28) ------------------------------------------------------------


def test_best_of_two_paths_becomes_root_the_other_alternate() -> None:
    lab = Lab(2, SILENT)
    lab.hear(1, rst(BETTER, 1000, WORSE))
    lab.hear(2, rst(BETTER, 999, WORSE, 0x8002))
    assert (lab.role(1), lab.role(2)) == ("alternate", "root")
    assert lab.tree.snapshot().root_port == 2


def test_port_identifier_of_the_receiver_breaks_the_last_tie() -> None:
    lab = Lab(2, SILENT)
    lab.hear(2, rst(BETTER))
    lab.hear(1, rst(BETTER))  # a shared segment: one BPDU on both ports
    assert (lab.role(1), lab.role(2)) == ("root", "alternate")
    lab.do(lab.tree.set_port_params(2, PortParams(priority=16), lab.now))
    assert (lab.role(1), lab.role(2)) == ("alternate", "root")


def test_own_other_port_on_the_lan_makes_a_backup() -> None:
    lab = Lab(2, SILENT)
    lab.hear(2, rst(OWN_ID, 0, OWN_ID, 0x8001))
    assert lab.role(2) == "backup"
    assert "another port of this bridge" in lab.tree.port(2).reason


def test_path_cost_change_moves_the_root_port() -> None:
    lab = Lab(2, SILENT)
    lab.hear(1, rst(BETTER, 10, WORSE))
    lab.hear(2, rst(BETTER, 10, WORSE, 0x8002))
    assert lab.tree.snapshot().root_port == 1
    lab.link(1, Link(True, speed_mbps=100))
    assert lab.tree.snapshot().root_port == 2


def test_restricted_role_port_is_never_root() -> None:
    lab = Lab(1, PortParams(restricted_role=True))
    lab.hear(1, rst(BETTER))
    assert lab.role(1) == "alternate"
    assert lab.tree.snapshot().root == OWN_ID
    lab.do(lab.tree.set_port_params(1, PortParams(), lab.now))
    assert lab.role(1) == "root"


def test_absurd_cost_does_not_wrap_into_a_good_one() -> None:
    lab = Lab(2, SILENT)
    lab.hear(1, rst(BETTER, 0xFFFF_FFFF))
    assert lab.tree.snapshot().root_path_cost == 0xFFFF_FFFF
    assert lab.sent(2)[-1].vector.cost == 0xFFFF_FFFF


def test_bridge_priority_change_makes_this_bridge_the_root() -> None:
    lab = Lab(2, SILENT)
    lab.hear(1, rst(BETTER))
    effects = lab.do(lab.tree.set_bridge_params(BridgeParams(priority=0), lab.now))
    assert lab.tree.snapshot().root_port is None
    assert lab.sent(1, effects)[0].vector.root >> 48 == 0


def test_backup_port_does_not_make_a_root_of_our_former_identifier() -> None:
    lab = Lab(2, SILENT)
    lab.hear(2, rst(OWN_ID, 0, OWN_ID, 0x8001))
    lab.do(lab.tree.set_bridge_params(BridgeParams(priority=61440), lab.now))
    assert lab.tree.snapshot().root == lab.tree.snapshot().bridge_id


# -- port role transition (17.29) ------------------------------------------------------------


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


# -- topology change (17.31) ------------------------------------------------------------


def ring_member() -> Lab:
    """Root port 1, forwarding designated ports 2 and 3, all told and quiet."""
    lab = Lab(3, SILENT)
    lab.hear(1, rst(BETTER))
    for port in (2, 3):
        lab.hear(port, rst(BETTER, 30000, WORSE, port, role=BpduRole.ROOT, agreement=True))
    lab.wait_hearing(9, 1, rst(BETTER))
    assert [lab.state(p) for p in (1, 2, 3)] == [F, F, F]
    return lab


def test_topology_change_flushes_every_port_but_the_one_that_heard_of_it() -> None:
    lab = ring_member()
    tc = rst(BETTER, 30000, WORSE, 2, role=BpduRole.ROOT, topology_change=True)
    effects = lab.hear(2, tc)
    assert flushed(effects) == [1, 3]
    for port in (1, 3):
        assert lab.sent(port, effects)[-1].topology_change
    assert lab.tree.snapshot().topology_change


def test_topology_change_is_told_for_hello_time_and_one_second() -> None:
    lab = ring_member()
    lab.hear(2, rst(BETTER, 30000, WORSE, 2, role=BpduRole.ROOT, topology_change=True))
    lab.wait_hearing(3, 1, rst(BETTER))
    lab.wait(0.1)
    status = lab.tree.snapshot()
    assert not status.topology_change
    assert status.time_since_topology_change < 2
    lab.log.clear()
    lab.wait(2)
    assert not lab.sent(3)[-1].topology_change


def test_topology_changes_are_counted_with_their_port() -> None:
    lab = ring_member()
    count = lab.tree.snapshot().topology_change_count
    lab.hear(1, rst(BETTER, topology_change=True))
    status = lab.tree.snapshot()
    assert status.topology_change_count == count + 1
    assert status.topology_change_port in (2, 3)
    assert lab.events("stp.topology-change")


def test_restricted_tcn_keeps_changes_to_itself() -> None:
    lab = Lab(0)
    for port, params in ((1, SILENT), (2, PortParams(auto_edge=False, restricted_tcn=True))):
        lab.do(lab.tree.add_port(port, params, UP, lab.now))
    lab.wait(40)
    effects = lab.hear(2, rst(OWN_ID, 1, WORSE, role=BpduRole.ROOT, topology_change=True))
    assert flushed(effects) == []


def test_port_that_goes_down_is_flushed_itself() -> None:
    lab = ring_member()
    assert flushed(lab.link(3, DOWN)) == [3]


def test_tcn_is_acknowledged_and_passed_on() -> None:
    lab = Lab(2, SILENT, force_version=0)
    lab.hear(1, config(cost=0))
    lab.wait_hearing(40, 1, config(cost=0, topology_change_ack=True))
    lab.wait_hearing(40, 1, config(cost=0))
    effects = lab.hear(2, TCN)
    assert lab.sent(2, effects)[-1].topology_change_ack
    assert lab.sent(1, effects)[-1].type is BpduType.TCN
    assert flushed(effects) == [1]
    # repeated every hello time until the designated bridge acknowledges
    assert [b.type for b in lab.sent(1, lab.wait(4.1))] == [BpduType.TCN] * 2
    lab.hear(1, config(cost=0, topology_change_ack=True))
    assert lab.sent(1, lab.wait(4.1)) == []


# -- port protocol migration (17.24) ------------------------------------------------------------


def test_stp_neighbour_is_spoken_to_in_stp_after_three_seconds() -> None:
    lab = Lab(1, SILENT)
    lab.hear(1, config(root=WORSE))
    assert lab.tree.port(1).send_rstp
    lab.wait(3.1)
    lab.hear(1, config(root=WORSE))
    assert not lab.tree.port(1).send_rstp
    assert lab.sent(1, lab.wait(2))[-1].type is BpduType.CONFIG
    lab.wait(3.1)
    lab.hear(1, rst(WORSE))
    assert lab.tree.port(1).send_rstp
    assert [e.data["version"] for e in lab.events("stp.migration")] == ["stp", "rstp"]


def test_migration_check_speaks_rstp_again() -> None:
    lab = Lab(1, SILENT)
    lab.wait(3.1)
    lab.hear(1, config(root=WORSE))
    assert not lab.tree.port(1).send_rstp
    effects = lab.do(lab.tree.migration_check(1, lab.now))
    assert lab.tree.port(1).send_rstp
    assert lab.sent(1, effects + lab.wait(2))[-1].type is BpduType.RST


def test_force_version_0_never_speaks_rstp_nor_agrees() -> None:
    lab = Lab(1, SILENT, force_version=0)
    lab.wait(4)
    lab.hear(1, agreement())
    assert (lab.tree.port(1).send_rstp, lab.state(1)) == (False, D)
    lab.wait(10)
    assert {b.type for b in lab.sent(1)} == {BpduType.CONFIG}


def test_change_of_version_starts_anew() -> None:
    lab = Lab(2, SILENT)
    lab.wait(30)
    effects = lab.do(lab.tree.set_bridge_params(BridgeParams(force_version=0), lab.now))
    assert states(effects) == [(1, D), (2, D)]
    assert flushed(effects) == [1, 2]
    assert {b.type for b in lab.sent(1, effects)} == {BpduType.CONFIG}


# -- spanning tree off, on a port ------------------------------------------------------------


def test_port_without_spanning_tree_forwards_and_takes_no_part() -> None:
    lab = Lab(1, PortParams(enabled=False))
    assert lab.state(1) is F
    lab.hear(1, rst(BETTER))
    assert lab.role(1) == "disabled"
    lab.wait(10)
    assert lab.sent(1) == []
    effects = lab.link(1, DOWN)
    assert (states(effects), flushed(effects)) == ([(1, D)], [1])
    assert states(lab.link(1, UP)) == [(1, F)]


def test_switching_spanning_tree_on_blocks_the_port_first() -> None:
    lab = Lab(1, PortParams(enabled=False))
    effects = lab.do(lab.tree.set_port_params(1, SILENT, lab.now))
    assert states(effects) == [(1, D)]
    assert lab.sent(1, effects)[0].proposal
    effects = lab.do(lab.tree.set_port_params(1, PortParams(enabled=False), lab.now))
    assert states(effects) == [(1, F)]


# -- what is told ------------------------------------------------------------


def test_roles_and_states_are_told_with_reasons() -> None:
    lab = Lab(1, SILENT)
    lab.hear(1, rst(BETTER, proposal=True))
    role = lab.events("stp.role")[-1]
    assert role.message == "port 1: designated -> root (best path to the root, cost 20000)"
    assert role.data["old"] == "designated"
    state = lab.events("stp.state")[-1]
    assert (state.data["new"], state.port) == ("forwarding", 1)
    assert lab.events("stp.root")[-1].data["root_port"] == 1


def test_bpdus_are_told_while_somebody_listens() -> None:
    lab = Lab(1)
    lab.hear(1, rst(BETTER))
    assert lab.events("stp.bpdu.received")[0].data["root"] == "1000.02:00:00:00:00:01"
    assert lab.events("stp.bpdu.sent")
    lab.tree.trace = False
    assert not lab.tree.trace
    lab.log.clear()
    lab.hear(1, rst(BETTER, 3))
    lab.wait(10)
    assert not lab.events("stp.bpdu.received")
    assert not lab.events("stp.bpdu.sent")


def test_snapshot_tells_timers_by_their_names_in_the_standard() -> None:
    lab = ring_member()
    port = lab.tree.port(1)
    assert 0 < port.timers["rcvdInfoWhile"] <= 6
    assert 0 < port.timers["helloWhen"] <= 2
    assert "fdWhile" not in port.timers
    assert port.received["rst"] >= 7
    assert port.forward_transitions == 1


def test_port_that_leaves_the_protocol_with_another_priority_is_disabled() -> None:
    """Its new identifier asked for its information to be updated; nobody does that any more."""
    lab = Lab(2, SILENT)
    lab.do(lab.tree.set_port_params(1, PortParams(enabled=False, priority=0), lab.now))
    assert lab.role(1) == "disabled"
    lab.do(lab.tree.set_port_params(1, PortParams(priority=0), lab.now))
    assert lab.role(1) == "designated"
