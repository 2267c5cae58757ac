"""Aggregations of ofapp and Linux's: bonding with 802.3ad and balance-xor, team with teamd.

One boot of user-mode Linux answers all of it; `inside_lags.py` is what runs there.
"""

from __future__ import annotations

import json
import os

import pytest

from tests.guest.inside_lags import CASES
from tests.support.uml import run_inside

THOROUGH = bool(os.environ.get("OFAPP_THOROUGH"))


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    """What was seen inside."""
    results = tmp_path_factory.mktemp("lags")
    command = ".venv/bin/python -m tests.guest.inside_lags /results/facts"
    run_inside(f"exec {command} {'all' if THOROUGH else ''}", results, 900 if THOROUGH else 360)
    output = (results / "output").read_text()
    assert (results / "status").read_text().strip() == "0", output
    facts = json.loads((results / "facts").read_text())
    assert "error" not in facts, facts["error"]["error"]
    return facts


@pytest.mark.parametrize(
    "peer",
    [
        pytest.param(name, marks=pytest.mark.thorough) if case.long else name
        for name, case in CASES.items()
    ],
)
def test_both_use_all_cables_and_a_pulled_one_costs_little(facts, figure, peer):
    """Every frame arrives once, both ways, broadcasts too: before, with one cable, and after."""
    found = facts[peer]
    assert "error" not in found, found["error"]
    lost = found["lost"]
    figure(f"aggregation with {peer}: frames lost of 1,000 a second, {lost}")
    assert lost["doubled"] == 0
    # teamd sends as soon as its partner is in sync, before the partner has heard that teamd is.
    early = 1500 if peer == "team" else 0
    assert max(lost["plugged in"], lost["plugged in, from the peer"]) <= early
    assert lost["pulled"] < 500


def test_with_fewer_links_than_wanted_both_ends_are_down(facts):
    """Linux's bond counts its links as ofapp does: with both cables, with one, with both again."""
    found = facts["min_links"]
    assert "error" not in found, found["error"]
    assert found["up"] == [[True, True], [False, False], [True, True]]


@pytest.mark.thorough
def test_linux_spanning_tree_takes_each_aggregation_for_one_link(facts):
    """One of the two forwards; the other when all cables of the first are pulled."""
    found = facts["spanning tree"]
    assert "error" not in found, found["error"]
    assert found["first"] == found["back"] != found["pulled"]
