"""One loop of two bridges of `ofapp` and one of another vendor, as root and as non-root.

    A --- B
     \\   /      A has a better priority than B; P's decides its role.
       P

In every phase, from first boot on, no broadcast frame arrives twice anywhere.  When a phase is
over exactly the right port blocks, by what both sides' datapaths do, and every frame arrives.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.interop.conftest import A, B, matrix
from tests.support import stp_peers as peers
from tests.support.census import Census
from tests.support.controller import Controller
from tests.support.lab import Switch
from tests.support.network import Network, hosts_on
from tests.support.stp_peers import Peer


@dataclass(frozen=True)
class Case:
    """P's priority, the one port that blocks, and the link whose loss opens it."""

    role: str
    priority: int
    blocks: str
    cut: tuple[str, str]


CASES = (
    Case("root", 4096, "B>A", ("B", "P1")),
    Case("designated on the spare link", 28672, "B>P1", ("A", "B")),
    Case("blocks", 61440, "P1>B", ("A", "P1")),
)


def bridge_id(priority: int, bridge: Switch | Peer) -> str:
    address = Path(f"/sys/class/net/{bridge.name}/address").read_text().strip()
    return f"{priority:04x}{address.replace(':', '')}"


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            case,
            id=case.role.split()[0],
            marks=[pytest.mark.thorough] if case.role.startswith("designated") else [],
        )
        for case in CASES
    ],
)
@pytest.mark.parametrize(
    "kind",
    [
        # Open vSwitch's STP is as the kernel's; the ring of everybody has it in any case.
        pytest.param(
            kind,
            id=kind.kind,
            marks=[pytest.mark.thorough] if kind is peers.OvsStp else [],
        )
        for kind in peers.KINDS
    ],
)
def test_a_loop_with_one_peer(
    network: Network, controller: Controller, kind: type[Peer], case: Case
) -> None:
    results = matrix[kind.kind, case.role] = {}
    nodes = {
        "A": network.switch(A),
        "B": network.switch(B),
        "P1": network.peer(kind, case.priority),
    }
    for pair in (("A", "B"), ("B", "P1"), ("P1", "A")):
        network.cable(*(nodes[name] for name in pair))
    hosts = hosts_on(network, *nodes.values())
    patience = 15 if kind.rapid else 40
    everything_up = {case.blocks}

    with Census(hosts) as census:

        def expect(event: str, blocked: set[str], without: tuple[str, ...] = ()) -> None:
            absent = [h for h in hosts if h.home in [nodes[name] for name in without]]
            results[event] = "FAILED"
            took = census.wait_whole(event, patience, without=absent)
            network.wait_blocked(blocked, event, patience)
            census.check()
            results[event] = f"{took:.1f} s, {' '.join(blocked) or 'nothing'} blocks"

        for name in "AB":
            controller.connect(nodes[name])
        expect("boot", everything_up)
        roots = {"P1": nodes["P1"], "A": nodes["A"]}
        root = "P1" if case.role == "root" else "A"
        priority = case.priority if root == "P1" else 16384
        assert nodes["P1"].root() == bridge_id(priority, roots[root])

        cable = network.between(*(nodes[name] for name in case.cut))
        census.phase("cut")
        cable.cut()
        expect("cut", set())
        census.phase("restored")
        cable.restore()
        expect("restored", everything_up)

        if case.role == "root":
            arms = [network.between(nodes["P1"], nodes[name]) for name in "AB"]
            census.phase("root dies")
            for arm in arms:
                arm.cut()
            expect("root dies", set(), without=("P1",))
            census.phase("root returns")
            for arm in arms:
                arm.restore()
            expect("root returns", everything_up)


def test_everybody_in_one_ring(network: Network, controller: Controller) -> None:
    """A - Linux - OVS's STP - B - OVS's RSTP - A, and A is the root: the two farthest meet."""
    a, b = network.switch(A), network.switch(B)
    linux, stp, rapid = (network.peer(kind, 61440) for kind in peers.KINDS)
    ring = [a, linux, stp, b, rapid]
    for one, other in zip(ring, [*ring[1:], a], strict=True):
        network.cable(one, other)
    hosts = hosts_on(network, *ring)
    # B is two hops from A through P3 and three the other way; P2 is two hops through P1.
    results = matrix["all five", "A is the root"] = {}
    blocks = {"P2>B"}
    with Census(hosts) as census:
        for switch in (a, b):
            controller.connect(switch)
        for event, change, blocked in (
            ("boot", None, blocks),
            ("P3-A cut", network.between(rapid, a).cut, set[str]()),
            ("P3-A restored", network.between(rapid, a).restore, blocks),
            ("A-P1 cut", network.between(a, linux).cut, set[str]()),
            ("A-P1 restored", network.between(a, linux).restore, blocks),
        ):
            results[event] = "FAILED"
            if change is not None:
                census.phase(event)
                change()
            try:
                took = census.wait_whole(event, 60)
            except AssertionError:
                if not [*stp.drop_stale_flows(), *rapid.drop_stale_flows()]:
                    raise
                took = census.wait_whole(f"{event}, without what a peer had cached", 60)
            network.wait_blocked(blocked, event, 60)
            census.check()
            results[event] = f"{took:.1f} s, {' '.join(blocked) or 'nothing'} blocks"
