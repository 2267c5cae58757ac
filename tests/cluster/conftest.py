"""The sites that tests share, and a table of what was measured."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from tests.cluster.site import Site, clustered, ring
from tests.cluster.tally import HEAD, Tally
from tests.support.controller import Controller
from tests.support.waiting import wait_for

# The thorough run measures how long members take to start.
Controller.preloaded = not os.environ.get("OFAPP_THOROUGH")


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    """Two switches and three members; each test leaves it whole."""
    with closing(clustered()) as site:
        _settle(site)
        yield site


@pytest.fixture(scope="session")
def made_ring() -> Iterator[Site]:
    with closing(ring()) as site:
        _settle(site)
        yield site


@pytest.fixture(name="ring")
def whole_ring(made_ring: Site) -> Site:
    """Three switches with partners and three members, of which the test before left none harmed;
    otherwise all are started again."""
    if not made_ring.recovers():
        made_ring.renew()
    return made_ring


def _settle(site: Site) -> None:
    for switch in site.switches:
        wait_for(lambda own=switch: site.served(own), "an owner in line", seconds=60)
        wait_for(switch.forwards, "the hosts to meet", seconds=60)
    wait_for(site.whole, "all members to know all switches", seconds=60)


@pytest.fixture(scope="session")
def table() -> Callable[[Tally], str]:
    """A row, with the head before the first."""
    rows: list[Tally] = []

    def row(tally: Tally) -> str:
        rows.append(tally)
        return str(tally) if len(rows) > 1 else f"{HEAD}\n{tally}"

    return row


@pytest.fixture
def tally(
    request: pytest.FixtureRequest, figure: Callable[[str], None], table: Callable[[Tally], str]
) -> Iterator[Tally]:
    """Of what is seen in the turns of this test: a row of the table of figures."""
    words = request.node.name.removeprefix("test_").replace("_", " ")
    tally = Tally(words.replace("[", " ").removesuffix("]"))
    yield tally
    figure(table(tally))
