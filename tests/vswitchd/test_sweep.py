"""The periodic sweep: what is learned from counters, and what is mended without being told.

It runs every 5 s at this ageing time, by the clock of the controller; the tests wait for one.
"""

from __future__ import annotations

import time

import pytest

from ofapp.openflow.model.rule import TableId
from tests.support import frames
from tests.support.controller import Controller
from tests.support.hosts import halves, learn, learned_flows
from tests.support.ovs import Bridge
from tests.support.waiting import wait_for

SPEED = 5
A, B, C = (frames.host(number) for number in (1, 2, 3))


pytestmark = pytest.mark.controller("defaults:\n  ageing_time: 50\n", speed=SPEED)
"""The controller sweeps as often as it can."""


def test_each_entry_knows_when_it_was_seen_and_when_used(
    bridge: Bridge, controller: Controller
) -> None:
    for number, port in ((1, 1), (2, 2), (3, 2)):
        learn(controller, bridge, number, port=port)
    learned = time.monotonic()

    def entry_times() -> dict[str, tuple[float, float]]:
        """For each host: how long after it was learned it was last seen, and last used."""
        since = (time.monotonic() - learned) * SPEED
        entries = controller.fdb(bridge, type="learned")
        return {
            entry["mac"]: (since - entry["updated"], since - entry["used"]) for entry in entries
        }

    wait_for(lambda: time.monotonic() > learned + 1, "times that can be told apart")
    bridge.inject(1, frames.ethernet(B, A))  # A is seen, B is used, C neither
    bridge.switch.settle()
    wait_for(lambda: entry_times()[A][0] > 0.9 * SPEED, "A to have been seen")
    times = entry_times()
    assert times[B][1] > 0.9 * SPEED
    assert max(times[A][1], times[B][0], *times[frames.host(3)]) < 0.5 * SPEED


def test_drops_are_counted_by_rule(bridge: Bridge, controller: Controller) -> None:
    bridge.inject(1, *[frames.pause(A)] * 3)
    bridge.inject(2, *[frames.ethernet(B, "01:00:5e:00:00:01")] * 2)
    bridge.inject(3, frames.ethernet(B, "00:00:00:00:00:00"))
    bridge.switch.settle()
    expected = {"link-local": 3, "group-source": 2, "zero-source": 1}
    wait_for(
        lambda: {k: v for k, v in controller.bridge(bridge)["drops"].items() if v} == expected,
        f"the drops to be {expected}",
    )


def test_what_others_break_is_mended(bridge: Bridge, controller: Controller) -> None:
    for number in (1, 2, 3):
        learn(controller, bridge, number, port=number)
    rest = {flow.identity for flow in bridge.flows()} - {f.identity for f in learned_flows(bridge)}
    name, ofctl = bridge.name, bridge.switch.ofctl
    wait_for(lambda: controller.bridge(bridge)["in_line"], "the bridge to be in line")
    tagless = "vlan_tci=0/0xfff"
    controller.pause()  # it mends within 0.1 s, on a busy machine before the frame below is sent
    ofctl("del-flows", name, f"table=40,{tagless},dl_src={A}")  # as if it had aged, untold
    ofctl("del-flows", name, f"table=60,{tagless},dl_dst={B}")  # its other half remains
    ofctl("del-flows", name, "table=0")
    ofctl("mod-group", name, "group_id=1,type=all,bucket=output:1")
    assert bridge.send(1, frames.arp_request(A)) == set()
    controller.resume()

    def mended() -> bool:
        flows = bridge.flows()
        kept = {flow.identity for flow in flows if flow.table == TableId.ADMISSION}
        return (halves(bridge, A), halves(bridge, B)) == ((0, 0), (1, 1)) and bool(kept)

    wait_for(mended, "the flows to be mended")
    wait_for(lambda: len(bridge.groups()[1]) == 4, "the group to be mended")
    assert rest <= {flow.identity for flow in bridge.flows()}
    assert controller.where(bridge, A) is None
    assert bridge.send(3, frames.ethernet(B, C)) == {2}
