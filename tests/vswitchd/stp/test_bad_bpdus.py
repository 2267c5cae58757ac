"""BPDUs that no bridge would send, and too many of those that it would."""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.support import frames
from tests.support.controller import Controller
from tests.support.ovs import Bridge
from tests.support.waiting import wait_for
from tests.vswitchd.stp.bridge import crosses, status, wait_state
from tests.vswitchd.stp.neighbour import INFERIOR, SUPERIOR, config


def malformed() -> dict[str, bytes]:
    """What no bridge would say."""
    good = SUPERIOR
    head, body = good[:17], good[17:]
    return {
        "cut short": frames.llc(frames.BPDU_GROUP, frames.host(9), body[:20]),
        "length says more than there is": head[:12] + b"\x05\x00" + head[14:] + body,
        "length says nothing": head[:12] + b"\x00\x00" + head[14:] + body,
        "another protocol": head + b"\x00\x07" + body[2:],
        "an unknown type": head + body[:3] + b"\x55" + body[4:],
        "no LLC header of a BPDU": good[:14] + b"\xaa\xaa\x03" + body,
        "older than it may be": config(age=6),
        "only noise": frames.ethernet(frames.BPDU_GROUP, frames.host(9), bytes(range(200))),
    }


def test_bad_bpdus_are_counted_and_change_nothing(
    make: Callable[[str], Bridge], controller: Controller
) -> None:
    bridge = make("malformed")
    for port in (1, 2):
        wait_state(controller, bridge, port, "forwarding")
    before = status(controller, bridge, 1)
    for count, (what, frame) in enumerate(malformed().items(), 1):
        assert bridge.send(1, frame) == set(), what
        wait_for(
            lambda count=count: sum(status(controller, bridge, 1)["drops"].values()) == count,
            f"the BPDU to be counted: {what}",
            seconds=5,
        )
    after = status(controller, bridge, 1)
    for field in ("role", "state", "received", "designated", "edge", "guards"):
        assert after[field] == before[field]
    assert crosses(bridge, 1, 2) == (True, True)
    # Each reason is reported once, not each frame.
    reasons = [
        event["data"]["reason"]
        for event in controller.events("stp.bpdu.dropped")
        if event["datapath_id"] == bridge.dpid16
    ]
    assert sorted(reasons) == sorted(after["drops"])


def test_a_flood_of_bpdus_on_a_port_does_not_crowd_out_another_ports(
    make: Callable[[str], Bridge], controller: Controller
) -> None:
    """The switch's clock stands still, so its meter lets no more than its burst pass."""
    bridge = make("flood")
    wait_for(lambda: status(controller, bridge, 2)["sent"]["rst"] > 0, "spanning tree to run")
    begun = status(controller, bridge, 2)["received"]["rst"]
    name, burst = bridge.port_name(1), [INFERIOR.hex()] * 100
    for _ in range(30):
        bridge.switch.appctl("netdev-dummy/receive", name, *burst)
    bridge.switch.appctl("netdev-dummy/receive", bridge.port_name(2), INFERIOR.hex())
    at = time.monotonic()
    wait_for(
        lambda: status(controller, bridge, 2)["received"]["rst"] == begun + 1,
        "the other port's BPDU",
        seconds=3,
    )
    print(f"heard after {time.monotonic() - at:.3f} s")
    heard = status(controller, bridge, 1)["received"]["rst"]
    assert 0 < heard < 1000, "the meter did not hold them back"
