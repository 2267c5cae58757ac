"""Fixtures of all guest tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.guest.image import Image, build
from tests.guest.site import MACHINE, Pair, Site, local_address
from tests.support.controller import Controller
from tests.support.lab import Lab


@pytest.fixture(scope="session")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    """What guests boot."""
    return build(tmp_path_factory.mktemp("image"))


@pytest.fixture(scope="session")
def pair(image: Image) -> Iterator[Pair]:
    """Two guests on one bridge, which has no controller: a module starts one for it."""
    site = Site(Lab(), image)
    try:
        switch = site.lab.switch()
        guests = (site.guest(switch), site.guest(switch))
        uplink = site.lab.host(switch)
        local_address(switch, MACHINE)
        for guest in guests:
            guest.ready()
        yield Pair(switch, guests, uplink)
    finally:
        site.close()


@pytest.fixture(scope="module")
def controller(controller_factory: Callable[..., Controller]) -> Controller:
    """With spanning tree as everyone has it."""
    return controller_factory("defaults: {stp: {enabled: true}}")
