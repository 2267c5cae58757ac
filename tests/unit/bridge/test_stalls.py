"""A controller that is stopped for a while goes on where it was: that time was no silence."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Effect, SendFrame
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.pausable import PausableTime
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.stp import BridgeParams as StpParams
from ofapp.bridge.stp import PortState, SetPortState

BEAT = 0.25
DELAY = 0.001
RING = 4


class Ring:
    """Bridges of one controller: port 1 of each leads to port 2 of the next.

    What a switch says while the controller is stopped waits, and is read after its timers have
    fired: the worse of the two orders.
    """

    def __init__(self, alive: bool = True) -> None:
        self.now = 0.0
        self.alive = alive
        self.changes: list[tuple[float, int, Effect]] = []
        self.bridges = [Bridge(n, BridgeParams(stp=StpParams())) for n in range(RING)]
        self.wire: list[tuple[float, int, int, bytes]] = []
        for number, bridge in enumerate(self.bridges):
            ports = [Port(n, f"p{n}", 16 * number + n, True, 1000) for n in (1, 2)]
            ports.append(Port(LOCAL_PORT, f"br{number}", 0x020000000100 + number, True))
            self.carry(number, bridge.set_ports(ports, 0.0))

    def carry(self, number: int, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, SendFrame):
                for port in effect.ports:
                    to = (number + (1 if port == 1 else -1)) % RING
                    self.wire.append((self.now + DELAY, to, 3 - port, effect.frame))
            elif isinstance(effect, SetPortState):
                self.changes.append((self.now, number, effect))

    def turn(self) -> None:
        """One turn of the loop: timers, then what has arrived."""
        for number, bridge in enumerate(self.bridges):
            due = bridge.next_wakeup()
            if due is not None and due <= self.now:
                self.carry(number, bridge.tick(self.now))
        arrived = [item for item in self.wire if item[0] <= self.now]
        self.wire = [item for item in self.wire if item[0] > self.now]
        for _, to, port, frame in arrived:
            self.carry(to, self.bridges[to].hear("bpdu", [(port, frame)], self.now))
        if self.alive:
            for bridge in self.bridges:
                bridge.beat(self.now)

    def run(self, seconds: float) -> None:
        until = self.now + seconds
        while self.now < until:
            due = [due for bridge in self.bridges if (due := bridge.next_wakeup()) is not None]
            due += [item[0] for item in self.wire]
            # A little at least: sums of floats may be due a moment before they are due.
            self.now = max(self.now + 1e-6, min(until, self.now + BEAT, *due))
            self.turn()

    def stop(self, seconds: float) -> None:
        self.now += seconds
        self.turn()

    def blocked(self) -> list[tuple[int, int]]:
        """(bridge, port) of those that do not forward."""
        return [
            (number, port)
            for number, bridge in enumerate(self.bridges)
            for port, state in bridge.relay.states.items()
            if state is not PortState.FORWARDING
        ]


def rings() -> Iterator[Ring]:
    for alive in (True, False):
        ring = Ring(alive)
        ring.run(20.0)
        assert len(ring.blocked()) == 1
        ring.changes.clear()
        yield ring


@pytest.mark.parametrize("seconds", [1.2, 3.0, 12.0, 3600.0])
def test_a_ring_does_not_notice_that_its_controller_was_stopped(seconds: float) -> None:
    ring, unguarded = rings()
    before = ring.blocked()
    ring.stop(seconds)
    ring.run(60.0)
    assert ring.changes == []
    assert ring.blocked() == before
    if seconds > 6.0:  # without signs of life the time counts, and everybody was silent
        unguarded.stop(seconds)
        unguarded.run(60.0)
        assert unguarded.changes


def test_again_and_again() -> None:
    ring, _ = rings()
    for _ in range(20):
        ring.stop(12.0)
        ring.run(3.0)
    assert ring.changes == []


def test_a_neighbour_that_is_gone_when_the_controller_goes_on_is_missed() -> None:
    ring, _ = rings()
    ((blocked, _),) = ring.blocked()
    ring.stop(12.0)
    # The bridge farthest from the blocked port is away from now on, with all it has said.
    gone = (blocked + 2) % RING
    ring.wire.clear()
    for port in (1, 2):
        ring.bridges[gone].put_port(Port(port, f"p{port}", 16 * gone + port, False, 1000), ring.now)
    ring.run(30.0)
    left = [(number, port) for number, port in ring.blocked() if number != gone]
    assert left == []  # the others have opened the way around


class TestTime:
    def test_time_counts_while_nobody_promises_to_be_there(self) -> None:
        clock = PausableTime()
        assert clock.at(5.0) == 5.0
        assert clock.at(500.0) == 500.0

    def test_a_gap_is_lost_once(self) -> None:
        clock = PausableTime()
        clock.beat(10.0)
        assert clock.at(22.0) == 10.0
        assert clock.at(22.5) == 10.5
        assert clock.due(11.0) == 23.0

    def test_a_short_one_is_lived(self) -> None:
        clock = PausableTime()
        clock.beat(10.0)
        assert clock.at(10.9) == 10.9

    def test_a_switch_that_is_away_is_not_away_twice(self) -> None:
        clock = PausableTime()
        clock.beat(10.0)
        clock.pause(10.5)
        clock.beat(40.0)
        clock.resume(50.0)
        clock.beat(50.1)
        assert clock.at(50.5) == pytest.approx(11.0)

    def test_a_gap_before_a_switch_goes_away_is_no_time_either(self) -> None:
        clock = PausableTime()
        clock.beat(10.0)
        clock.pause(30.0)
        clock.resume(31.0)
        assert clock.at(31.5) == pytest.approx(10.5)


@given(
    lost=st.floats(0, 1e9),
    instant=st.floats(0, 1e6),
)
def test_a_timer_is_over_at_the_time_when_it_is_due(lost: float, instant: float) -> None:
    """Also where the sum of both is rounded down: else its loop turns without doing anything."""
    clock = PausableTime()
    clock.pause(0.0)
    clock.resume(lost)
    due = clock.due(instant)
    assert due is not None
    assert clock.at(due) >= instant
    assert due == pytest.approx(instant + lost, abs=1e-6)
