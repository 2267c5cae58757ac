"""A network of switches that the module's controller manages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest
import yaml

from tests.support.controller import Controller
from tests.support.lab import Lab, Switch

Controller.preloaded = True


@pytest.fixture
def start() -> Iterator[Callable[..., Controller]]:
    """Starts controllers for the test alone: `start(config, *switches)` connects the switches."""
    with ExitStack() as stack:

        def run(config: dict[str, Any], *switches: Switch) -> Controller:
            controller = stack.enter_context(closing(Controller(yaml.safe_dump(config))))
            controller.start()
            for switch in switches:
                controller.connect(switch)
            return controller

        yield run


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
