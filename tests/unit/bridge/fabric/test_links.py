"""Links of a fabric: found, proven in both directions, and given up when they fail."""

import itertools

import pytest

from ofapp.bridge.fabric.plans.graph import End
from ofapp.bridge.fabric.status import LinkState
from ofapp.bridge.ports.port import Port
from tests.unit.bridge.fabric.cables import World, params

BOUND = 2.0
"""Seconds in which a new cable is proven."""


def test_a_cable_is_found_and_proven() -> None:
    world = World(2)
    cable = world.cable((1, 1), (2, 3))
    assert not world.carries(cable)
    assert world.until(lambda: world.carries(cable), BOUND) < 1.0
    link = world.of("s1/eth1")
    assert (link.one, link.other, link.state) == ("s1/eth1", "s2/eth3", LinkState.CARRIES)
    assert (link.reason, link.failures, link.cost) == ("", 0, 1)
    assert world.kinds() == ["fabric.link.up"]


def test_probes_are_of_both_sizes() -> None:
    world = World(2)
    world.cable((1, 1), (2, 1))
    world.run(BOUND)
    assert {len(frame) for _, _, frame in world.sent} == {60, 1540}
    frame = world.sent[0][2]
    assert frame[:14].hex() == "0180c200000e" + "020000000101" + "88b5"


def test_a_link_at_rest_is_probed_rarely() -> None:
    world = World(2, 1)
    world.cable((1, 1), (2, 1))
    world.run(10)
    world.sent.clear()
    world.run(600)
    assert 2 * 600 / 5 <= len(world.sent) <= 2 * 600 / 4.5 + 2
    assert all(len(frame) > 1000 for _, _, frame in world.sent)
    assert world.links.counters["stale"] == world.links.counters["replayed"] == 0


def test_parallel_cables_are_separate_links_in_a_fixed_order() -> None:
    world = World(3)
    for ends in [((3, 1), (1, 1)), ((2, 2), (1, 3)), ((1, 2), (2, 1))]:
        world.cable(*ends)
    world.run(BOUND)
    assert [(tuple(link.one), tuple(link.other)) for link in world.links.graph().links] == [
        ((1, 1), (3, 1)),
        ((1, 2), (2, 1)),
        ((1, 3), (2, 2)),
    ]
    assert world.links.graph().members == (1, 2, 3)
    assert world.links.graph() is world.links.graph()


def test_costs_are_by_the_name_of_either_end() -> None:
    world = World(2, given=params(2, costs={"s2/eth1": 5, "s1/eth2": 3, "s2/eth2": 4}))
    world.cable((1, 1), (2, 1))
    world.cable((1, 2), (2, 2))
    world.cable((1, 3), (2, 3))
    world.run(BOUND)
    assert [link.cost for link in world.links.graph().links] == [5, 4, 1]
    world.take(world.links.set_params(params(2, costs={"s1/eth3": 9}), world.now))
    assert [link.cost for link in world.links.graph().links] == [1, 1, 9]


def test_a_link_without_carrier_at_one_end_is_given_up_at_once() -> None:
    world = World(2)
    cable = world.cable((1, 1), (2, 1))
    world.run(BOUND)
    world.uncable(cable)
    assert not world.pairs()
    link = world.of("s1/eth1")
    assert (link.state, link.failures) == (LinkState.DOWN, 1)
    assert link.reason == "s1/eth1 has no carrier; s2/eth1 has no carrier"
    assert world.kinds() == ["fabric.link.up", "fabric.link.down"]


def test_a_link_that_bfd_reports_is_given_up_at_once() -> None:
    world = World(2)
    cable = world.cable((1, 1), (2, 1))
    world.run(BOUND)
    world.bfd_down.add(End(2, 1))
    world.put_changed()
    assert not world.pairs()
    assert world.of("s1/eth1").reason == "s2/eth1 has carrier, but BFD has no session or has failed"
    world.bfd_down.clear()
    world.put_changed()
    world.until(lambda: world.carries(cable), 5)


def test_the_last_way_stays_in_plans_while_bfd_reports_it() -> None:
    """The switches use it again at once when it is back; a new plan would take seconds."""
    world = World(3)
    one = world.cable((1, 1), (2, 1))
    spare = world.cable((2, 2), (3, 1))
    other = world.cable((3, 2), (1, 2))
    world.run(BOUND)
    world.bfd_down.add(one.ends[0])
    world.put_changed()
    assert world.used() == {spare.ends, tuple(sorted(other.ends))}
    world.bfd_down |= {spare.ends[0], other.ends[0]}
    world.put_changed()
    assert world.pairs() == set()
    assert len(world.used()) == 3
    assert not world.links.working().links
    assert "members would be cut off" in world.of("s1/eth1").reason
    world.bfd_down.clear()
    world.put_changed()
    world.until(lambda: len(world.pairs()) == 3, 10)


def test_a_link_that_waits_is_used_where_no_other_leads_there() -> None:
    world = World(2)
    first = world.cable((1, 1), (2, 1))
    second = world.cable((1, 2), (2, 2))
    world.run(BOUND)
    for _ in range(6):
        world.cut(first)
        world.until(lambda: world.of("s1/eth1").state is LinkState.HELD, 100)
    assert world.used() == {second.ends}
    world.bfd_down.add(second.ends[0])
    world.put_changed()
    assert world.used() == {first.ends}
    assert world.links.working() == world.links.graph()
    assert world.of("s1/eth1").state is LinkState.HELD
    assert "members would be cut off" in world.of("s1/eth1").reason


def test_another_cable_is_in_no_plan_before_it_is_proven() -> None:
    """It may lead elsewhere, and frames would go round."""
    world = World(2)
    cable = world.cable((1, 1), (2, 1))
    world.run(BOUND)
    world.bfd_down.add(End(2, 1))
    world.put_changed()
    assert world.used() == {cable.ends}
    world.uncable(cable)
    assert world.used() == set()
    world.bfd_down.clear()
    again = world.cable((1, 1), (2, 1))
    world.put_changed()
    assert world.used() == set()
    world.until(lambda: world.used() == {again.ends}, BOUND)


def test_a_link_that_returns_is_proven_and_then_waits() -> None:
    world = World(2)
    cable = world.cable((1, 1), (2, 1))
    world.run(BOUND)
    world.cut(cable)
    world.sent.clear()
    world.until(lambda: world.of("s1/eth1").state is LinkState.HELD, BOUND)
    assert sum(len(frame) > 1000 for _, _, frame in world.sent) >= 6
    assert world.of("s1/eth1").reason == "it has failed before, and is used again in 1 s"
    assert 0.9 < world.until(lambda: world.carries(cable), 2) < 1.2


def test_a_link_that_flaps_waits_twice_as_long_each_time_up_to_a_limit() -> None:
    world = World(2)
    cable = world.cable((1, 1), (2, 1))
    world.run(BOUND)
    times = []
    for _ in range(9):
        world.cut(cable)
        times.append(world.until(lambda: world.carries(cable), 100))
    for at, seconds in enumerate(times):
        assert min(2.0**at, 64) < seconds < min(2.0**at, 64) + 1.5
    assert world.of("s1/eth1").failures == 9
    flapping = [event for event in world.events if event.kind == "fabric.link.flapping"]
    assert [event.data["seconds"] for event in flapping] == [4, 8, 16, 32, 64, 64, 64]
    world.run(601)
    world.cut(cable)
    assert world.until(lambda: world.carries(cable), 100) < 2.5


def test_a_direction_that_fails_silently_is_found() -> None:
    world = World(2)
    cable = world.cable((1, 1), (2, 1))
    world.run(BOUND)
    cable.deaf.add(End(2, 1))
    assert world.until(lambda: not world.carries(cable), 10) < 8
    assert world.of("s1/eth1").reason == "frames from s1/eth1 do not arrive at s2/eth1"
    world.run(60)
    assert not world.carries(cable)
    assert world.of("s1/eth1").reason == "frames from s1/eth1 do not arrive at s2/eth1"
    cable.deaf.clear()
    world.until(lambda: world.carries(cable), 15)


def test_a_cable_that_fails_silently_is_found_as_others_are_heard() -> None:
    world = World(3)
    cable = world.cable((1, 1), (2, 1))
    others = [world.cable((1, 2), (3, 1)), world.cable((2, 2), (3, 2))]
    world.run(BOUND)
    cable.deaf |= {*cable.ends}
    assert world.until(lambda: not world.carries(cable), 12) < 12
    assert all(map(world.carries, others))


def test_a_connection_to_a_member_that_has_stopped_is_no_failed_cable() -> None:
    world = World(3)
    cables = [world.cable(*ends) for ends in [((1, 1), (2, 1)), ((2, 2), (3, 1)), ((1, 2), (3, 2))]]
    world.run(BOUND)
    world.mute.add(2)
    world.run(25)
    assert all(map(world.carries, cables))
    world.mute.clear()
    world.run(25)
    assert all(map(world.carries, cables))
    assert world.kinds() == ["fabric.link.up"] * 3


def test_silence_of_a_member_ends_its_links_after_a_while() -> None:
    world = World(2)
    cable = world.cable((1, 1), (2, 1))
    world.run(BOUND)
    world.mute.add(2)
    world.until(lambda: not world.carries(cable), 40)
    assert world.of("s1/eth1").reason.startswith("probes do not arrive in either direction")


def test_a_controller_that_stalls_gives_no_link_up() -> None:
    world = World(2)
    cable = world.cable((1, 1), (2, 1))
    world.run(20)
    for _ in range(10):
        world.now += 7  # frames of the switches wait, and timers are late
        world.run(0.3)
    assert world.carries(cable)
    assert world.kinds() == ["fabric.link.up"]


def test_a_link_with_a_small_mtu_is_not_used_and_says_what_to_set() -> None:
    world = World(2)
    cable = world.cable((1, 1), (2, 1), mtu=1500)
    world.run(10)
    link = world.of("s1/eth1")
    assert link.state is LinkState.PROBING
    assert link.reason == (
        "frames of 1540 octets do not pass: set the MTU of s1/eth1 and s2/eth1 to at least 1526"
    )
    assert world.kinds() == ["fabric.link.mtu"]
    cable.mtu = 1526
    world.until(lambda: world.carries(cable), 10)
    assert world.kinds() == ["fabric.link.mtu.cleared", "fabric.link.up"]


def test_an_mtu_that_is_lowered_later_is_found() -> None:
    world = World(2)
    cable = world.cable((1, 1), (2, 1))
    world.run(10)
    cable.mtu = 1500
    world.until(lambda: not world.carries(cable), 12)
    assert "set the MTU" in world.of("s1/eth1").reason
    assert "fabric.link.mtu" in world.kinds()


def test_a_larger_mtu_is_proven_while_the_link_carries_frames() -> None:
    world = World(2)
    cable = world.cable((1, 1), (2, 1), mtu=4000)
    world.run(10)
    world.take(world.links.set_params(params(2, mtu=3000), world.now))
    world.run(10)
    assert world.carries(cable)
    world.take(world.links.set_params(params(2, mtu=9000), world.now))
    world.until(lambda: not world.carries(cable), 15)


def test_a_lossy_cable_is_not_used() -> None:
    world = World(2)
    cable = world.cable((1, 1), (2, 1))
    lost = itertools.cycle([False, False, True])
    cable.lost = lambda: next(lost)
    world.run(60)
    assert not world.carries(cable)


def test_links_of_a_member_that_cannot_be_reached_stay_while_the_other_end_has_carrier() -> None:
    world = World(3)
    cable = world.cable((1, 1), (2, 1))
    other = world.cable((3, 1), (2, 2))
    world.run(BOUND)
    world.lose(2)
    world.run(100)
    assert all(map(world.carries, (cable, other)))
    link = world.of("s1/eth1")
    assert link.state is LinkState.UNREACHABLE
    assert link.reason == "s2 is not connected to the controller"
    assert not world.links.is_alone(2)
    world.uncable(cable)
    assert world.pairs() == {other.ends[::-1]}
    world.uncable(other)
    assert world.links.is_alone(2)
    assert not world.links.is_alone(1)
    world.cable((1, 1), (2, 1))
    assert not world.links.is_alone(2)
    assert not world.pairs()
    world.find(2)
    world.until(lambda: bool(world.pairs()), 3)


def test_a_member_that_is_back_keeps_its_links_if_they_are_proven_again() -> None:
    world = World(2)
    good, bad = world.cable((1, 1), (2, 1)), world.cable((1, 2), (2, 2))
    world.run(BOUND)
    world.lose(2)
    world.run(30)
    bad.deaf.add(End(1, 2))
    world.find(2)
    assert world.carries(good)
    world.until(lambda: not world.carries(bad), 4)
    world.run(30)
    assert world.carries(good)
    assert world.kinds().count("fabric.link.down") == 1


def test_members_that_were_never_connected_may_be_behind_ports_that_hear_nothing() -> None:
    world = World(3)
    world.lose(3)
    world.links.__init__(world.params, world.agents)  # type: ignore[misc]
    assert world.links.is_alone(3)
    for member in (1, 2):
        world.put(member)
        world.take(world.links.connected(member, world.now))
    assert world.links.is_alone(3)
    world.cable((1, 1), (2, 1))
    world.run(BOUND)
    assert world.links.is_alone(3)
    world.cable((1, 2), (3, 1))
    assert not world.links.is_alone(3)


def test_many_links_are_proven_without_a_burst() -> None:
    world = World(40, 6)
    for member in range(1, 41):
        for step in (1, 2, 3):
            world.cable((member, step), ((member + step - 1) % 40 + 1, step + 3))
    took = world.until(lambda: len(world.pairs()) == 120, 10)
    assert took < 5
    for second in range(5):
        begin = 100 + second
        count = sum(begin <= at < begin + 1 for at, _, _ in world.sent)
        assert count <= 1400


def test_ports_that_are_removed_or_renamed_end_their_links() -> None:
    world = World(2)
    cable = world.cable((1, 1), (2, 1))
    world.run(BOUND)
    world.take(world.links.remove_ports(1, [1, 9], world.now))
    assert not world.pairs()
    assert "s1/eth1 is no link port any more" in world.events[-1].message
    assert world.of("s2/eth1").other is None
    world.put(1)
    world.until(lambda: world.carries(cable), 5)
    assert world.of("s1/eth1").failures == 1


def test_a_member_that_is_another_one_now_is_removed() -> None:
    world = World(3)
    world.cable((1, 1), (2, 1))
    other = world.cable((1, 2), (3, 2))
    world.run(BOUND)
    world.take(world.links.set_params(params(2), world.now))
    assert [tuple(link.other) for link in world.links.graph().links] == [(2, 1)]
    assert world.links.graph().members == (1, 2)
    world.cables.remove(other)
    world.connected.discard(3)
    world.run(20)


@pytest.mark.parametrize("calls", ["disconnected", "remove_ports"])
def test_nothing_is_sent_by_members_and_ports_that_are_gone(calls: str) -> None:
    world = World(2, 1)
    world.cable((1, 1), (2, 1))
    world.run(BOUND)
    if calls == "disconnected":
        world.lose(1)
        world.lose(2)
    else:
        world.take(world.links.remove_ports(1, [1], world.now))
        world.take(world.links.remove_ports(2, [1], world.now))
    assert world.links.next_wakeup() is None
    world.take(world.links.hear(1, [(1, world.sent[-1][2])], world.now))


@pytest.mark.parametrize("latency", [0.2, 0.8])
def test_a_slow_connection_to_the_switches_delays_a_link_and_ends_none(latency: float) -> None:
    world = World(2, 1)
    world.latency = latency
    cable = world.cable((1, 1), (2, 1))
    world.until(lambda: world.carries(cable), 10)
    world.run(60)
    assert world.carries(cable)
    assert world.kinds() == ["fabric.link.up"]


def test_probes_that_arrive_late_prove_nothing() -> None:
    world = World(2, 1)
    world.latency = 3.0
    cable = world.cable((1, 1), (2, 1))
    world.run(5)
    stale = world.links.counters["stale"]
    assert stale > 0
    world.latency = 0.1
    world.send(End(1, 1), world.sent[-1][2])
    world.cut(cable)  # what was sent before proves nothing
    world.run(0.11)
    assert world.links.counters["stale"] > stale


def test_a_port_with_another_name_is_another_port() -> None:
    world = World(2, 1)
    cable = world.cable((1, 1), (2, 1))
    world.run(BOUND)
    named = Port(1, "eth9", 0x020000000101, True)
    world.take(world.links.put_ports(1, [named], world.now))
    assert not world.pairs()
    world.until(lambda: world.carries(cable), BOUND)
    assert world.of("s1/eth9").failures == 0
    assert world.links.connected(1, world.now) == []


def test_failures_are_remembered_of_a_limited_number_of_links(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ofapp.bridge.fabric.links.review.REMEMBERED", 2)
    world = World(2)
    for one, other in itertools.product(range(1, 5), repeat=2):
        cable = world.cable((1, one), (2, other))
        world.run(BOUND)
        assert world.carries(cable)
        world.uncable(cable)
        world.run(601)
    world.cable((1, 1), (2, 1))
    world.run(BOUND)
    assert world.of("s1/eth1").failures == 0


def test_the_reason_of_a_link_is_in_the_event() -> None:
    world = World(2, 1)
    world.uncable(world.cable((1, 1), (2, 1)))
    assert world.kinds() == []
    cable = world.cable((1, 1), (2, 1))
    world.run(BOUND)
    world.uncable(cable)
    data = world.events[-1].data
    assert data["one"] == "s1/eth1"
    assert data["other"] == "s2/eth1"
    assert "no carrier" in str(data["reason"])
