"""Real switches and random changes: no duplicate, no loop, and all arrives afterwards.

Eight switches run always; twenty, with more changes, are thorough tests, as they take minutes.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.support.controller import Controller
from tests.support.fabric_network import Changes, FabricNetwork, random_cables
from tests.support.ovs import VSwitchd

FEW, MANY = (8, 13), (20, 34)
"""Members and links."""


@pytest.fixture
def network(vswitchd: VSwitchd, request: pytest.FixtureRequest) -> Iterator[FabricNetwork]:
    """With a topology of the size and the seed that the test has."""
    seed, (members, links) = (request.node.callspec.params[name] for name in ("seed", "size"))
    with closing(Controller()) as controller:
        cables = random_cables(members, links, random.Random(seed))
        made = FabricNetwork(vswitchd, controller, members, cables)
        try:
            controller.start()
            made.connect()
            yield made
        finally:
            made.close()


@pytest.mark.parametrize("seed", [1])
@pytest.mark.parametrize(
    "size", [FEW, pytest.param(MANY, marks=pytest.mark.thorough)], ids=["few", "many"]
)
def test_no_frame_is_doubled_by_any_change(
    network: FabricNetwork, size: tuple[int, int], seed: int
) -> None:
    network.learn()
    network.check(random.Random(seed))
    Changes(network, seed).run(2 * size[0])


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(2, 7))
@pytest.mark.parametrize("size", [MANY], ids=["many"])
def test_no_frame_is_doubled_by_a_thousand_changes(
    network: FabricNetwork, size: tuple[int, int], seed: int
) -> None:
    network.learn()
    Changes(network, seed).run(200)
