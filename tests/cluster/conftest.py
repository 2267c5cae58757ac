"""The site that most tests share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.cluster.site import Site, clustered
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
