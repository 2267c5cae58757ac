"""The pytest plugin of all tiers: long variants, the logs of what runs, figures, the fixtures
that most use.

`@pytest.mark.thorough` (or as a mark of one parameter) is for a variant of a test whose kind runs
always; `OFAPP_THOROUGH=1 tests/run` runs them too.

What a fixture makes is imported when it is first asked for: the unit tier needs the hub before
anything else, and no Open vSwitch.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.support import logs

if TYPE_CHECKING:
    from tests.support.controller import Controller
    from tests.support.lab import Lab


# How long one example takes says how busy the machine is.  The gate tries the same examples each
# time, so that what it finds is in the change that it judges; the long run looks for new ones.
settings.register_profile("ofapp", deadline=None, derandomize=True)
settings.register_profile("thorough", deadline=None, max_examples=2000)
# Another Python or Open vSwitch is not tried to find mistakes that depend on the example.
settings.register_profile("again", deadline=None, derandomize=True, max_examples=5)
settings.load_profile(
    "thorough"
    if os.environ.get("OFAPP_THOROUGH")
    else "again"
    if os.environ.get("OFAPP_AGAIN")
    else "ofapp"
)


_figures: list[str] = []


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "thorough: a long variant, run with OFAPP_THOROUGH=1")
    config.addinivalue_line("markers", "controller(config, ...): arguments of `controller_factory`")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get("OFAPP_THOROUGH"):
        return
    long = [item for item in items if item.get_closest_marker("thorough")]
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if item not in long]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):  # type: ignore[no-untyped-def]
    report = yield
    if report.failed:
        report.sections += logs.all_logs()
    return report


@pytest.fixture
def figure(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Call it with a line that says what was measured: all of them end the run, and its report."""

    def say(line: str) -> None:
        _figures.append(line)
        record_property("figure", line)

    return say


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _figures:
        terminalreporter.section("figures")
    for line in _figures:
        terminalreporter.write_line(line)


@pytest.fixture(scope="module")
def controller_factory() -> Iterator[Callable[..., Controller]]:
    """Makes running controllers (`ofapp-manager` on free ports) with a configuration each."""
    from tests.support.controller import Controller

    made: list[Controller] = []

    def make(config: str = "", *, options: tuple[str, ...] = (), speed: float = 1) -> Controller:
        controller = Controller(config, options=options, speed=speed)
        made.append(controller)
        controller.start()
        return controller

    yield make
    for controller in made:
        controller.close()


@pytest.fixture(scope="module")
def controller(
    request: pytest.FixtureRequest, controller_factory: Callable[..., Controller]
) -> Controller:
    """The module's controller, with the arguments of its mark `controller`, or without.

    Without it has the default configuration, but no spanning tree.
    """
    mark = request.node.get_closest_marker("controller")
    return controller_factory(*mark.args, **mark.kwargs) if mark else controller_factory()


@pytest.fixture
def lab() -> Iterator[Lab]:
    """An empty network of real namespaces: the test makes what it needs."""
    from tests.support.lab import Lab

    with closing(Lab()) as lab:
        yield lab
