"""Wrong cables of a fabric, and frames that no member has sent just now."""

import pytest

from ofapp.bridge.event import Event
from ofapp.bridge.fabric.links import Links
from ofapp.bridge.fabric.links.probe import Probe, write
from ofapp.bridge.fabric.plans.graph import End
from ofapp.bridge.fabric.status import LinkState
from ofapp.bridge.lldp.own import OwnAgents
from tests.unit.bridge.fabric.cables import World, params

BOUND = 2.0


def wrong(world: World) -> dict[object, object]:
    """Reasons by port, of the events so far."""
    return {e.data["one"]: e.data["reason"] for e in world.events if e.kind == "fabric.link.wrong"}


def test_a_cable_between_ports_of_one_member_is_wrong() -> None:
    world = World(2)
    cable = world.cable((1, 1), (1, 2))
    world.run(BOUND)
    assert not world.pairs()
    assert world.of("s1/eth1").state is LinkState.WRONG
    assert wrong(world) == {
        "s1/eth1": "it is cabled to s1/eth2 of the same member",
        "s1/eth2": "it is cabled to s1/eth1 of the same member",
    }
    world.uncable(cable)
    right = world.cable((1, 1), (2, 1))
    world.until(lambda: world.carries(right), BOUND)
    assert world.kinds()[2:] == ["fabric.link.wrong.cleared"] * 2 + ["fabric.link.up"]


def test_a_loop_at_the_other_end_is_wrong() -> None:
    world = World(1)
    world.cable((1, 1), (1, 1))
    world.run(BOUND)
    assert "its frames come back" in str(wrong(world)["s1/eth1"])


def test_a_hub_is_found_before_and_after_a_link_is_proven() -> None:
    world = World(3)
    world.cable((1, 1), (2, 1), (3, 1))
    world.run(30)
    assert not world.pairs()
    assert wrong(world)["s1/eth1"] == (
        "there are s2/eth1 and s3/eth1 behind it: a hub or a bridge is in the cable"
    )
    world = World(3)
    cable = world.cable((1, 1), (2, 1))
    world.run(BOUND)
    assert world.carries(cable)
    cable.ends += (End(3, 1),)
    world.put_changed()
    world.until(lambda: not world.pairs(), 1)
    world.run(30)
    assert not world.pairs()
    assert {each.state for each in world.status() if each.state is not LinkState.DOWN} == {
        LinkState.WRONG
    }
    cable.ends = cable.ends[:2]
    world.put_changed()
    world.until(lambda: world.carries(cable), 20)


def test_crossed_fibres_are_wrong() -> None:
    world = World(3)
    for one, other in ((1, 2), (2, 3), (3, 1)):
        world.cable((one, 1), (other, 1)).deaf.add(End(one, 1))
    world.run(30)
    assert not world.pairs()
    assert wrong(world)["s1/eth1"] == (
        "it hears s3/eth1 and is heard at s2/eth1: the fibres of two cables are crossed"
    )


def test_a_cable_that_was_moved_behind_a_converter_ends_the_link() -> None:
    world = World(3)
    cable = world.cable((1, 1), (2, 1))
    world.run(20)
    cable.ends = (End(1, 1), End(3, 1))  # s1/eth1 keeps its carrier
    world.put_changed()
    world.until(lambda: world.carries(cable), 20)
    assert world.pairs() == {(End(1, 1), End(3, 1))}
    assert not wrong(world)


def test_cables_are_compared_with_the_configuration() -> None:
    cables = [("s1/eth1", "s2/eth1"), ("s3/eth1", "s1/eth2"), ("s2/eth4", "s9/eth1")]
    world = World(3, 3, params(3, cables))
    right = world.cable((1, 1), (2, 1))
    swapped, extra = world.cable((1, 2), (3, 2)), world.cable((2, 3), (3, 3))
    world.run(5)
    assert world.pairs() == {right.ends}
    assert wrong(world) == {
        "s1/eth2": "it is cabled to s3/eth2, and the configuration says s3/eth1",
        "s3/eth2": "it is cabled to s1/eth2, which is not in the list of cables",
        "s2/eth3": "it is cabled to s3/eth3, which is not in the list of cables",
        "s3/eth3": "it is cabled to s2/eth3, which is not in the list of cables",
    }
    assert world.of("s1/eth2").state is LinkState.WRONG
    assert world.of("s2/eth4").reason == "there are no link ports s2/eth4 and s9/eth1"
    assert world.of("s3/eth1").reason == (
        "s3/eth1 has no carrier; the configuration says that it leads to s1/eth2"
    )
    world.take(world.links.set_params(params(3), world.now))
    world.until(lambda: len(world.pairs()) == 3, 5)
    world.take(world.links.set_params(params(3, cables), world.now))
    assert world.pairs() == {right.ends}
    world.uncable(swapped)
    world.cable((1, 2), (3, 1))
    world.until(lambda: len(world.pairs()) == 2, 5)
    assert not world.carries(extra)


def other_fabric(world: World, key: bytes = b"a secret key") -> bytes:
    """A probe of another fabric."""
    agents = world.agents if key == b"a secret key" else OwnAgents(key)
    return write(Probe(8, End(1, 1), 0, agents.serial()), 0x020000000901, agents)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (b"a secret key", "it is cabled to fabric 8 of this controller"),
        (b"another key", "it is cabled to a fabric of another controller"),
    ],
)
def test_a_cable_to_another_fabric_is_wrong(key: bytes, text: str) -> None:
    world = World(1, 1)
    cable = world.cable((1, 1))
    world.deliver(End(1, 1), other_fabric(world, key))
    world.run(1)
    assert wrong(world) == {"s1/eth1": text}
    assert world.of("s1/eth1").reason == text
    world.run(20)
    assert world.of("s1/eth1").state is LinkState.PROBING
    world.uncable(cable)
    assert world.kinds() == ["fabric.link.wrong", "fabric.link.wrong.cleared"]


def test_probes_of_other_fabrics_end_no_link() -> None:
    world = World(2, 1)
    cable = world.cable((1, 1), (2, 1))
    world.run(BOUND)
    for key in (b"a secret key", b"another key"):
        world.deliver(End(1, 1), other_fabric(world, key))
    world.run(20)
    assert world.carries(cable)


def test_forged_and_replayed_frames_change_nothing() -> None:
    world = World(3)
    cable = world.cable((1, 1), (2, 1))
    world.cable((3, 1))  # a host
    world.run(10)
    graph, probes = world.links.graph(), [frame for _, _, frame in world.sent]
    world.run(10)
    sent = len(world.sent)
    for at, frame in enumerate(probes * 20):
        forged = bytearray(frame)
        forged[14 + at % 42] ^= 1 << at % 8
        for end in (End(1, 1), End(2, 1), End(3, 1)):
            world.deliver(end, bytes(forged))
            world.deliver(end, frame)
            world.deliver(end, frame[: at % 60])
    world.run(60)
    assert world.links.graph() is graph
    assert world.carries(cable)
    counters = world.links.counters
    assert min(counters[kind] for kind in ("forged", "stale", "malformed", "foreign")) > 50
    assert len(world.sent) - sent < 100, "what hosts send causes no probes"
    forged_events = [event for event in world.events if event.kind == "fabric.link.forged"]
    assert len(forged_events) == 3
    assert counters["unreported"] > 50


def test_a_copy_at_the_same_port_proves_nothing() -> None:
    world = World(2, 1)
    cable = world.cable((1, 1), (2, 1))
    world.run(10)
    cable.deaf.add(End(2, 1))
    last = [frame for _, end, frame in world.sent if end == End(1, 1)][-1]
    for _ in range(100):
        world.deliver(End(2, 1), last)
        world.run(0.1)
    assert not world.carries(cable)


def test_without_a_key_nothing_is_proven() -> None:
    world = World(2)
    world.agents = OwnAgents()
    world.links = Links(world.params, world.agents)
    for member in (1, 2):
        world.put(member)
        world.take(world.links.connected(member, world.now))
    world.cable((1, 1), (2, 1))
    world.run(5)
    assert not world.pairs()


def test_events_of_one_port_are_limited() -> None:
    world = World(1)
    for _ in range(20):
        cable = world.cable((1, 1), (1, 2))
        world.run(0.5)
        world.uncable(cable)
    events: list[Event] = [e for e in world.events if e.data["one"] == "s1/eth1"]
    assert len(events) == 10
    assert world.links.counters["unreported"] == 60
