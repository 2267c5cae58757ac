"""Timers, ports that come and go, bridge detection, transmission (802.1D-2004 17.17 to 17.26)."""

from itertools import pairwise

import pytest

from ofapp.bridge.stp import BridgeParams, PortParams, SendBpdu, SpanningTree
from ofapp.bridge.stp.bpdu import BpduRole
from ofapp.bridge.stp.transmit import EDGE_WAIT
from ofapp.bridge.stp.vectors import Times
from tests.unit.bridge.stp.lab import (
    BETTER,
    DOWN,
    EDGE,
    OWN_ID,
    SILENT,
    UP,
    WORSE,
    D,
    F,
    L,
    Lab,
    flushed,
    rst,
    states,
)

# -- start, timers (17.17, 17.22) ------------------------------


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
    assert gaps <= {1.5, 0.5, 1.0}  # shorter ones where a change was announced
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


# -- ports come and go -----------------------------------------


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
    for number in range(1, 4096):
        tree.add_port(number, PortParams(), DOWN, 0)
    with pytest.raises(ValueError, match="at most 4095"):
        tree.add_port(5000, PortParams(), UP, 0)


def test_removed_port_is_blocked_flushed_and_gone() -> None:
    lab = Lab(2, EDGE)
    lab.wait(EDGE_WAIT)
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


# -- bridge detection (17.25) ----------------------------------


def test_admin_edge_port_forwards_when_its_bpdu_could_have_come_back() -> None:
    lab = Lab(0)
    assert states(lab.do(lab.tree.add_port(1, EDGE, UP, lab.now))) == [(1, D)]
    assert len(lab.sent(1)) == 1
    assert states(lab.wait(EDGE_WAIT - 0.001)) == []
    assert states(lab.wait(0.002)) == [(1, F)]
    lab.link(1, DOWN)
    assert states(lab.link(1, UP)) == []
    assert states(lab.wait(EDGE_WAIT)) == [(1, F)]


def test_the_wait_of_an_edge_port_begins_when_its_bpdu_has_left() -> None:
    lab = Lab(0)
    lab.tree.hear_of_leaving()
    (sent,) = (e for e in lab.do(lab.tree.add_port(1, EDGE, UP, 100.0)) if type(e) is SendBpdu)
    assert states(lab.wait(1)) == []
    lab.tree.left(1, sent.number, lab.now)
    assert states(lab.do(lab.tree.tick(lab.now))) == []
    assert states(lab.wait(EDGE_WAIT - 0.001)) == []
    assert states(lab.wait(0.002)) == [(1, F)]


def test_an_edge_port_that_sends_no_bpdus_forwards_at_once() -> None:
    lab = Lab(0)
    params = PortParams(admin_edge=True, bpdu_filter=True)
    assert states(lab.do(lab.tree.add_port(1, params, UP, lab.now))) == [(1, D), (1, F)]


@pytest.mark.parametrize("late", [0.0, 0.01, 0.049, 0.051, 1.0])
@pytest.mark.parametrize(("first", "second"), [(1, 2), (2, 1)])
def test_two_edge_ports_with_a_cable_between_them_are_never_both_open(
    first: int, second: int, late: float
) -> None:
    """late: seconds by which the switch reports the second port after the first."""
    lab = Lab(3, EDGE)
    for port in (1, 2):
        lab.link(port, DOWN)
    lab.link(first, UP)
    lab.wait(late)
    effects = lab.link(second, UP)
    for _ in range(100):  # each BPDU takes a millisecond
        frames = [each for each in effects if isinstance(each, SendBpdu) and each.port != 3]
        effects = lab.wait(0.001)
        for bpdu in frames:
            effects += lab.do(lab.tree.receive(3 - bpdu.port, bpdu.frame, lab.now))
        assert (lab.state(1), lab.state(2)) != (F, F)


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
    assert lab.link(1, UP)
    assert states(lab.wait(EDGE_WAIT)) == [(1, F)]


# -- port transmit (17.26) -------------------------------------


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
