"""01:80:c2:00:00:0x: what a bridge may pass on (802.1D-2004 7.12.6) while no spanning tree runs."""

from __future__ import annotations

import pytest

from tests.support import frames
from tests.support.controller import Controller
from tests.support.hosts import halves, learn, wait_learned
from tests.support.ovs import LOCAL, Bridge

A, B = frames.host(1), frames.host(2)


@pytest.mark.parametrize("vlan", [None, 12])
def test_bpdus_pass_while_no_spanning_tree_runs(
    bridge: Bridge, controller: Controller, vlan: int | None
) -> None:
    assert bridge.send(1, frames.bpdu(A, vlan=vlan)) == {2, 3, LOCAL}
    wait_learned(controller, bridge, A, 1, vlan or 0)


def test_pause_frames_end_here(bridge: Bridge, controller: Controller) -> None:
    assert bridge.send(1, frames.pause(A)) == set()
    learn(controller, bridge, 2, port=1)
    assert halves(bridge, A) == (0, 0)  # nor does their sender count as seen


@pytest.mark.parametrize("last", range(1, 16))
def test_the_reserved_block_ends_here(bridge: Bridge, last: int) -> None:
    dst = f"01:80:c2:00:00:{last:02x}"
    assert bridge.send(1, frames.ethernet(dst, A)) == set()
    assert bridge.send(LOCAL, frames.ethernet(dst, A, vlan=3)) == set()


@pytest.mark.parametrize("dst", ["01:80:c2:00:00:10", "01:80:c2:00:00:21", "01:80:c2:00:01:00"])
def test_what_is_beside_the_block_is_an_ordinary_multicast(bridge: Bridge, dst: str) -> None:
    assert bridge.send(1, frames.ethernet(dst, A)) == {2, 3, LOCAL}


def test_a_known_host_sends_bpdus_and_data_alike(bridge: Bridge, controller: Controller) -> None:
    learn(controller, bridge, 1, port=1)
    learn(controller, bridge, 2, port=2)
    assert bridge.send(1, frames.bpdu(A)) == {2, 3, LOCAL}
    assert bridge.send(1, frames.pause(A)) == set()
    assert bridge.send(1, frames.ethernet(B, A)) == {2}
