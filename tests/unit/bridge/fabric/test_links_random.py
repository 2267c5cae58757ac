"""Links of a fabric in random sequences of changes of cables, connections and the controller."""

from collections.abc import Callable, Iterable

from hypothesis import given, settings
from hypothesis import strategies as st

from ofapp.bridge.effects import Effect
from ofapp.bridge.fabric.plans.graph import End
from tests.unit.bridge.fabric.cables import World

MEMBERS, PORTS = 4, 3
HOLD = 64.0
SETTLE = 20.0
"""Seconds in which what was there before is forgotten, and a link is proven."""


class Watched(World):
    """A world that checks each link that begins to carry frames."""

    def __init__(self) -> None:
        self.passed: set[tuple[End, End]] = set()  # full frames since the last failure
        self.carried: set[tuple[End, End]] = set()
        super().__init__(MEMBERS, PORTS)

    def deliver(self, to: End, frame: bytes) -> None:
        super().deliver(to, frame)
        if len(frame) > 1500:
            self.passed.add((End(frame[10], frame[11]), to))

    def take(self, effects: Iterable[Effect]) -> None:
        pairs = self.pairs()
        for one, other in pairs - self.carried:
            assert {(one, other), (other, one)} <= self.passed, "it was not proven"
        for one, other in self.carried - pairs:
            self.passed -= {(one, other), (other, one)}
        self.carried = pairs
        super().take(effects)

    def free(self) -> list[End]:
        """Ports without a cable."""
        return sorted(self.ports - {end for cable in self.cables for end in cable.ends})

    def right(self) -> set[tuple[End, End]]:
        """The links that there should be."""
        pairs = {(min(each.ends), max(each.ends)) for each in self.cables if len(each.ends) == 2}
        return {(one, other) for one, other in pairs if one.member != other.member}


def plug(world: Watched, numbers: list[int]) -> None:
    free = world.free()
    if len(free) >= 2:
        ends = [free.pop(number % len(free)) for number in numbers[:2]]
        world.cable(*ends)


def plug_hub(world: Watched, numbers: list[int]) -> None:
    free = world.free()
    if len(free) >= 3:
        world.cable(*[free.pop(number % len(free)) for number in numbers])


def on_cable(change: Callable[[Watched, int, list[int]], None]) -> Callable[..., None]:
    def changed(world: Watched, numbers: list[int]) -> None:
        if world.cables:
            change(world, numbers[0] % len(world.cables), numbers[1:])

    return changed


@on_cable
def unplug(world: Watched, cable: int, _: list[int]) -> None:
    world.uncable(world.cables[cable])


@on_cable
def cut(world: Watched, cable: int, _: list[int]) -> None:
    world.cut(world.cables[cable])


@on_cable
def deafen(world: Watched, cable: int, numbers: list[int]) -> None:
    world.cables[cable].deaf ^= {world.cables[cable].ends[numbers[0] % 2]}


@on_cable
def resize(world: Watched, cable: int, numbers: list[int]) -> None:
    world.cables[cable].mtu = 1500 + 100 * (numbers[0] % 2)


@on_cable
def move(world: Watched, cable: int, numbers: list[int]) -> None:
    free = world.free()
    if free:
        ends = world.cables[cable].ends
        world.cables[cable].ends = (*ends[:-1], free[numbers[0] % len(free)])
        world.put_changed()


def lose(world: Watched, numbers: list[int]) -> None:
    if numbers[0] % MEMBERS + 1 in world.connected:
        world.lose(numbers[0] % MEMBERS + 1)


def find(world: Watched, numbers: list[int]) -> None:
    if numbers[0] % MEMBERS + 1 not in world.connected:
        world.find(numbers[0] % MEMBERS + 1)


def mute(world: Watched, numbers: list[int]) -> None:
    world.mute ^= {numbers[0] % MEMBERS + 1}


def bfd(world: Watched, numbers: list[int]) -> None:
    world.bfd_down ^= {sorted(world.ports)[numbers[0] % len(world.ports)]}
    world.put_changed()


def stall(world: Watched, numbers: list[int]) -> None:
    world.now += numbers[0] / 5


CHANGES = (plug, plug, plug, plug_hub, unplug, cut, deafen, resize, move, lose, find)
MORE = (mute, bfd, stall)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from((*CHANGES, *MORE)),
            st.lists(st.integers(0, 99), min_size=3, max_size=3),
            st.sampled_from([0.0, 0.05, 0.3, 1.0, 3.0, 15.0]),
        ),
        max_size=30,
    )
)
def test_links_are_proven_and_are_the_cables_in_the_end(
    changes: list[tuple[Callable[[Watched, list[int]], None], list[int], float]],
) -> None:
    world = Watched()
    for change, numbers, seconds in changes:
        change(world, numbers)
        world.run(seconds)
    world.mute.clear()
    world.bfd_down.clear()
    world.put_changed()
    for member in {*range(1, MEMBERS + 1)} - world.connected:
        world.find(member)
    for cable in world.cables:
        cable.deaf.clear()
        cable.mtu = 9000
    world.run(HOLD + SETTLE)
    assert world.pairs() == world.right()
    world.events.clear()
    world.run(100)
    assert world.events == []
    assert all(each.reason == "" for each in world.status() if each.state.name == "CARRIES")
