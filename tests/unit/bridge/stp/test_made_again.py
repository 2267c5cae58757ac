"""Bridges are deleted and made again with the same datapath ids: the ring they form opens at once.

What is remembered of them, who is behind which port, is of the bridges that they were: each has
another address now, and perhaps another port by the same number.
"""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ofapp.bridge.stp import PortRole, PortState
from tests.unit.bridge.stp.fabric import Fabric
from tests.unit.bridge.stp.fabric_switch import Delays
from tests.unit.bridge.stp.stuck import watch
from tests.unit.bridge.stp.test_fabric import RING
from tests.unit.bridge.stp.test_properties import profile

ENDS = [(number, port) for number in (1, 2, 3) for port in (1, 2)]


def ring(seed: int) -> Fabric:
    fabric = Fabric(RING, seed, Delays(carrier=(0.0, 0.002))).start(0.5).run(15)
    assert fabric.whole()
    return fabric


def delete(fabric: Fabric, restart: bool) -> None:
    """restart: and the controller ends, and begins with what is on its disk."""
    if restart:
        fabric.kill()
    for number in fabric.switches:
        fabric.delete(number)
    fabric.run(1)
    if restart:
        fabric.start(0.0, dict.fromkeys(fabric.switches, 100.0))


def closed(fabric: Fabric) -> list[tuple[int, int]]:
    """Ports that do not forward, though designated."""
    found = []
    for number, bridge in fabric.bridges.items():
        for port in bridge.stp.tree.snapshot().ports:
            if port.role is PortRole.DESIGNATED and port.state is not PortState.FORWARDING:
                found.append((number, port.port))
    return found


@pytest.mark.parametrize("restart", [False, True])
def test_a_ring_opens_at_once(restart: bool) -> None:
    """One port of each bridge is there when it connects, the other one comes."""
    for seed in range(8):
        fabric = ring(seed)
        delete(fabric, restart)
        chance = fabric.random
        for number in fabric.switches:
            fabric.switches[number].links[chance.choice((1, 2))] = True
            fabric.at(fabric.now + chance.uniform(0, 0.1), partial(fabric.make, number))
        for end in ENDS:
            fabric.at(fabric.now + chance.uniform(0.1, 0.3), partial(fabric.plug, *end))
        fabric.run(1.3)
        assert closed(fabric) == [], f"seed {seed}"
        fabric.cut(fabric.cables[seed % 3])
        fabric.run(0.1)
        assert fabric.whole(), f"seed {seed}"
        assert fabric.loops == []


def test_one_bridge_alone() -> None:
    """Its neighbours have heard its former address lately, and see no link go down."""
    fabric = ring(0)
    fabric.delete(1)
    fabric.run(0.5)
    fabric.make(1)
    fabric.plug(1, 1)
    fabric.plug(1, 2)
    fabric.run(2)
    assert fabric.whole()
    fabric.prioritise(3, 4096)
    fabric.run(1)
    assert closed(fabric) == []
    assert fabric.whole()
    assert fabric.loops == []


def test_ports_that_come_later_are_as_cautious() -> None:
    """A bridge that connects without a port has no spanning tree yet; switch 3 is still absent and
    forwards."""
    fabric = ring(0)
    fabric.kill()
    for number in (1, 2):
        fabric.delete(number)
    fabric.run(1).start(0.0, dict.fromkeys(fabric.switches, 100.0))
    for number in (1, 2):
        fabric.make(number)
    fabric.run(0.5)
    for end in ENDS[:4]:
        fabric.plug(*end)
    fabric.run(2)
    assert (1, 1) in closed(fabric)
    fabric.connect(fabric.switches[3])
    fabric.run(1)
    assert closed(fabric) == []
    assert fabric.loops == []


@profile(20)
@given(st.data())
def test_whatever_the_order_no_port_stays_closed(data: st.DataObject) -> None:
    fabric = ring(data.draw(st.integers(0, 10_000), "seed"))
    delete(fabric, data.draw(st.booleans(), "restart"))
    found = watch(fabric)
    waits = st.floats(0.0, 0.4)
    for number in fabric.switches:
        fabric.at(fabric.now + data.draw(waits, f"{number} is made"), partial(fabric.make, number))
    for end in ENDS:
        if data.draw(st.booleans(), f"{end} is there before"):
            fabric.switches[end[0]].links[end[1]] = True
        fabric.at(fabric.now + data.draw(waits, f"{end} comes"), partial(fabric.plug, *end))
    fabric.run(data.draw(st.floats(0.5, 6.0), "at rest"))
    fabric.cut(data.draw(st.sampled_from(fabric.cables), "cut"))
    fabric.run(8)
    assert found == []
    assert fabric.whole()
    assert fabric.loops == []
