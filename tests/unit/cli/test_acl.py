"""ofapp acl."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.unit.api import live
from tests.unit.cli.conftest import Run


@pytest.fixture(scope="module")
def shared_url() -> Iterator[str]:
    """Of a server of `acl_network`."""
    with live.served("acl") as served:
        yield served


def test_rules_and_hits_of_all_bridges(live_ofapp: Run) -> None:
    said = live_ofapp("acl", "show")
    assert (said.status, said.err) == (0, "")
    rows = [line.split() for line in said.lines]
    assert rows[0] == ["BRIDGE", "ACL", "#", "RULE", "ACTION", "PACKETS", "BYTES"]
    copied = ["drop,", "to", "gone", "(absent)"]
    assert rows[1] == ["br0", "guests", "1", "dhcp", *copied, "1", "100"]
    assert rows[2] == ["br0", "guests", "2", "arp", "allow", "50/s", "2", "200"]
    assert rows[4] == ["br0", "guests", "4", "implicit-drop", "drop", "4", "400"]
    assert rows[5] == ["br0", "spare", "1", "any", "allow", "-", "-"]


def test_details(live_ofapp: Run) -> None:
    said = live_ofapp("acl", "show", "br0", "-d")
    assert said.lines[0] == "br0 guests, on eth1, eth2"
    assert said.lines[1].split()[-3:] == ["OVER", "RATE", "SINCE"]
    arp = said.lines[3].split()
    assert arp[:8] == ["2", "arp", "eth_type=arp", "allow", "50/s", "2", "200", "5"]
    assert said.lines[4].split()[:2] == ["3", "-"]  # it has no name
    assert "br0 spare, on no port" in said.lines


def test_json_is_what_the_api_tells(live_ofapp: Run) -> None:
    guests, spare = json.loads(live_ofapp("acl", "show", "-j").out)
    assert (guests["bridge"], guests["name"], guests["metered"]) == ("br0", "guests", True)
    assert [rule["packets"] for rule in guests["rules"]] == [1, 2, 3, 4]
    assert spare["rules"][0]["packets"] is None


def test_no_lists_and_no_bridge(live_ofapp: Run) -> None:
    assert len(live_ofapp("acl", "show", "br1").lines) == 1
    assert (
        live_ofapp("acl", "show", "br9").err
        == "ofapp: there is no bridge br9; there are: br0, br1\n"
    )
