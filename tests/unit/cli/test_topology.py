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
    answer = json.loads(ofapp("topology", "show", "-j", "--api", url).out)
    assert len(answer["links"]) == 2


def test_a_link_of_a_switch_that_is_away_is_shown_so(ofapp: Run) -> None:
    with live.served("half") as url:
        lines = ofapp("topology", "show", "--api", url).lines
        assert " ".join(lines[1].split()) == "br1 eth1 disconnected br2 eth1 root forwarding stp"
        shown = ofapp("stp", "show", "br1", "--api", url).lines
        assert "its switch is disconnected" in shown[0]
        assert not any("forwarding" in line for line in shown)
        assert (
            ofapp("bridge", "forget", "--absent", "--api", url).out == "forgot 0000000000000001\n"
        )
        assert ofapp("bridge", "forget", "--absent", "--api", url).out == ""
        assert [line.split()[0] for line in ofapp("bridge", "show", "--api", url).lines[1:]] == [
            "br2"
        ]


def test_forget_wants_a_bridge_or_all_that_are_absent(ofapp: Run) -> None:
    for words in ((), ("br1", "--absent")):
        refused = ofapp("bridge", "forget", *words)
        assert refused.status == 2
        assert "give either BRIDGE or --absent" in refused.err
