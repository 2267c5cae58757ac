"""A fabric on Open vSwitch's kernel datapath: that the kernel forwards it, and how fast.

One boot of user-mode Linux answers all of it; `inside_fabric.py` is what runs there.
"""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import pytest

from tests.support.uml import run_inside


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What was seen inside."""
    results = Path(tmp_path_factory.mktemp("fabric"))
    run_inside("exec .venv/bin/python -m tests.guest.inside_fabric /results/facts", results, 360)
    output = (results / "output").read_text()
    assert (results / "status").read_text().strip() == "0", output
    facts: dict[str, Any] = json.loads((results / "facts").read_text())
    assert "error" not in facts, facts["error"]
    return facts


def test_hosts_at_all_members_reach_each_other(facts: dict[str, Any]) -> None:
    assert facts["pings"] == [True] * 3


def test_a_vlan_tag_crosses_and_two_do_not(facts: dict[str, Any]) -> None:
    """Linux drops the second ones, as the page on fabrics says."""
    assert facts["tagged"] == [True, False]


def test_the_kernel_puts_the_second_header_on(facts: dict[str, Any]) -> None:
    """ovs-dpctl talks to the kernel module and to nothing else."""
    assert "mpls" in facts["flow"].partition("actions:")[2], facts["flow"]
    assert "userspace" not in facts["flow"], facts["flow"]


def test_a_cut_costs_little(facts: dict[str, Any], figure: Any) -> None:
    figure(f"fabric on the kernel datapath, a cable is cut: {facts['cut']}")
    assert facts["cut"]["lost"] < 500
    assert facts["cut"]["doubled"] == 0
    assert facts["after"] == [True, True]


def test_a_linux_bond_has_its_cables_at_two_members(facts: dict[str, Any], figure: Any) -> None:
    """LACP sees one system; no frame comes twice, and no broadcast back."""
    figure(f"a Linux bond at two members of a fabric, frames of 2 x 500 a second: {facts['bond']}")
    assert {found["doubled"] for found in facts["bond"].values()} == {0}
    assert facts["bond"]["pulled"]["lost"] < 500
    assert facts["bond"]["plugged in"]["lost"] == 0


@pytest.mark.parametrize("kind", ["tcp_mbps", "small_fps"])
def test_two_members_are_not_much_slower_than_one_switch(
    facts: dict[str, Any], figure: Any, kind: str
) -> None:
    """A frame passes two bridges and gets a second header."""
    fabric, bridge = facts["speed"][f"{kind} fabric"], facts["speed"][f"{kind} bridge"]
    ratio = statistics.median(fabric) / statistics.median(bridge)
    figure(
        f"kernel datapath, {kind}: two members of a fabric {statistics.median(fabric):.0f}, "
        f"one switch {statistics.median(bridge):.0f}, ratio {ratio:.2f}"
    )
    assert ratio > 0.1  # a detour by the controller or ovs-vswitchd costs a factor of fifty
