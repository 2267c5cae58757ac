"""Guards: the condition, the event, and the way back."""

import pytest

from ofapp.bridge.event import Severity
from ofapp.bridge.stp import BridgeParams, Guard, PortParams, PortState
from ofapp.bridge.stp.bpdu import BpduRole
from ofapp.bridge.stp.transmit import EDGE_WAIT
from tests.unit.bridge.stp.lab import BETTER, DOWN, OWN_ID, UP, WORSE, Lab, rst, states

D, L, F = PortState.DISCARDING, PortState.LEARNING, PortState.FORWARDING
BPDU_GUARD = PortParams(admin_edge=True, bpdu_guard=True)
LOOP_GUARD = PortParams(loop_guard=True, auto_edge=False)


def strikes(lab: Lab, guard: Guard) -> list[bool]:
    return [bool(e.data["active"]) for e in lab.events(f"stp.{guard.value}")]


def test_bpdu_guard_shuts_the_port_until_it_is_recovered_by_hand() -> None:
    lab = Lab(1, BPDU_GUARD, bpdu_guard_recovery=0)
    lab.wait(EDGE_WAIT)
    assert lab.state(1) is F
    assert states(lab.hear(1, rst(WORSE))) == [(1, D)]
    assert lab.role(1) == "disabled"
    assert lab.tree.port(1).guards == (Guard.BPDU_GUARD,)
    assert lab.events("stp.bpdu-guard")[0].severity is Severity.WARNING
    lab.wait(10_000)
    lab.link(1, DOWN)
    lab.link(1, UP)
    assert lab.state(1) is D
    lab.do(lab.tree.recover(1, lab.now))
    assert states(lab.wait(EDGE_WAIT)) == [(1, F)]
    assert strikes(lab, Guard.BPDU_GUARD) == [True, False]
    lab.hear(1, rst(WORSE))
    assert lab.tree.port(1).guard_counts[Guard.BPDU_GUARD] == 2


def test_bpdu_guard_recovers_by_itself_when_reported_to() -> None:
    lab = Lab(1, BPDU_GUARD, bpdu_guard_recovery=30)
    lab.hear(1, rst(WORSE))
    assert states(lab.wait(29.9)) == []
    assert states(lab.wait(0.2)) == [(1, F)]


def test_bpdu_guard_strikes_at_broken_bpdus_as_well_but_not_at_other_frames() -> None:
    lab = Lab(1, BPDU_GUARD)
    lab.wait(EDGE_WAIT)
    lab.do(lab.tree.receive(1, b"\xff" * 64, lab.now))
    assert lab.state(1) is F
    broken = bytes.fromhex("0180c2000000020000000001000842424300".replace("424243", "424203"))
    lab.do(lab.tree.receive(1, broken + bytes(42), lab.now))
    assert lab.state(1) is D


def test_turning_bpdu_guard_off_recovers() -> None:
    lab = Lab(1, BPDU_GUARD)
    lab.hear(1, rst(WORSE))
    lab.do(lab.tree.set_port_params(1, BPDU_GUARD, lab.now))
    assert lab.role(1) == "disabled"
    lab.do(lab.tree.set_port_params(1, PortParams(), lab.now))
    assert lab.role(1) == "designated"


def test_shut_port_counts_what_it_hears() -> None:
    lab = Lab(1, BPDU_GUARD)
    for _ in range(3):
        lab.hear(1, rst(WORSE))
    assert lab.tree.port(1).drops == {"port-disabled": 2}


def test_root_guard_blocks_while_superior_bpdus_come() -> None:
    lab = Lab(2, PortParams(root_guard=True, auto_edge=False))
    lab.wait(30)
    assert states(lab.hear(1, rst(BETTER, proposal=True))) == [(1, D)]
    assert lab.tree.snapshot().root == OWN_ID
    assert lab.state(2) is F  # the stranger's proposal blocks nothing here
    assert lab.tree.port(1).guards == (Guard.ROOT_GUARD,)
    assert "root guard" in lab.tree.port(1).reason
    lab.wait(6.1)
    assert lab.tree.port(1).guards == ()
    assert lab.role(1) == "designated"
    assert strikes(lab, Guard.ROOT_GUARD) == [True, False]
    lab.wait(10)
    assert lab.state(1) is F


def test_turning_root_guard_off_accepts_the_root() -> None:
    lab = Lab(1, PortParams(root_guard=True))
    lab.hear(1, rst(BETTER))
    lab.do(lab.tree.set_port_params(1, PortParams(), lab.now))
    assert (lab.role(1), lab.tree.port(1).guards) == ("root", ())


@pytest.mark.parametrize("port", [1, 2])
def test_loop_guard_blocks_a_port_that_stops_hearing(port: int) -> None:
    lab = Lab(2, LOOP_GUARD)
    lab.hear(1, rst(BETTER, 0))
    lab.hear(2, rst(BETTER, 1, WORSE))
    assert (lab.role(1), lab.role(2)) == ("root", "alternate")
    other = 3 - port
    said = rst(BETTER, 0) if other == 1 else rst(BETTER, 1, WORSE)
    lab.wait_hearing(60, other, said)
    assert lab.state(port) is D
    assert lab.role(port) == "designated"
    assert lab.tree.port(port).guards == (Guard.LOOP_GUARD,)
    assert lab.state(other) is F
    assert strikes(lab, Guard.LOOP_GUARD) == [True]
    lab.hear(port, rst(BETTER, 0) if port == 1 else rst(BETTER, 1, WORSE))
    assert strikes(lab, Guard.LOOP_GUARD) == [True, False]
    assert lab.role(port) == ("root" if port == 1 else "alternate")


def test_loop_guard_on_a_designated_port_does_nothing() -> None:
    lab = Lab(1, LOOP_GUARD)
    lab.wait(40)
    assert lab.state(1) is F


def held_by_loop_guard() -> Lab:
    lab = Lab(1, LOOP_GUARD)
    lab.hear(1, rst(BETTER))
    lab.wait(60)
    assert (lab.state(1), lab.role(1)) == (D, "designated")
    return lab


def test_port_freed_from_loop_guard_waits_before_it_forwards() -> None:
    lab = held_by_loop_guard()
    assert states(lab.do(lab.tree.recover(1, lab.now))) == []
    assert states(lab.wait(1.9)) == []
    assert states(lab.wait(3)) == [(1, L), (1, F)]


def test_loop_guard_lets_go_with_the_link_and_with_the_setting() -> None:
    lab = held_by_loop_guard()
    lab.link(1, DOWN)
    assert lab.tree.port(1).guards == ()
    lab = held_by_loop_guard()
    lab.do(lab.tree.set_port_params(1, PortParams(), lab.now))
    assert lab.tree.port(1).guards == ()


def own(port: int = 1) -> object:
    return rst(OWN_ID, 0, OWN_ID, 0x8000 | port)


def test_port_that_hears_itself_blocks_and_comes_back() -> None:
    lab = Lab(1, PortParams(admin_edge=True))
    lab.wait(EDGE_WAIT)
    assert lab.state(1) is F
    assert states(lab.hear(1, own())) == [(1, D)]
    assert lab.tree.port(1).guards == (Guard.SELF_LOOP,)
    for _ in range(10):
        lab.wait(2)
        lab.hear(1, own())
    assert lab.state(1) is D
    assert lab.tree.port(1).drops == {"own-bpdu": 11}
    assert len(lab.events("stp.bpdu.dropped")) == 1
    lab.wait(5.9)
    assert lab.state(1) is D
    lab.wait(30)
    assert lab.state(1) is F
    assert strikes(lab, Guard.SELF_LOOP) == [True, False]


def test_own_bpdus_are_known_after_a_change_of_port_priority() -> None:
    lab = Lab(1)
    lab.do(lab.tree.set_port_params(1, PortParams(priority=16), lab.now))
    lab.hear(1, own())
    assert lab.tree.port(1).guards == (Guard.SELF_LOOP,)
    lab.link(1, DOWN)
    assert lab.tree.port(1).guards == ()


def test_self_looped_root_port_blocks_too() -> None:
    lab = Lab(2, PortParams(auto_edge=False))
    lab.hear(1, rst(BETTER))
    assert lab.state(1) is F
    lab.hear(1, rst(BETTER, 20000, OWN_ID, 0x8001, role=BpduRole.ROOT, agreement=True))
    assert (lab.role(1), lab.state(1)) == ("root", D)
    lab.do(lab.tree.recover(1, lab.now))
    assert lab.state(1) is F


def test_self_looped_alternate_port_stays_alternate() -> None:
    lab = Lab(2, PortParams(auto_edge=False))
    lab.hear(1, rst(BETTER))
    lab.hear(2, rst(BETTER, 1, WORSE))
    lab.hear(2, rst(BETTER, 20000, OWN_ID, 0x8002, role=BpduRole.ALTERNATE_BACKUP))
    assert lab.tree.port(2).guards == (Guard.SELF_LOOP,)
    assert states(lab.do(lab.tree.recover(2, lab.now))) == []
    assert states(lab.link(1, DOWN)) == [(1, D), (2, F)]


def test_filtered_port_neither_speaks_nor_hears() -> None:
    lab = Lab(1, PortParams(bpdu_filter=True))
    lab.hear(1, rst(BETTER))
    lab.wait(60)
    assert lab.sent(1) == []
    assert (lab.role(1), lab.state(1)) == ("designated", F)
    assert lab.tree.port(1).drops == {"filtered": 1}
    lab.do(lab.tree.set_port_params(1, PortParams(), lab.now))
    lab.hear(1, rst(BETTER))
    assert lab.role(1) == "root"


def test_drops_are_counted_each_and_reported_once_until_recovery() -> None:
    lab = Lab(1)
    for _ in range(5):
        lab.do(lab.tree.receive(1, b"junk", lab.now))
    assert lab.tree.port(1).drops == {"truncated": 5}
    assert len(lab.events("stp.bpdu.dropped")) == 1
    lab.do(lab.tree.recover(1, lab.now))
    lab.do(lab.tree.receive(1, b"junk", lab.now))
    assert len(lab.events("stp.bpdu.dropped")) == 2


def test_recovery_time_is_a_bridge_parameter_for_later_strikes() -> None:
    lab = Lab(1, BPDU_GUARD)
    lab.do(lab.tree.set_bridge_params(BridgeParams(bpdu_guard_recovery=5), lab.now))
    lab.hear(1, rst(WORSE))
    lab.wait(5.1)
    assert lab.state(1) is F
