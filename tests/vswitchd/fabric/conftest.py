"""Fixture: fabrics of real switches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.ovs import VSwitchd
from tests.vswitchd.fabric.bed import Bed, MakeBed


@pytest.fixture
def make(vswitchd: VSwitchd) -> Iterator[MakeBed]:
    """Makes fabrics."""
    made: list[Bed] = []

    def bed(*arguments: Any, **more: Any) -> Bed:
        made.append(Bed(vswitchd, *arguments, **more))
        return made[-1]

    yield bed
    for each in made:
        each.close()
