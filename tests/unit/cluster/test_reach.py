"""A switch that does not answer is let go of after a while, and later the next time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ofapp.controller.cluster import reach as module
from ofapp.controller.cluster.reach import TICK, Reach


class Peer:
    """A connection whose switch answers, or does not."""

    id = 1
    behind = False
    answers = True


class World:
    """Time, and what was given up."""

    def __init__(self) -> None:
        self.now = 0.0
        self.gone: list[float] = []
        self.reach = Reach(2, lambda _channel, _seconds: self.gone.append(self.now))

    def pass_time(self, seconds: int, peer: Any) -> None:
        for _ in range(seconds):
            self.now += TICK
            self.reach.tick([peer])


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    def echo(channel: Any, arrived: Callable[[], None]) -> None:
        if channel.answers:
            arrived()

    made = World()
    monkeypatch.setattr(module, "echo", echo)
    monkeypatch.setattr(module, "clock", lambda: made.now)
    return made


def test_one_that_answers_stays(world: World) -> None:
    world.pass_time(100, Peer())
    assert world.gone == []


def test_one_that_is_silent_is_let_go_of_within_lease_and_a_second(world: World) -> None:
    peer = Peer()
    world.pass_time(10, peer)
    peer.answers = False
    world.pass_time(3, peer)
    assert world.gone == [13]


def test_what_it_has_said_and_nobody_has_read_counts(world: World) -> None:
    peer = Peer()
    peer.answers, peer.behind = False, True
    world.pass_time(30, peer)
    assert world.gone == []


def test_it_is_waited_for_longer_each_time_and_forgiven_in_a_minute(world: World) -> None:
    waited = []
    for _ in range(5):
        peer = Peer()
        peer.answers = False
        began, count = world.now, len(world.gone)
        while len(world.gone) == count:
            world.pass_time(1, peer)
        waited.append(world.gone[-1] - began)
    assert waited == [3, 5, 9, 16, 16]
    world.pass_time(100, Peer())
    peer = Peer()
    peer.answers = False
    world.pass_time(3, peer)
    assert world.gone[-1] == world.now
