"""Fixtures: an Open vSwitch for each module beside its controller, a bridge for each test.

All that is started is ended by its process id, and its directory removed, also when a test
fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing

import pytest

from tests.support.controller import Controller
from tests.support.ovs import Bridge, VSwitchd, missing
from tests.vswitchd.ring import SPEED, Ring

Controller.preloaded = True


@pytest.fixture(scope="module")
def vswitchd_factory() -> Iterator[Callable[[], VSwitchd]]:
    """Makes further switches: a datapath id can be had twice only in two of them."""
    if reason := missing():
        pytest.skip(reason)
    made: list[VSwitchd] = []

    def make() -> VSwitchd:
        switch = VSwitchd()
        made.append(switch)
        switch.start()
        return switch

    yield make
    for switch in made:
        switch.close()


@pytest.fixture(scope="module")
def vswitchd(vswitchd_factory: Callable[[], VSwitchd]) -> VSwitchd:
    """The module's switch."""
    return vswitchd_factory()


@pytest.fixture
def bridge_factory(vswitchd: VSwitchd, controller: Controller) -> Iterator[Callable[..., Bridge]]:
    """Makes connected bridges for the test alone: see `VSwitchd.add_bridge`."""
    made: list[Bridge] = []

    def make(*, ports: int | Iterable[str | None] = 3, dpid: int | None = None) -> Bridge:
        bridge = vswitchd.add_bridge(ports=ports, dpid=dpid)
        made.append(bridge)
        return controller.connect(bridge)

    yield make
    for bridge in made:
        bridge.destroy()


@pytest.fixture
def bridge(bridge_factory: Callable[..., Bridge]) -> Bridge:
    """A connected bridge with ports 1, 2, 3 (and LOCAL)."""
    return bridge_factory()


@pytest.fixture
def ring(vswitchd: VSwitchd) -> Iterator[Ring]:
    """Three switches in a ring that are one bridge."""
    with closing(Controller(speed=SPEED)) as controller:
        made = Ring(vswitchd, controller)
        try:
            controller.start()
            made.connect()
            yield made
        finally:
            for bridge in made.members:
                bridge.destroy()
