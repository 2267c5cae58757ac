"""RSTP beside STP (17.24), ports without spanning tree, and what is reported all of it."""

from ofapp.bridge.stp import BridgeParams, PortParams
from ofapp.bridge.stp.bpdu import BpduType
from tests.unit.bridge.stp.lab import (
    BETTER,
    DOWN,
    SILENT,
    UP,
    WORSE,
    D,
    F,
    Lab,
    agreement,
    config,
    flushed,
    ring_member,
    rst,
    states,
)

# -- port protocol migration (17.24) ---------------------------


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


# -- spanning tree off, on a port ------------------------------


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


# -- what is sent ----------------------------------------------


def test_roles_and_states_are_reported_with_reasons() -> None:
    lab = Lab(1, SILENT)
    lab.hear(1, rst(BETTER, proposal=True))
    role = lab.events("stp.role")[-1]
    assert role.message == "port 1: designated -> root (best path to the root, cost 20000)"
    assert role.data["old"] == "designated"
    state = lab.events("stp.state")[-1]
    assert (state.data["new"], state.port) == ("forwarding", 1)
    assert lab.events("stp.root")[-1].data["root_port"] == 1


def test_bpdus_are_reported_while_somebody_listens() -> None:
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
    """Its new identifier asked for its information to be updated; no machine does that any more."""
    lab = Lab(2, SILENT)
    lab.do(lab.tree.set_port_params(1, PortParams(enabled=False, priority=0), lab.now))
    assert lab.role(1) == "disabled"
    lab.do(lab.tree.set_port_params(1, PortParams(priority=0), lab.now))
    assert lab.role(1) == "designated"
