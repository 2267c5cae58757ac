"""The garbage collector delays no task, and finds all garbage in the end."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from ofapp.common.garbage import FEW, LATEST, MIDDLE, YOUNG, Calm


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*thresholds)


class Circle:
    def __init__(self) -> None:
        self.own = self


def test_what_is_old_is_not_looked_at_while_there_is_much() -> None:
    objects = [0]
    calm = Calm(lambda: objects[0])
    calm.begin()
    circle = Circle()
    gone = weakref.ref(circle)
    gc.collect(1)  # it is old now
    del circle
    before = gc.get_stats()[2]["collections"]
    many = [[n] for n in range(3 * YOUNG * MIDDLE)]
    assert many
    assert gc.get_stats()[2]["collections"] == before, "Python would have, by itself"
    objects[0] = FEW + 1
    assert not calm.look()
    assert gone() is not None
    objects[0] = FEW
    assert calm.look()
    assert gone() is None


def test_it_is_not_put_off_for_ever() -> None:
    objects = [0]
    calm = Calm(lambda: objects[0])
    calm.begin()
    objects[0] = 10 * FEW
    looks = [calm.look() for _ in range(2 * LATEST)]
    assert sum(looks) == 2
