"""Flows that a user deletes by hand, with a controller that looks by itself twice a minute."""

from __future__ import annotations

import pytest

from ofapp.openflow.model.rule import TableId
from tests.support import frames
from tests.support.controller import Controller
from tests.support.hosts import halves, learn
from tests.support.ovs import LOCAL, Bridge
from tests.support.waiting import wait_for

A, B = frames.host(1), frames.host(2)
AT_ONCE = 10.0  # seconds; the next look would come after 22 at least


@pytest.fixture
def talking(bridge: Bridge, controller: Controller) -> Bridge:
    """Hosts 1, 2 on ports 1, 2."""
    learn(controller, bridge, 1, port=1)
    learn(controller, bridge, 2, port=2)
    return bridge


@pytest.mark.parametrize(
    "table", [TableId.ADMISSION, TableId.SOURCE, TableId.DESTINATION], ids=lambda t: t.name.lower()
)
def test_a_table_is_filled_again_at_once(
    talking: Bridge, controller: Controller, table: TableId
) -> None:
    before = {flow.identity for flow in talking.flows() if not flow.cookie & 1 << 47}
    talking.switch.ofctl("del-flows", talking.name, f"table={int(table)}")
    wait_for(
        lambda: before <= {flow.identity for flow in talking.flows()},
        "the flows to be back",
        seconds=AT_ONCE,
    )
    assert talking.send(3, frames.arp_request(frames.host(3))) == {1, 2, LOCAL}


def test_all_of_it_and_the_learned_addresses_with_it(
    talking: Bridge, controller: Controller
) -> None:
    talking.switch.ofctl("del-flows", talking.name)
    wait_for(
        lambda: talking.send(3, frames.arp_request(frames.host(3))) == {1, 2, LOCAL},
        "frames to be forwarded",
        seconds=AT_ONCE,
    )
    wait_for(
        lambda: halves(talking, A) == (1, 1),
        "A to be learned again",
        tick=lambda: talking.inject(1, frames.ethernet(B, A)),
        seconds=AT_ONCE,
    )


def test_a_group_and_the_flows_that_go_with_it(talking: Bridge, controller: Controller) -> None:
    talking.switch.ofctl("del-groups", talking.name)
    wait_for(
        lambda: talking.send(3, frames.arp_request(frames.host(3))) == {1, 2, LOCAL},
        "frames to be forwarded",
        seconds=AT_ONCE,
    )
