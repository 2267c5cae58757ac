"""What is heard and what role follows: port information and role selection (17.27, 17.28)."""

from ofapp.bridge.stp import BridgeParams, Link, PortParams
from ofapp.bridge.stp.bpdu import BpduRole
from ofapp.bridge.stp.port import InfoIs
from ofapp.bridge.stp.vectors import Times
from tests.unit.bridge.stp.lab import (
    BETTER,
    OWN_ID,
    SILENT,
    WORSE,
    D,
    F,
    Lab,
    agreement,
    rst,
    states,
)

# -- port information (17.27) ----------------------------------


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


# -- port role selection (17.28) -------------------------------


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
