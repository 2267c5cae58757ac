"""Trees change, and the controller dies in the middle of that and comes back: nothing goes round.

`fabric` looks for loops in what the switches forward at every single opening.
"""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ofapp.bridge.stp import PortState
from ofapp.bridge.stp.on_bridge import SpanningTreeOnBridge
from tests.unit.bridge.stp.fabric import Fabric
from tests.unit.bridge.stp.fabric_switch import Delays
from tests.unit.bridge.stp.meshes import mesh
from tests.unit.bridge.stp.stuck import watch
from tests.unit.bridge.stp.test_properties import profile

RING = [(1, 2), (2, 3), (1, 3)]
KILLS = 100 if os.environ.get("OFAPP_THOROUGH") else 1


def running(cables: list[tuple[int, int]], seed: int = 0, connect: float = 4.0) -> Fabric:
    """A network at rest; after a restart its switches come back within `connect` seconds."""
    fabric = Fabric(cables, seed, Delays(connect=(0.0, connect)))
    fabric.start(0.5).run(15)
    assert fabric.whole()
    assert fabric.settled()
    return fabric


def change_and_kill(fabric: Fabric, changes: int) -> None:
    """Links go down, or come up, and the controller is killed while that is dealt with."""
    chosen = fabric.random.sample(fabric.cables, changes)
    down = fabric.random.random() < 0.5
    if not down:
        for cable in chosen:
            fabric.cut(cable)
        fabric.run(8)
    for cable in chosen:
        (fabric.cut if down else fabric.restore)(cable)
    fabric.run(fabric.random.uniform(0.002, 0.08))
    fabric.kill()


class TestKill:
    @pytest.mark.parametrize("seed", range(4))
    def test_in_a_change_of_20_bridges(self, seed: int) -> None:
        fabric = running(mesh(20, 34, seed), seed)
        for _ in range(2):
            change_and_kill(fabric, 7)
            fabric.run(fabric.random.uniform(0.8, 1.8))
            fabric.restart()
            fabric.run(15)
            assert fabric.whole()
        assert fabric.loops == []

    def test_in_a_change_of_100_bridges(self) -> None:
        for seed in range(KILLS):
            fabric = running(mesh(100, 170, seed), seed)
            change_and_kill(fabric, 10)
            fabric.run(fabric.random.uniform(0.8, 1.8)).restart()
            fabric.run(15)
            assert fabric.loops == [], f"seed {seed}"
            assert fabric.whole(), f"seed {seed}"

    @pytest.mark.parametrize("connect", [0.1, 4.0])
    def test_at_rest_moves_nothing(self, connect: float) -> None:
        fabric = running(mesh(12, 20, 1), 1, connect)
        before = len(fabric.log)
        fabric.run(fabric.random.uniform(0, 3)).kill()
        fabric.run(1).restart()
        fabric.run(20)
        assert fabric.log[before:] == []
        assert fabric.anew == []

    def test_a_port_towards_a_switch_that_is_not_back_is_no_edge(self) -> None:
        """No bridge is heard on it for longer than an edge takes, and the switch behind it
        forwards all the same."""
        fabric = running(RING)
        blocked = [
            (switch.number, port)
            for switch in fabric.switches.values()
            for port, state in switch.held.items()
            if state is PortState.DISCARDING
        ]
        ((number, port),) = blocked
        fabric.prioritise(number, 61440)  # it moves, and so it begins again
        fabric.kill()
        behind, _ = fabric.switches[number].cables[port].other((number, port))
        fabric.run(1).start(0.1, {behind: 9.0})
        fabric.run(18)
        assert fabric.loops == []
        assert fabric.whole()

    def test_who_begins_anew_knows_its_edges(self) -> None:
        fabric = running(RING)
        fabric.add_host(1)
        fabric.run(6)
        host = max(fabric.switches[1].held)
        assert fabric.switches[1].held[host] is PortState.FORWARDING
        fabric.prioritise(1, 61440)
        fabric.kill()
        before = len(fabric.log)
        fabric.run(1).start(0.1)
        fabric.run(10)
        closed = [what for _, number, what in fabric.log[before:] if number == 1]
        assert [what for what in closed if what.startswith(f"{host} ")] == []


class TestOrder:
    """A port that closes has closed, in its switch's cache too, when another opens elsewhere."""

    def histories(self) -> int:
        """How many of 30 networks have loops while their root changes.

        A BPDU and its answer take up to five times `AGREEMENT_DELAY`.
        """
        looped = 0
        for seed in range(30):
            fabric = Fabric(mesh(5, 9, seed), seed, Delays(slow=(0.005, 0.25)))
            fabric.start(0.5).run(4)
            fabric.prioritise(3, 4096)
            fabric.run(1)
            for cable in fabric.cables[:2]:
                fabric.cut(cable)
            fabric.run(3)
            looped += bool(fabric.loops)
        return looped

    def test_across_bridges(self) -> None:
        assert self.histories() == 0

    def test_a_reply_to_a_barrier_alone_does_not_say_so(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("tests.unit.bridge.stp.fabric_switch.grace", lambda _answered: 0.0)
        assert self.histories() > 0

    @staticmethod
    def late(seed: int) -> int:
        """How often frames go round while priorities and links change, and a message in twenty
        takes up to 0.3 s."""
        delays = Delays(channel=(0.0001, 0.03), slow=(0.005, 0.3))
        fabric = Fabric(mesh(6, 11, seed), seed, delays).start(0.5).run(6)
        chance = fabric.random
        before = len(fabric.loops)
        for _ in range(6):
            fabric.prioritise(chance.randint(1, 6), chance.choice((4096, 8192, 32768, 61440)))
            fabric.run(chance.choice((0.1, 0.3, 1)))
            cable = chance.choice(fabric.cables)
            (fabric.cut if cable.up else fabric.restore)(cable)
            fabric.run(chance.choice((0.1, 0.3, 1)))
        return len(fabric.run(5).loops) - before

    def test_an_agreement_that_is_late_opens_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Bridges of other vendors do not say to what they agree: there is a delay."""
        assert self.late(40) == 0
        monkeypatch.setattr(
            "ofapp.bridge.stp.information.is_answer",
            lambda core, port, _message: not core.running(port.agreement_from),
        )
        assert self.late(40) == 0
        monkeypatch.setattr(SpanningTreeOnBridge, "hear_of_leaving", lambda _stp: None)
        assert self.late(40) > 0, "it runs from when a BPDU is sent, and not when it is said"

    def test_a_switch_that_does_not_answer_holds_nobody_else_up(self) -> None:
        fabric = running([*RING, (3, 4)])
        fabric.stall(4, 1000.0)
        fabric.cut(fabric.cables[2])
        fabric.run(1)
        assert fabric.whole()
        fabric.restore(fabric.cables[2])
        fabric.run(10)
        assert fabric.whole()
        assert fabric.loops == []

    @pytest.mark.parametrize(("size", "milliseconds"), [(3, 8), (8, 25)])
    def test_a_ring_heals_in_milliseconds(self, size: int, milliseconds: int) -> None:
        quick = (0.0002, 0.0006)
        delays = Delays((0.0001, 0.0002), channel=quick, slow=quick, carrier=(0.0, 0.002))
        for seed in range(size):
            ring = [(number, number % size + 1) for number in range(1, size + 1)]
            fabric = Fabric(ring, seed, delays).start().run(15)
            fabric.cut(fabric.cables[seed])
            fabric.run(milliseconds / 1000)
            assert fabric.whole()
            assert fabric.loops == []


@profile(20)
@given(st.data())
def test_whatever_happens_nothing_goes_round(data: st.DataObject) -> None:
    """Links, priorities, switches that stall, and the controller killed at any moment."""
    size = data.draw(st.integers(3, 8), "bridges")
    links = data.draw(st.integers(size - 1, min(size + 5, size * (size - 1) // 2)), "links")
    seed = data.draw(st.integers(0, 10_000), "seed")
    connect = data.draw(st.sampled_from([0.2, 1.0, 4.0, 9.0]), "connect")
    fabric = Fabric(mesh(size, links, seed), seed, Delays(connect=(0.0, connect)))
    stuck = watch(fabric)
    fabric.start(1.0).run(data.draw(st.sampled_from([2.0, 8.0, 20.0]), "boot"))
    for _ in range(data.draw(st.integers(1, 6), "changes")):
        what = data.draw(st.sampled_from(["cut", "restore", "kill", "stall", "priority"]))
        if what in ("cut", "restore"):
            cable = data.draw(st.sampled_from(fabric.cables), "cable")
            (fabric.cut if what == "cut" else fabric.restore)(cable)
        elif what == "kill":
            fabric.kill()
            fabric.run(data.draw(st.sampled_from([0.1, 1.0, 3.0, 8.0]), "dead for"))
            fabric.restart()
        else:
            number = data.draw(st.sampled_from(sorted(fabric.switches)), "switch")
            if what == "stall":
                fabric.stall(number, data.draw(st.sampled_from([0.05, 0.5, 3.0])))
            else:
                fabric.prioritise(number, data.draw(st.sampled_from([4096, 61440])))
        fabric.run(data.draw(st.sampled_from([0.0, 0.002, 0.02, 0.06, 0.3, 2.0, 7.0]), "then"))
    fabric.run(70)
    assert fabric.loops == []
    assert stuck == []
    assert fabric.whole()
