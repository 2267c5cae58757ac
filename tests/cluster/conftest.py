"""The site that most tests share, and a table of what was measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from tests.cluster.site import Site, clustered
from tests.cluster.tally import HEAD, Tally
from tests.support.waiting import wait_for


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    """Two switches and three members; each test leaves it whole."""
    with closing(clustered()) as site:
        for switch in site.switches:
            wait_for(lambda own=switch: site.served(own), "an owner in line", seconds=60)
            wait_for(switch.forwards, "the hosts to meet", seconds=60)
        wait_for(site.whole, "all members to know all switches", seconds=60)
        yield site


@pytest.fixture
def tally(request: pytest.FixtureRequest, figure: Callable[[str], None]) -> Iterator[Tally]:
    """Of what is seen in the turns of this test: a row of the table of figures."""
    tally = Tally(request.node.name.removeprefix("test_").replace("_", " "))
    yield tally
    figure(f"{HEAD}\n{tally}")
