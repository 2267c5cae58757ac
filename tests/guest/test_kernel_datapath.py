"""ofapp on Open vSwitch's kernel datapath: that it forwards, that the kernel does it, how fast.

One boot of user-mode Linux answers all of it; `inside.py` is what runs there.
"""

from __future__ import annotations

import json
import os
import re
import statistics

import pytest

from tests.support.uml import run_inside

ROUNDS = 25 if os.environ.get("OFAPP_THOROUGH") else 5


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    """What was seen inside."""
    results = tmp_path_factory.mktemp("uml")
    command = f"exec .venv/bin/python -m tests.guest.inside /results/facts {ROUNDS}"
    run_inside(command, results, 120 + 25 * ROUNDS)
    output = (results / "output").read_text()
    assert (results / "status").read_text().strip() == "0", output
    facts = json.loads((results / "facts").read_text())
    assert "error" not in facts, facts["error"]
    return facts


def test_hosts_reach_each_other_and_the_machine_itself(facts):
    assert facts["pings"] == [True, True]


def test_the_controller_knows_where_the_hosts_are(facts):
    assert facts["where"] == facts["ports"]


def test_the_kernel_forwards(facts):
    """ovs-dpctl talks to the kernel module and to nothing else."""
    assert facts["dpctl_show"].startswith("system@ovs-system:")
    source, destination = facts["datapath_ports"]
    flow = facts["dpctl_flow"]
    assert f"in_port({source})" in flow
    assert re.search(rf"actions:{destination}$", flow), flow


@pytest.mark.parametrize("other", ["normal", "linux"])
@pytest.mark.parametrize("kind", ["tcp_mbps", "small_fps"])
def test_it_is_about_as_fast(facts, figure, kind, other):
    """Established traffic stays in the kernel under any controller."""
    assert facts["speed"]["packet_ins"] == 0
    runs = facts["speed"][kind]
    ratios = [ours / theirs for ours, theirs in zip(runs["ofapp"], runs[other], strict=True)]
    ratio = statistics.median(ratios)
    figure(
        f"kernel datapath, {kind}: ofapp {statistics.median(runs['ofapp']):.0f}, "
        f"{other} {statistics.median(runs[other]):.0f}; median ratio of {len(ratios)} pairs of "
        f"runs {ratio:.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
    )
    # Noise on a busy machine is 20 %; a frame's detour costs a factor of ten.
    assert ratio > 0.6


@pytest.mark.parametrize("option", ["rate_out", "rate_in"])
def test_it_keeps_the_rates_of_ports(facts, option):
    """A stream of a second has the rate of that second, and a fifth of a second at once."""
    assert 1 < facts["limited"][option] < 8 * 1.2 * 1.15
    assert facts["limited"][option] < statistics.median(facts["speed"]["tcp_mbps"]["ofapp"]) / 2
