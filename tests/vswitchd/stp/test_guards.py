"""Guards act in the datapath, are reported as events, and release the port."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from tests.support import frames
from tests.support.controller import Controller
from tests.support.ovs import Bridge
from tests.support.waiting import during, wait_for
from tests.vswitchd.stp.bridge import (
    FORWARD_DELAY,
    RECOVERY,
    SPEED,
    crosses,
    guard_events,
    in_datapath,
    status,
    wait_state,
)
from tests.vswitchd.stp.neighbour import (
    DESIGNATED,
    FORWARDING,
    INFERIOR,
    LEARNING,
    SUPERIOR,
    Neighbour,
    rst,
)


def test_bpdu_guard_shuts_the_port_for_a_time(
    make: Callable[[str], Bridge], controller: Controller
) -> None:
    bridge = make("bpdu-guard")
    for port in (1, 2):
        wait_state(controller, bridge, port, "forwarding")
    assert crosses(bridge, 1, 2) == (True, True)
    bridge.inject(1, INFERIOR)
    wait_state(controller, bridge, 1, "discarding")
    answer = status(controller, bridge, 1)
    assert answer["guards"] == ["bpdu-guard"]
    assert answer["guard_counts"]["bpdu-guard"] == 1
    assert guard_events(controller, bridge, "bpdu-guard") == [True]
    assert crosses(bridge, 1, 2) == (False, False)
    wait_state(controller, bridge, 1, "forwarding")
    shut, opened = (
        datetime.fromisoformat(event["time"]).timestamp()
        for event in controller.events("stp.bpdu-guard")
        if event["datapath_id"] == bridge.dpid16
    )
    assert RECOVERY - 1 < (opened - shut) * SPEED < RECOVERY + 4
    assert status(controller, bridge, 1)["guards"] == []
    assert guard_events(controller, bridge, "bpdu-guard") == [True, False]
    assert crosses(bridge, 1, 2) == (True, True)


def test_bpdu_guard_that_waits_for_a_person(
    make: Callable[[str], Bridge], controller: Controller
) -> None:
    bridge = make("bpdu-guard-by-hand")
    wait_state(controller, bridge, 1, "forwarding")
    bridge.inject(1, INFERIOR)
    wait_state(controller, bridge, 1, "discarding")
    # Neither time nor a cable pulled and put back frees it.
    bridge.link(1, up=False)
    wait_for(lambda: not status(controller, bridge, 1)["up"], "the link to be down")
    bridge.link(1, up=True)
    wait_for(lambda: status(controller, bridge, 1)["up"], "the link to be up")
    assert status(controller, bridge, 1)["guards"] == ["bpdu-guard"]
    path = f"/v1/bridges/{bridge.dpid16}/stp/ports/{bridge.port_name(1)}/recover"
    reply = controller.api("POST", path)
    assert reply.status == 200, reply
    assert reply.body["guards"] == []
    wait_state(controller, bridge, 1, "forwarding")


def test_root_guard_blocks_as_long_as_a_better_root_is_reported(
    make: Callable[[str], Bridge], controller: Controller
) -> None:
    bridge = make("root-guard")
    wait_state(controller, bridge, 1, "forwarding")
    with Neighbour(bridge, {1: SUPERIOR}):
        wait_state(controller, bridge, 1, "discarding")
        answer = controller.get(f"/v1/bridges/{bridge.dpid16}/stp")
        assert answer["root_id"] == answer["bridge_id"]
        assert answer["ports"][0]["guards"] == ["root-guard"]
        assert answer["ports"][0]["guard_counts"]["root-guard"] == 1
        assert crosses(bridge, 1, 2) == (False, False)
    wait_state(controller, bridge, 1, "forwarding", 25)
    assert guard_events(controller, bridge, "root-guard") == [True, False]


def test_loop_guard_holds_a_spare_port_that_hears_no_bpdus_any_more(
    make: Callable[[str], Bridge], controller: Controller
) -> None:
    bridge = make("loop-guard")
    spare = rst(DESIGNATED | LEARNING | FORWARDING, root=0, cost=10, number=2)
    with Neighbour(bridge, {1: SUPERIOR, 2: spare}) as neighbour:
        wait_state(controller, bridge, 1, "forwarding")
        wait_for(lambda: status(controller, bridge, 2)["role"] == "alternate", "a spare port")
        neighbour.silence(2)
        wait_for(
            lambda: status(controller, bridge, 2)["guards"] == ["loop-guard"],
            "loop guard to strike",
        )
        # It would be forwarding after two forward delays.
        for _ in during((2 * FORWARD_DELAY + 1.5) / SPEED):
            assert in_datapath(bridge, 2) == "discarding"
        assert crosses(bridge, 2, 3) == (False, False)
        neighbour.says(2, spare)
        wait_for(
            lambda: status(controller, bridge, 2)["guards"] == [], "loop guard to let go", seconds=5
        )
        assert status(controller, bridge, 2)["role"] == "alternate"
        assert guard_events(controller, bridge, "loop-guard") == [True, False]


def test_a_port_that_hears_itself_blocks(
    make: Callable[[str], Bridge], controller: Controller
) -> None:
    bridge = make("own")
    wait_state(controller, bridge, 1, "forwarding")
    bridge.forget_sent()
    own = wait_for(
        lambda: [f for f in bridge.sent(1) if f.startswith(frames.mac(frames.BPDU_GROUP))],
        "a BPDU to leave",
    )[-1]
    bridge.inject(1, own)
    wait_state(controller, bridge, 1, "discarding")
    assert status(controller, bridge, 1)["guards"] == ["self-loop"]
    assert crosses(bridge, 1, 2) == (False, False)
    wait_state(controller, bridge, 1, "forwarding", 25)
    assert guard_events(controller, bridge, "self-loop") == [True, False]
