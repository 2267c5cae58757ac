"""ofapp topology."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.unit.api import live
from tests.unit.cli.conftest import Run


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Of a server of `cabled_network`."""
    with live.served("cabled") as served:
        yield served


def test_show_lists_links_and_neighbours(url: str, ofapp: Run) -> None:
    header, first, second, _, _, other = ofapp("topology", "show", "--api", url).lines
    assert header.split()[:3] == ["BRIDGE", "PORT", "STP"]
    assert " ".join(first.split()) == "br1 eth1 designated forwarding br2 eth1 root forwarding stp"
    assert second.split()[-3:] == ["alternate", "discarding", "stp"]
    assert other.split() == ["br1", "eth3", "02:00:00:00:00:99", "-", "stp"]
    told = json.loads(ofapp("topology", "show", "-j", "--api", url).out)
    assert len(told["links"]) == 2
