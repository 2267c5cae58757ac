"""A network of switches that the module's controller manages."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.controller import Controller
from tests.support.lab import Lab

Controller.preloaded = True


@pytest.fixture
def network(lab: Lab, controller: Controller) -> Callable[..., Lab]:
    """Builds a topology whose switches are set up and forward: `network(Lab.linear, 3)`."""

    def build(topology: Callable[..., None], *sizes: int) -> Lab:
        topology(lab, *sizes)
        for switch in lab.switches:
            controller.connect(switch)
        lab.settle()
        return lab

    return build
