"""Topology changes (17.31)."""

from ofapp.bridge.stp import Effect, PortParams, TopologyChanged
from ofapp.bridge.stp.bpdu import BpduRole, BpduType
from tests.unit.bridge.stp.lab import (
    BETTER,
    DOWN,
    OWN_ID,
    SILENT,
    TCN,
    UP,
    WORSE,
    Lab,
    config,
    flushed,
    ring_member,
    rst,
)


def test_topology_change_flushes_every_port_but_the_one_that_heard_of_it() -> None:
    lab = ring_member()
    tc = rst(BETTER, 30000, WORSE, 2, role=BpduRole.ROOT, topology_change=True)
    effects = lab.hear(2, tc)
    assert flushed(effects) == [1, 3]
    for port in (1, 3):
        assert lab.sent(port, effects)[-1].topology_change
    assert lab.tree.snapshot().topology_change


def test_topology_change_is_reported_for_hello_time_and_one_second() -> None:
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


def changed_ports(effects: list[Effect]) -> list[int]:
    return [effect.port for effect in effects if isinstance(effect, TopologyChanged)]


TC = rst(OWN_ID, 20000, WORSE, role=BpduRole.ROOT, topology_change=True)


def test_a_change_that_a_neighbour_tells_is_passed_on_though_nobody_else_is_to_hear_of_it() -> None:
    """The root of a pair with one link: it starts no timer."""
    lab = Lab(1, SILENT)
    assert changed_ports(lab.wait(40)) == [1]
    for _ in range(2):
        assert changed_ports(lab.hear(1, TC)) == [1]
        assert not lab.tree.snapshot().topology_change
        lab.wait(0.5)


def test_a_change_is_passed_on_while_another_is_being_reported() -> None:
    lab = ring_member()
    tc = rst(BETTER, 30000, WORSE, 2, role=BpduRole.ROOT, topology_change=True)
    assert changed_ports(lab.hear(2, tc)) == [2]
    lab.wait(1)
    assert lab.tree.snapshot().topology_change
    other = rst(BETTER, 30000, WORSE, 3, role=BpduRole.ROOT, topology_change=True)
    assert changed_ports(lab.hear(3, other)) == [3]
    assert len(lab.events("stp.topology-change")) == 2  # the first was that the ports opened


def test_restricted_tcn_keeps_changes_from_the_bridge_too() -> None:
    lab = Lab(1, PortParams(auto_edge=False, restricted_tcn=True))
    assert changed_ports(lab.wait(40)) == [1]  # its own, as it opens
    assert changed_ports(lab.hear(1, TC)) == []


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
